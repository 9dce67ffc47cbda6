import { describe, expect, it } from 'vitest';
import { routeMessage } from '../../../../router/src/core/routing/route-message.ts';
import { MemoryRouteStore } from '../../../doubles/memory-route-store.ts';
import { aRoute } from '../../../support/routes.ts';

type Fields = Parameters<typeof aRoute>[0];

/** Routes in order of creation; `tested` lists the tested patterns. */
async function setup(fields: Fields[], result: 'match' | 'no-match' | 'timeout' = 'match') {
  const tested: string[] = [];
  const routes = new MemoryRouteStore();
  for (const each of fields) await routes.create(aRoute({ accountId: 'a', ...each }));
  const deps = {
    routes,
    environment: 'lab' as const,
    matcher: {
      test: async (pattern: string, text: string) => {
        tested.push(pattern);
        if (result === 'timeout') return result;
        return new RegExp(pattern).test(text) ? ('match' as const) : ('no-match' as const);
      },
    },
  };
  const turn = { accountId: 'a', channelIds: ['5493777000001'], message: { text: 'hello' } };
  return { tested, route: () => routeMessage(deps, turn) };
}

describe('routeMessage', () => {
  it('chooses the route of the chat before the wildcard', async () => {
    const { route } = await setup([
      { channelId: '*', name: 'all' },
      { channelId: '5493777000001', name: 'own' },
    ]);
    expect(await route()).toMatchObject({ kind: 'route', route: { name: 'own' } });
  });

  it('tests patterns in route order, and only until one matches', async () => {
    const { route, tested } = await setup([
      { channelId: '*', regexFilter: 'never', priority: 3 },
      { channelId: '*', regexFilter: 'hel', priority: 2, name: 'hit' },
      { channelId: '*', regexFilter: 'later', priority: 1 },
    ]);
    expect(await route()).toMatchObject({ kind: 'route', route: { name: 'hit' } });
    expect(tested).toEqual(['never', 'hel']);
  });

  it('treats a pattern that times out as no match, with its reason in the trace', async () => {
    const { route } = await setup([{ channelId: '*', regexFilter: 'slow' }], 'timeout');
    const choice = await route();
    expect(choice.kind).toBe('none');
    expect(JSON.stringify(choice.trace)).toContain('timeout');
  });

  it('gives the reason when no route takes the message', async () => {
    const { route } = await setup([{ channelId: '5493777000002' }]);
    expect(await route()).toMatchObject({ kind: 'none', reason: expect.any(String) });
  });

  it('keeps the chosen route in a trace that is cut to fifty entries', async () => {
    const misses = Array.from({ length: 80 }, () => ({ channelId: '*', regexFilter: 'never', priority: 1 }));
    const { route } = await setup([...misses, { channelId: '*', priority: 0, name: 'last' }]);
    const { trace } = await route();
    expect(trace).toHaveLength(50);
    expect(trace.at(-1)).toMatchObject({ outcome: 'chosen' });
  });
});
