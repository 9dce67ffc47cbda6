import type { RequestHandler } from 'express';
import { ADMIN_OWNER, RESTRICTIONS, scopesOfRole, USER_OWNER } from '../../core/access/caller.ts';
import { contains } from '../../core/access/scopes.ts';
import { say } from '../../core/phrases.ts';
import type { App, Feature, Service } from '../../feature.ts';
import { secretText } from '../../infra/db/encryption/secret-cipher.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { HttpProblem, problemSchema } from '../../infra/operations/problem.ts';
import { isServerOn, type ProtocolServer } from '../../infra/operations/protocol-server.ts';
import { PUSH_KEY, PUSH_KEY_CONTEXT, pushUpdates, pushUpdatesStart, sendPush } from './push-updates.ts';
import { TASK_HOOK_CONTEXT } from './task-hooks.ts';

/** Notifications of A2A agents: their address is the secret, so no key is needed. The body is not read. */
function taskPushesApi({ receivePush }: App): Endpoint[] {
  return [
    endpoint({
      method: 'post',
      path: '/task-pushes/{token}',
      operationId: 'pushTask',
      tag: 'Agents',
      summary: 'Say that a task has changed',
      description:
        'For A2A agents with push notifications, which get this address for each long task that wa2ai follows. wa2ai then looks at the task. Needs no key.',
      scopes: 'public',
      params: { token: 'The last part of the address.' },
      responses: {
        204: { description: 'wa2ai looks at the task.' },
        404: { description: 'No such address.', schema: problemSchema },
      },
      handle: async ({ params: { token = '' } }) => {
        if (!(await receivePush(token))) throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-address'));
        return { status: 204 };
      },
    }),
  ];
}

/** wa2ai as an A2A agent, and notifications about tasks in both directions. */
export const a2a: Feature = {
  name: 'a2a',
  secrets: [
    secretText({ table: 'served_task_hook', column: 'secret', context: TASK_HOOK_CONTEXT }),
    secretText({
      table: 'face_setting',
      column: 'settings',
      text: `CASE WHEN face = '${PUSH_KEY}' THEN settings ->> 'pem' END`,
      typed: (text) => `jsonb_build_object('pem', ${text})`,
      context: PUSH_KEY_CONTEXT,
    }),
  ],
  operations: taskPushesApi,
  servers: a2aServer,
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
  openTasks: async ({ taskHooks }, waitedMs, limit) =>
    (await taskHooks.behind(waitedMs, limit)).map(pushUpdatesStart),
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

type Server = ReturnType<typeof import('./a2a-server.ts')['a2aServer']>;

/** wa2ai as an A2A agent. The SDK is loaded by the first request while it is on. */
export function a2aServer(service: Service): ProtocolServer[] {
  let loading: Promise<Server> | undefined;
  const load = () => {
    loading ??= import('./a2a-server.ts').then(({ a2aServer }) => a2aServer(service));
    return loading;
  };
  const isOn = () => isServerOn(service.settingsStore, 'a2a', service.config.host);
  const handle =
    (part: keyof Server): RequestHandler =>
    async (request, response, next) => {
      const server = await load();
      server[part](request, response, next);
    };
  return [
    { path: '/.well-known/agent-card.json', scopes: 'public', isOn, handle: handle('card') },
    {
      path: '/.well-known/jwks.json',
      scopes: 'public',
      isOn,
      handle: async (_request, response) => {
        response.json((await service.pushKey()).keySet());
      },
    },
    { path: '/a2a', scopes: ['a2a'] as const, honours: RESTRICTIONS, isOn, handle: handle('calls') },
  ];
}
