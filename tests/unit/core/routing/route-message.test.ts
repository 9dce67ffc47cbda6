import { describe, expect, it } from 'vitest';
import type { ConversationSettings } from '../../../../router/src/core/policies/conversation-fields.ts';
import { routeMessage } from '../../../../router/src/core/routing/route-message.ts';
import { MemoryRouteStore } from '../../../doubles/memory-route-store.ts';
import { aRoute, NO_CONDITIONS } from '../../../support/routes.ts';

type Fields = Parameters<typeof aRoute>[0];

/** Routes in order of creation; `tested` lists the tested patterns. */
async function setup(
  fields: Fields[],
  result: 'match' | 'no-match' | 'timeout' = 'match',
  defaults: ConversationSettings = {},
) {
  const tested: string[] = [];
  let asked = 0;
  const routes = new MemoryRouteStore();
  for (const each of fields) await routes.create(aRoute({ accountId: 'a', ...each }));
  const deps = {
    ...NO_CONDITIONS,
    conversation: async () => defaults,
    chatStore: {
      routeFacts: async () => {
        asked += 1;
        return { chatId: '7', tags: [], isFirstContact: false };
      },
    },
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
  const turn = { accountId: 'a', channelIds: ['5493777000001'], message: { text: 'hello' }, receivedAtMs: 0 };
  return { tested, asked: () => asked, route: () => routeMessage(deps, turn), deps, turn };
}

const FORMS: Array<[string, string]> = [
  ['5547989211984', '554789211984'],
  ['5215512345678', '525512345678'],
  ['5493777239922', '543777239922'],
];

describe('a route with one form of a number that has two', () => {
  it.each([...FORMS, ...FORMS.map(([one, other]): [string, string] => [other, one])])(
    'of %s takes messages of %s',
    async (channelId, sender) => {
      const { deps, turn } = await setup([{ channelId, name: 'it' }]);
      const choice = await routeMessage(deps, { ...turn, channelIds: [sender] });
      expect(choice).toMatchObject({ kind: 'route', route: { name: 'it' } });
    },
  );
});

describe('a voice message', () => {
  const media = { transcribe: { url: 'http://ears.test' } };
  const route = async (fields: Fields[], words = 'hello') => {
    const { deps, turn } = await setup(fields);
    const heardBy: string[] = [];
    const languages = { languageOf: async (text: string) => (text === '' ? undefined : 'en') };
    const unheard = { ...turn, message: { text: '' } };
    const choice = await routeMessage({ ...deps, languages }, unheard, async ({ url }) => {
      heardBy.push(url);
      return { ...turn, message: { text: words } };
    });
    return { chosen: choice.kind === 'route' ? choice.route.name : choice.reason, heardBy };
  };
  const hello = { channelId: '*', regexFilter: 'hello', priority: 2, name: 'hello' };
  const rest = { channelId: '*', name: 'rest', config: { media } };

  it.each([
    ['the pattern matches its words', [hello, rest], 'hello', 'hello'],
    ['no pattern matches its words', [hello, rest], 'bye', 'rest'],
    ['the route has the settings itself', [{ ...hello, config: { media } }], 'hello', 'hello'],
  ])('is heard once before patterns: %s', async (_, fields, words, chosen) => {
    const other = { ...hello, regexFilter: 'nothing', priority: 3 };
    expect(await route([other, ...fields], words)).toEqual({ chosen, heardBy: [media.transcribe.url] });
  });

  it('is heard where the language alone keeps the conditions from holding', async () => {
    const when = (own: object) => ({ ...rest, priority: 1, name: 'when', config: { media, when: own } });
    expect((await route([when({ languages: ['en'] })])).heardBy).toHaveLength(1);
    expect((await route([when({ languages: ['en'], kinds: ['image'] })])).heardBy).toEqual([]);
  });

  it.each([
    ['no route needs its words', [rest], 'rest'],
    ['no route has the settings', [hello, { ...rest, config: {} }], 'rest'],
    [
      'only an earlier route has them',
      [{ ...rest, priority: 3, config: { media, when: { kinds: ['image' as const] } } }, hello],
      'no-match',
    ],
  ])('is not heard when %s', async (_, fields, chosen) => {
    expect(await route(fields)).toEqual({ chosen, heardBy: [] });
  });
});

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

  it('passes a route whose conditions do not hold, without testing its pattern, and says why', async () => {
    const { route, tested } = await setup([
      { channelId: '*', priority: 2, name: 'group', regexFilter: 'hel', config: { when: { isGroup: true } } },
      {
        channelId: '*',
        priority: 1,
        name: 'text',
        regexFilter: 'hel',
        config: { when: { kinds: ['text'] } },
      },
    ]);
    const choice = await route();
    expect(choice).toMatchObject({ kind: 'route', route: { name: 'text' } });
    expect(tested).toEqual(['hel']);
    const [first] = choice.trace;
    expect(first).toMatchObject({
      outcome: 'when-not-met',
      sentence: 'Its conditions (`when`) do not hold. The chat is no group.',
    });
    expect(first).not.toHaveProperty('conditions');
  });

  it('gives the reason when the conditions of no route hold', async () => {
    const { route } = await setup([{ channelId: '*', config: { when: { isGroup: true } } }]);
    expect(await route()).toMatchObject({ kind: 'none', reason: 'when-not-met' });
  });

  it('evaluates the conditions of all routes, unless a route has its own', async () => {
    const fields = [
      { channelId: '*', priority: 2, name: 'default' },
      { channelId: '*', priority: 1, name: 'own', config: { when: { kinds: ['text' as const] } } },
    ];
    const { route } = await setup(fields, 'match', { when: { kinds: ['image'] } });
    expect(await route()).toMatchObject({ kind: 'route', route: { name: 'own' } });
  });

  it('asks for the chat once, and only when a route that is reached has a condition about it', async () => {
    const asks = { channelId: '*', config: { when: { tags: ['vip'] } } };
    const unreached = await setup([{ channelId: '5493777000001' }, asks]);
    await unreached.route();
    expect(unreached.asked()).toBe(0);
    const reached = await setup([asks, asks, { channelId: '*', name: 'rest', priority: -1 }]);
    expect(await reached.route()).toMatchObject({ route: { name: 'rest' } });
    expect(reached.asked()).toBe(1);
  });
});
