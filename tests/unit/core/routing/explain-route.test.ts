import { describe, expect, it } from 'vitest';
import type { Route } from '../../../../router/src/core/models.ts';
import { type ExplainInput, explainRoute } from '../../../../router/src/core/routing/explain-route.ts';
import { aRoute, NO_CONDITIONS, RecordingMatcher, routesOf } from '../../../support/routes.ts';

const matcher = new RecordingMatcher((pattern, text) =>
  new RegExp(pattern).test(text) ? 'match' : 'no-match',
);

const clock = { now: () => 0 };

async function explain(
  routes: Route[],
  input: Partial<ExplainInput>,
  aliasesOf?: (accountId: string, channelId: string) => Promise<string[]>,
) {
  const deps = {
    ...NO_CONDITIONS,
    clock,
    routes: routesOf(routes),
    matcher,
    environment: 'lab' as const,
    aliasesOf,
  };
  const result = await explainRoute(deps, { accountId: 'main', text: 'hola', ...input });
  if (result.kind === 'invalid') throw new Error(result.mistake.sentence);
  return result.explanation;
}

describe('explainRoute', () => {
  it('evaluates each route in both environments, also after the chosen one', async () => {
    const explanation = await explain(
      [
        aRoute({ id: 'off', priority: 9, enabled: false }),
        aRoute({ id: 'bye', priority: 8, regexFilter: '^adios' }),
        aRoute({ id: 'greet', name: 'Greeter', priority: 7, regexFilter: '^hola' }),
        aRoute({ id: 'later', priority: 6 }),
        aRoute({ id: 'prod', priority: 10, environment: 'prod' }),
        aRoute({ id: 'any', channelId: '*' }),
      ],
      { channelId: '+54 9 3777 23 9922' },
    );
    expect(explanation).toMatchObject({
      decision: 'route',
      sentence: 'Route "Greeter" takes the message to http://127.0.0.1:8000.',
      route: { id: 'greet', name: 'Greeter', channelId: '5493777239922' },
      sessionId: '5493777239922_5493777239922',
      userId: '5493777239922',
    });
    expect(explanation.trace.map(({ routeId, outcome }) => [routeId, outcome])).toEqual([
      ['prod', 'other-environment'],
      ['off', 'disabled'],
      ['bye', 'no-match'],
      ['greet', 'chosen'],
      ['later', 'not-reached'],
      ['any', 'not-reached'],
    ]);
  });

  it('shows each condition of a route that was evaluated, with the given facts', async () => {
    const when = { hours: '09:00-18:00', tags: ['vip'], isFirstContact: true, isMentioned: true };
    const routes = [
      aRoute({ id: 'vip', priority: 2, config: { when } }),
      aRoute({ id: 'rest', priority: 1 }),
      aRoute({ id: 'later', config: { when } }),
    ];
    const given = {
      channelId: '5493777239922',
      tags: ['vip'],
      isFirstContact: true,
      toUs: 'mention' as const,
    };
    const open = await explain(routes, { ...given, at: new Date('2026-11-23T10:00:00Z') });
    expect(open.route?.id).toBe('vip');
    const closed = await explain(routes, { ...given, at: new Date('2026-11-23T20:00:00Z') });
    expect(closed.route?.id).toBe('rest');
    expect(closed.trace.map(({ outcome }) => outcome)).toEqual(['when-not-met', 'chosen', 'not-reached']);
    expect(closed.trace[0]?.sentence).toBe(
      'Its conditions (`when`) do not hold. It is 20:00 in UTC; the hours are 09:00-18:00.',
    );
    expect(closed.trace[0]?.conditions?.map(({ condition, holds }) => [condition, holds])).toEqual([
      ['hours', false],
      ['isMentioned', true],
      ['isFirstContact', true],
      ['tags', true],
    ]);
    expect(closed.trace[2]).not.toHaveProperty('conditions');
  });

  it('evaluates the other environment on request', async () => {
    const routes = [aRoute({ id: 'lab' }), aRoute({ id: 'prod', environment: 'prod' })];
    const explanation = await explain(routes, { channelId: '5493777239922', environment: 'prod' });
    expect(explanation).toMatchObject({ decision: 'route', route: { id: 'prod' } });
    expect(explanation.identity.environment).toBe('prod');
  });

  it('recognizes one person by number and LID', async () => {
    const explanation = await explain(
      [aRoute({ id: 'lid', channelId: '123456789012345@lid' })],
      { channelId: '5493777239922' },
      async (accountId, channelId) =>
        accountId === 'main' && channelId === '5493777239922' ? ['123456789012345@lid'] : [],
    );
    expect(explanation).toMatchObject({
      decision: 'route',
      route: { id: 'lid' },
      identity: { channelIds: ['5493777239922', '123456789012345@lid', '543777239922'] },
    });
  });

  it('recognizes a person by the other form of the number', async () => {
    const explanation = await explain([aRoute({ id: 'br', channelId: '5547989211984' })], {
      channelId: '554789211984',
    });
    expect(explanation).toMatchObject({ decision: 'route', route: { id: 'br' } });
  });

  it('names the session of a person in a group, and none when the person is not given', async () => {
    const routes = [aRoute({ channelId: '120363041234567890@g.us' })];
    const group = '120363041234567890@g.us';
    expect(await explain(routes, { channelId: group, from: '+5493777239922' })).toMatchObject({
      decision: 'route',
      sessionId: '5493777239922_120363041234567890',
      identity: { isGroup: true, from: '5493777239922@s.whatsapp.net' },
    });
    const anonymous = await explain(routes, { channelId: group });
    expect(anonymous.sessionId).toBeUndefined();
    expect(anonymous.identity.from).toBeUndefined();
  });
});
