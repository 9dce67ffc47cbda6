import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ANY_CHANNEL } from '../../../../router/src/core/chat-id.ts';
import type { Route } from '../../../../router/src/core/models.ts';
import {
  chooseRoute,
  inRouteOrder,
  isInPlay,
  type MatchResult,
  routeMessage,
} from '../../../../router/src/core/routing/route-message.ts';
import { aRoute, NO_CONDITIONS, RecordingMatcher, routesOf } from '../../../support/routes.ts';

type RouteQuery = Parameters<typeof chooseRoute>[1];

const query: RouteQuery = {
  accountId: 'main',
  environment: 'lab',
  channelIds: ['5493777239922', '123456789012345@lid'],
};
const none = new Map<string, MatchResult>();

describe('chooseRoute', () => {
  it('prefers a route of the chat to the wildcard, whatever the priority of the wildcard', () => {
    const wildcard = aRoute({ channelId: ANY_CHANNEL, priority: 1_000 });
    const own = aRoute({ priority: -5 });
    expect(chooseRoute([wildcard, own], query, none)).toMatchObject({ kind: 'route', route: { id: own.id } });
  });

  it('finds a route by the number or by the LID of the same person', () => {
    for (const channelId of query.channelIds) {
      const route = aRoute({ channelId });
      expect(chooseRoute([route], query, none)).toMatchObject({ kind: 'route', route: { channelId } });
    }
  });

  it('orders routes by higher priority, then age, then lower id', () => {
    const at = (day: number) => new Date(Date.UTC(2026, 0, day));
    const routes = [
      aRoute({ id: 'young', priority: 1, createdAt: at(3) }),
      aRoute({ id: 'b', priority: 1, createdAt: at(2) }),
      aRoute({ id: 'low', priority: 0, createdAt: at(1) }),
      aRoute({ id: 'a', priority: 1, createdAt: at(2) }),
      aRoute({ id: 'high', priority: 2, createdAt: at(9) }),
    ];
    expect(inRouteOrder(routes).map((route) => route.id)).toEqual(['high', 'a', 'b', 'young', 'low']);
  });

  it('continues with the next route when a pattern does not match, times out or is invalid', () => {
    const routes = ['no-match', 'timeout', 'invalid'].map((id) =>
      aRoute({ id, priority: 9, regexFilter: 'x' }),
    );
    const open = aRoute({ id: 'open' });
    const matches = new Map<string, MatchResult>([
      ['no-match', 'no-match'],
      ['timeout', 'timeout'],
      ['invalid', 'invalid'],
    ]);
    const choice = chooseRoute([...routes, open], query, matches);
    expect(choice).toMatchObject({ kind: 'route', route: { id: 'open' } });
    expect(Object.fromEntries(choice.trace.map((entry) => [entry.routeId, entry.outcome]))).toEqual({
      'no-match': 'no-match',
      timeout: 'regex-timeout',
      invalid: 'regex-invalid',
      open: 'chosen',
    });
  });

  it('marks each route after the chosen one as not evaluated', () => {
    const choice = chooseRoute(
      [
        aRoute({ id: 'first', priority: 2 }),
        aRoute({ id: 'second' }),
        aRoute({ id: 'last', channelId: '*' }),
      ],
      query,
      none,
    );
    expect(choice.trace.map((entry) => entry.outcome)).toEqual(['chosen', 'not-reached', 'not-reached']);
    for (const entry of choice.trace) expect(entry.sentence).toMatch(/^[A-Z].*\.$/);
  });

  it.each([
    ['no-route', []],
    ['no-route', [aRoute({ environment: 'prod' })]],
    ['no-route', [aRoute({ accountId: 'other' })]],
    ['no-route', [aRoute({ channelId: '5490000000000' })]],
    ['disabled', [aRoute({ enabled: false }), aRoute({ channelId: '*', enabled: false })]],
    ['no-match', [aRoute({ id: 'no', regexFilter: 'x' }), aRoute({ enabled: false })]],
    ['regex-timeout', [aRoute({ id: 'no', regexFilter: 'x' }), aRoute({ id: 'slow', regexFilter: 'y' })]],
    ['regex-invalid', [aRoute({ id: 'bad', regexFilter: '(' })]],
  ] as const)('gives the reason %s when no route matches', (reason, routes) => {
    const matches = new Map<string, MatchResult>([
      ['no', 'no-match'],
      ['slow', 'timeout'],
      ['bad', 'invalid'],
    ]);
    expect(chooseRoute(routes, query, matches)).toMatchObject({ kind: 'none', reason });
  });
});

