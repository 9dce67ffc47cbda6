import { ADMIN_OWNER, USER_OWNER } from '../../core/access/caller.ts';
import { scopesOfRole } from '../../core/access/roles.ts';
import { contains } from '../../core/access/scopes.ts';
import type { Feature, Service } from '../../feature.ts';
import { a2aFace } from './a2a-face.ts';
import { pushUpdates, sendPush } from './push-updates.ts';
import { taskPushesApi } from './task-pushes-api.ts';

/** wa2ai as an A2A agent, and notifications about tasks in both directions. */
export const a2a: Feature = {
  name: 'a2a',
  operations: taskPushesApi,
  faces: (service) =>
    a2aFace({
      ...service,
      accountId: service.config.accountId,
      environment: service.config.environment,
      needsKey: service.config.apiKey !== undefined,
      feed: service.taskFeed,
      starter: service.taskStarter,
      hooks: service.taskHooks,
      refusalOf: (url) => service.publicTransport.refusalOf(url),
    }),
  durable: {
    'push-updates': (service, steps, input) => {
      const { publicTransport: transport, pushKey: key, clock } = service;
      return pushUpdates(
        {
          ...service,
          hooks: service.taskHooks,
          feed: service.taskFeed,
          send: (...update) => sendPush({ transport, key, clock }, ...update),
          mayReceive: (owner) => mayReceive(service, owner),
          log: service.logOf('a2a'),
        },
        steps,
        input,
      );
    },
  },
  resume: ({ hookStarter }, waitedMs) => hookStarter.sweep(waitedMs),
};

/** Whether who opened a task may still use A2A. */
async function mayReceive({ users, keys, clock }: Service, owner: string): Promise<boolean> {
  if (owner === ADMIN_OWNER) return true;
  if (owner.startsWith(USER_OWNER)) {
    const user = await users.find(owner.slice(USER_OWNER.length));
    return user !== undefined && !user.disabledAt && contains(scopesOfRole(user.role), 'a2a');
  }
  const key = await keys.find(owner);
  const hasExpired = key?.expiresAt !== undefined && key.expiresAt.getTime() <= clock.now();
  return key !== undefined && !hasExpired && contains(key.scopes, 'a2a');
}
