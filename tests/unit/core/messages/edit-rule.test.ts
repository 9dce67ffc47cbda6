import { describe, expect, it } from 'vitest';
import { applyEditRule } from '../../../../router/src/core/cluster/account-events.ts';
import { aMessage } from '../../../contracts/adapters.ts';
import { MemoryRouteStore } from '../../../doubles/memory-route-store.ts';
import { NO_CONDITIONS } from '../../../support/routes.ts';

const person = { phone: '5493777000003' };

/** What the default of all routes or the route of the person says. */
async function ruled(edits: 'follow' | 'ignore', given: Parameters<typeof aMessage>[2], isOfRoute = true) {
  const routes = new MemoryRouteStore();
  await routes.create({
    accountId: 'a',
    channelId: person.phone,
    agentEndpoint: 'http://agent',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: { agent: { kind: 'adk', settings: {} }, ...(isOfRoute && { edits }) },
  });
  const deps = {
    ...NO_CONDITIONS,
    routes,
    matcher: { test: async () => 'match' as const },
    environment: 'lab' as const,
    conversation: async () => (isOfRoute ? {} : { edits }),
  };
  const message = aMessage('a', person, given);
  return { message, result: await applyEditRule(deps, message) };
}

describe('applyEditRule', () => {
  it('leaves edits and deletions as they are by default, and other messages always', async () => {
    for (const [edits, given] of [
      ['follow', { editOf: 'A' }],
      ['follow', { deletes: 'A', ignoredReason: 'deleted' }],
      ['ignore', {}],
      ['ignore', { editOf: 'A', ignoredReason: 'own-message' }],
    ] as const) {
      const { message, result } = await ruled(edits, given);
      expect(result).toBe(message);
    }
  });

  it.each([true, false])('ignores them when the route or the default says so', async (isOfRoute) => {
    const edit = await ruled('ignore', { editOf: 'A' }, isOfRoute);
    expect(edit.result).toEqual({ ...edit.message, ignoredReason: 'edit-ignored' });
    const deletion = await ruled('ignore', { deletes: 'A', ignoredReason: 'deleted' }, isOfRoute);
    expect(deletion.result.deletes).toBeUndefined();
    expect(deletion.result.ignoredReason).toBe('deleted');
  });
});