const anyRoute = fc
  .record({
    id: fc.uuid(),
    accountId: fc.constantFrom('main', 'main', 'main', 'other'),
    channelId: fc.constantFrom(...query.channelIds, ANY_CHANNEL, '5490000000000'),
    environment: fc.constantFrom('lab' as const, 'lab' as const, 'prod' as const),
    regexFilter: fc.constantFrom(undefined, 'x'),
    priority: fc.integer({ min: -2, max: 2 }),
    enabled: fc.boolean(),
    createdAt: fc.integer({ min: 1, max: 3 }).map((day) => new Date(Date.UTC(2026, 0, day))),
  })
  .map((fields) => aRoute(fields));
const anyTable = fc.uniqueArray(anyRoute, { selector: (route) => route.id, maxLength: 12 });
const anyMatches = (routes: Route[]) =>
  fc
    .array(fc.constantFrom<MatchResult>('match', 'no-match', 'timeout', 'invalid'), {
      minLength: routes.length,
      maxLength: routes.length,
    })
    .map((results) => new Map(routes.map((route, index) => [route.id, results[index] as MatchResult])));
const anyCase = anyTable.chain((routes) =>
  fc.record({
    routes: fc.constant(routes),
    shuffled: fc.shuffledSubarray(routes, { minLength: routes.length }),
    matches: anyMatches(routes),
  }),
);

describe('the choice of a route, for any table', () => {
  it('does not depend on the order of the routes', () => {
    fc.assert(
      fc.property(anyCase, ({ routes, shuffled, matches }) => {
        expect(chooseRoute(shuffled, query, matches)).toEqual(chooseRoute(routes, query, matches));
      }),
    );
  });

  it('is the first matching route in order, by an independent definition', () => {
    fc.assert(
      fc.property(anyCase, ({ routes, matches }) => {
        const takers = routes.filter(
          (route) =>
            route.accountId === 'main' &&
            route.environment === 'lab' &&
            route.enabled &&
            (route.channelId === ANY_CHANNEL || query.channelIds.includes(route.channelId)) &&
            (route.regexFilter === undefined || matches.get(route.id) === 'match'),
        );
        const choice = chooseRoute(routes, query, matches);
        if (choice.kind === 'none') {
          expect(takers).toEqual([]);
          return;
        }
        const { route } = choice;
        expect(takers).toContain(route);
        const ofChat = takers.filter((taker) => taker.channelId !== ANY_CHANNEL);
        if (route.channelId === ANY_CHANNEL) expect(ofChat).toEqual([]);
        const peers = ofChat.length > 0 ? ofChat : takers;
        expect(route.priority).toBe(Math.max(...peers.map((peer) => peer.priority)));
        const equals = peers.filter((peer) => peer.priority === route.priority);
        expect(route.createdAt.getTime()).toBe(Math.min(...equals.map((peer) => peer.createdAt.getTime())));
      }),
    );
  });

  it('has one trace entry per route, and at most one chosen route', () => {
    fc.assert(
      fc.property(anyCase, ({ routes, matches }) => {
        const choice = chooseRoute(routes, query, matches);
        expect(choice.trace.map((entry) => entry.routeId).sort()).toEqual(
          routes.map((route) => route.id).sort(),
        );
        const chosen = choice.trace.filter((entry) => entry.outcome === 'chosen');
        expect(chosen.map((entry) => entry.routeId)).toEqual(
          choice.kind === 'route' ? [choice.route.id] : [],
        );
      }),
    );
  });

  it('is the same when patterns are tested only as needed', async () => {
    await fc.assert(
      fc.asyncProperty(anyCase, async ({ routes, matches }) => {
        const inPlay = routes.filter((route) => isInPlay(route, query));
        const named = inPlay.map((route) => ({ ...route, regexFilter: route.regexFilter && route.id }));
        const matcher = new RecordingMatcher((pattern) => matches.get(pattern) ?? 'no-match');
        const choice = await routeMessage(
          { ...NO_CONDITIONS, routes: routesOf(named), matcher, environment: 'lab' },
          {
            accountId: 'main',
            channelIds: [...query.channelIds],
            message: { text: 'hola' },
            receivedAtMs: 0,
          },
        );
        const whole = chooseRoute(named, query, matches);
        expect(choice).toEqual(whole);
        const asked = inRouteOrder(named)
          .slice(
            0,
            whole.kind === 'route' ? whole.trace.findIndex((e) => e.outcome === 'chosen') + 1 : undefined,
          )
          .flatMap((route) => route.regexFilter ?? []);
        expect(matcher.asked.map((ask) => ask.pattern)).toEqual(asked);
      }),
    );
  });
});
