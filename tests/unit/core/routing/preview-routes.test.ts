import { describe, expect, it } from 'vitest';
import type { ConversationSettings } from '../../../../router/src/core/policies/conversation-fields.ts';
import { previewRoutes } from '../../../../router/src/core/routing/explain-route.ts';
import type { StoredMessageToRoute } from '../../../../router/src/core/routing/when.ts';
import { aRoute, RecordingMatcher } from '../../../support/routes.ts';

type PreviewDeps = Parameters<typeof previewRoutes>[0];

let ids = 0;

function aMessage(text: string, fields: Partial<StoredMessageToRoute> = {}): StoredMessageToRoute {
  ids += 1;
  return {
    messageId: String(ids),
    chatId: '7',
    accountId: 'main',
    channelIds: ['5493777239922'],
    message: { text },
    receivedAtMs: Date.parse('2026-01-05T10:00:00Z'),
    ...fields,
  };
}

function setup(change: Partial<PreviewDeps> = {}, defaults: ConversationSettings = {}) {
  const matcher = new RecordingMatcher((pattern, text) =>
    new RegExp(pattern).test(text) ? 'match' : 'no-match',
  );
  const asked: string[] = [];
  const clock = { nowMs: 0, monotonicMs: () => clock.nowMs };
  const deps: PreviewDeps = {
    matcher,
    environment: 'lab',
    clock,
    conversation: async () => defaults,
    chatStore: {
      routeFacts: async (_account, _chat, messageId) => {
        asked.push(String(messageId));
        return { chatId: '7', tags: ['vip'], isFirstContact: false };
      },
    },
    languages: { languageOf: async () => 'es' },
    ...change,
  };
  return { deps, matcher, asked, clock };
}

describe('previewRoutes', () => {
  it('names the reason when no route takes a message', async () => {
    const route = aRoute();
    const preview = await previewRoutes(
      setup().deps,
      { before: [route], after: [{ ...route, enabled: false }] },
      [aMessage('a'), aMessage('b', { accountId: 'other' })],
      5_000,
    );
    expect(preview.groups).toEqual([
      { before: { routeId: route.id }, after: { reason: 'disabled' }, messages: 1 },
      { before: { reason: 'no-route' }, after: { reason: 'no-route' }, messages: 1 },
    ]);
  });

  it('uses the routes of the environment, the number and the LID of a chat', async () => {
    const routes = [
      aRoute({ environment: 'prod', priority: 9 }),
      aRoute({ channelId: '12@lid', priority: 1 }),
    ];
    const { groups } = await previewRoutes(
      setup().deps,
      { before: [], after: routes },
      [aMessage('a', { channelIds: ['5493777239922', '12@lid'] })],
      5_000,
    );
    expect(groups).toMatchObject([{ before: { reason: 'no-route' }, after: { routeId: routes[1]?.id } }]);
  });

  it('evaluates conditions at the time of the message, and reads a chat and a pattern once for both tables', async () => {
    const config = { when: { hours: '09:00-18:00', timeZone: 'UTC', tags: ['vip'] } };
    const [day, all] = [aRoute({ config, regexFilter: 'a', priority: 1 }), aRoute({ channelId: '*' })];
    const { deps, matcher, asked } = setup();
    const messages = [aMessage('a'), aMessage('a', { receivedAtMs: Date.parse('2026-01-05T20:00:00Z') })];
    const { groups } = await previewRoutes(deps, { before: [day, all], after: [day] }, messages, 5_000);
    expect(groups).toEqual([
      { before: { routeId: day.id }, after: { routeId: day.id }, messages: 1 },
      { before: { routeId: all.id }, after: { reason: 'when-not-met' }, messages: 1 },
    ]);
    expect(asked).toEqual(messages.map(({ messageId }) => messageId));
    expect(matcher.asked).toEqual([{ pattern: 'a', text: 'a' }]);
  });

  it('keeps the route that a chat of the playground names, unless the change deletes it', async () => {
    const [named, all] = [aRoute({ enabled: false }), aRoute({ channelId: '*' })];
    const { deps } = setup({ namedRoute: async () => ({ routeId: named.id }) });
    const preview = (after: (typeof all)[]) =>
      previewRoutes(deps, { before: [named, all], after }, [aMessage('a')], 5_000);
    expect((await preview([named])).changed).toEqual([]);
    expect((await preview([all])).changed).toMatchObject([
      { before: { routeId: named.id }, after: { reason: 'no-route' } },
    ]);
  });

  it('ends when the time is over, with what it has evaluated, and tests no further pattern', async () => {
    const { deps, clock } = setup();
    const tested: string[] = [];
    const matcher = {
      test: async (pattern: string) => {
        tested.push(pattern);
        clock.nowMs += 60;
        return 'timeout' as const;
      },
    };
    const before = ['a', 'b', 'c'].map((regexFilter) => aRoute({ regexFilter }));
    const messages = Array.from({ length: 50 }, () => aMessage('x'));
    const preview = await previewRoutes({ ...deps, matcher }, { before, after: before }, messages, 200);
    expect(preview).toMatchObject({ checked: 1, isComplete: false });
    expect(tested).toEqual(['a', 'b', 'c', 'a']);
  });
});
