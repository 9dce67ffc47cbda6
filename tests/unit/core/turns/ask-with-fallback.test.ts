import { describe, expect, it } from 'vitest';
import type { AgentClient, AttemptOptions } from '../../../../router/src/core/agent-client.ts';
import { backoffMs } from '../../../../router/src/core/clock.ts';
import { AgentProtocolError, AgentUnavailableError } from '../../../../router/src/core/errors.ts';
import type { AgentResponse, Route } from '../../../../router/src/core/models.ts';
import {
  type AskWithFallbackDeps,
  askWithFallback,
  CircuitBreakers,
} from '../../../../router/src/core/turns/ask-agent.ts';
import type { PendingTurn } from '../../../../router/src/core/turns/turn.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { quietLog } from '../../../support/quiet-log.ts';
import { aRoute } from '../../../support/routes.ts';

const turn: PendingTurn = {
  messageId: '1',
  chatId: '1',
  accountId: 'main',
  message: { id: 'm', from: '1@s.whatsapp.net', channelId: '1', text: 'hola', timestamp: new Date(0) },
  channelIds: ['1'],
  replyTo: '1@s.whatsapp.net',
  sender: '1',
  receivedAtMs: 0,
};

type End = AgentResponse | Error;
const hello: AgentResponse = { success: true, response: 'hello' };
const busy = (retryAfterMs?: number) =>
  new AgentUnavailableError({ sentence: 'The agent is busy.' }, { retryAfterMs });

/** Agents by route id, each with its outcomes in order; the last one repeats. */
function deps(
  agents: Record<string, End[]>,
  routes: Route[] = [],
  tryForMs = 60_000,
  more: Partial<AgentClient> = {},
) {
  const asked: string[] = [];
  const given: Array<AttemptOptions['uncertain']> = [];
  const clock = new FakeClock();
  const clientFor = ({ id }: Route): AgentClient => ({
    async sendMessage(_endpoint, _message, options) {
      await options?.beforeRequest?.();
      asked.push(id);
      given.push(options?.uncertain);
      const ends = agents[id] ?? [];
      const end = ends.length > 1 ? ends.shift() : ends[0];
      if (end === undefined || end instanceof Error) throw end;
      return end;
    },
    ...more,
  });
  const made: AskWithFallbackDeps = {
    inbox: {
      countAttempt: async () => ({ stored: Promise.resolve() }),
    },
    agents: { clientFor, endpointOf: ({ agentEndpoint }) => agentEndpoint },
    routes: { get: async (id) => routes.find((route) => route.id === id) },
    policy: {
      tryForMs,
      backoffMs: (attempt, retryAfterMs) =>
        backoffMs({ maxRetryAfterMs: 3_600_000, attempt, retryAfterMs, random: () => 0.999_999 }),
    },
    circuits: new CircuitBreakers(),
    clock,
    log: quietLog,
    stopping: new AbortController().signal,
  };
  /** Calls the route and ends each wait at once; returns the waits too. */
  async function ask(route: Route, about: Partial<PendingTurn> = {}) {
    const answer = askWithFallback(made, route, { ...turn, ...about }, false);
    let isDone = false;
    answer.finally(() => {
      isDone = true;
    });
    for (let rounds = 0; rounds < 50 && !isDone; rounds++) await clock.advanceMs(3_600_000);
    return answer;
  }
  return { ask, asked, given, clock };
}

const waitsOf = (answer: Awaited<ReturnType<typeof askWithFallback>>) =>
  answer.steps.flatMap((step) =>
    step.step === 'agent' ? step.attempts.map((attempt) => attempt.waitMs) : [],
  );

describe('askWithFallback', () => {
  describe('without settings of failures', () => {
    const away = () => new AgentUnavailableError({ sentence: 'Nobody is there.' }, { isAway: true });
    const ends = [away(), away(), away(), away(), hello];
    const DAY_MS = 86_400_000;

    it('tries an agent that is not available as long as the service says', async () => {
      const route = aRoute();
      const { ask } = deps({ [route.id]: [...ends] }, [], DAY_MS);
      expect(await ask(route)).toMatchObject({ kind: 'answer', attempts: 5 });
    });

    it('asks an agent three times that is there and does not answer', async () => {
      const route = aRoute();
      const { ask } = deps({ [route.id]: [busy()] }, [], DAY_MS);
      const answer = await ask(route);
      expect(answer).toMatchObject({ kind: 'failed', attempts: 3, error: { code: 'AGENT_UNAVAILABLE' } });
      expect(waitsOf(answer)).toEqual([499, 999, undefined]);
    });

    it.each([
      ['a text', { fallbackText: 'Call 555.' }],
      ['a route', { fallbackRouteId: 'gone' }],
    ])('does not wait longer than five seconds for %s instead', async (_name, failure) => {
      const route = aRoute({ config: { failure } });
      const { ask } = deps({ [route.id]: [busy(60_000), busy(60_000), hello] }, [], DAY_MS);
      const answer = await ask(route);
      expect(answer.kind).not.toBe('answer');
      expect(waitsOf(answer)).toEqual([5_000, undefined]);
    });
  });

  it('tries as long as the route says, also beside a fallback', async () => {
    const route = aRoute({ config: { failure: { tryForMs: 200_000, fallbackText: 'Call 555.' } } });
    const { ask } = deps({ [route.id]: [busy(180_000), busy(900_000), hello] });
    const answer = await ask(route);
    expect(waitsOf(answer)).toEqual([198_000, 2_000, undefined]);
    expect(answer).toMatchObject({ kind: 'answer', attempts: 3 });
  });

  it('asks once when the route says 0', async () => {
    const route = aRoute({ config: { failure: { tryForMs: 0 } } });
    const { ask, asked } = deps({ [route.id]: [busy(1_000)] });
    expect(await ask(route)).toMatchObject({ kind: 'failed', said: { sentence: 'The agent is busy.' } });
    expect(asked).toHaveLength(1);
  });

  it.each([
    ['the service', {}, 120_000],
    ['the route', { tryForMs: 5_000 }, 5_000],
  ])(
    'waits at most as long as %s says for an agent that asks for an hour',
    async (_name, failure, limitMs) => {
      const route = aRoute({ config: { failure } });
      const { ask } = deps({ [route.id]: [busy(3_600_000)] }, [], 120_000);
      const answer = await ask(route);
      const waits = waitsOf(answer).map((waitMs) => waitMs ?? 0);
      expect(waits.reduce((sum, waitMs) => sum + waitMs, 0)).toBe(limitMs);
      expect(answer).toMatchObject({
        kind: 'failed',
        said: { sentence: expect.stringContaining('tryForMs') },
      });
    },
  );

  it('calls the fallback route once when the agent failed finally, and records it in the trace', async () => {
    const spare = aRoute({ config: { failure: { tryForMs: 9_000 } } });
    const route = aRoute({ config: { failure: { fallbackRouteId: spare.id } } });
    const { ask, asked } = deps(
      { [route.id]: [new AgentProtocolError({ sentence: 'status 400' })], [spare.id]: [hello] },
      [spare],
    );
    const answer = await ask(route);
    expect(answer).toMatchObject({ kind: 'answer', routeId: spare.id, attempts: 2, response: hello });
    expect(asked).toEqual([route.id, spare.id]);
    expect(answer.steps).toMatchObject([
      { step: 'agent', routeId: route.id, outcome: 'AGENT_PROTOCOL', attempts: [{ error: 'status 400' }] },
      { step: 'fallback-route', routeId: spare.id, outcome: 'called' },
      { step: 'agent', routeId: spare.id, outcome: 'answered' },
    ]);
  });

  it.each([
    ['own setting', { uncertain: 'dead-letter' as const }, 'dead-letter'],
    ['own setting, not that of the first route,', {}, undefined],
  ])("applies the fallback route's %s to a run that may have happened", async (_name, failure, expected) => {
    const spare = aRoute({ config: { failure } });
    const route = aRoute({
      config: { failure: { tryForMs: 0, uncertain: 'retry', fallbackRouteId: spare.id } },
    });
    const { ask, given } = deps({ [route.id]: [busy()], [spare.id]: [hello] }, [spare]);
    await ask(route, { earlierAttempts: 1, mayHaveRun: true });
    expect(given).toEqual(['retry', expected]);
  });

  it('calls a failing fallback once and its own fallback never', async () => {
    const route = aRoute();
    const spare = aRoute({ config: { failure: { tryForMs: 5_000, fallbackRouteId: route.id } } });
    route.config = { failure: { tryForMs: 0, fallbackRouteId: spare.id } };
    const { ask, asked } = deps({ [route.id]: [busy()], [spare.id]: [busy()] }, [route, spare]);
    const answer = await ask(route);
    expect(asked).toEqual([route.id, spare.id]);
    expect(answer).toMatchObject({
      kind: 'failed',
      routeId: route.id,
      said: {
        sentence: 'The agent is busy. The fallback route failed too: The agent is busy.',
        phrase: { code: 'agent.fallback-failed' },
      },
    });
  });

  it.each([
    ['missing', undefined],
    ['disabled', aRoute({ enabled: false })],
    ['other-account', aRoute({ accountId: 'second' })],
    ['other-environment', aRoute({ environment: 'prod' })],
  ])('fails with the reason when the fallback route is %s', async (outcome, spare) => {
    const id = spare?.id ?? 'gone';
    const route = aRoute({ config: { failure: { tryForMs: 0, fallbackRouteId: id } } });
    const { ask, asked } = deps({ [route.id]: [busy()] }, spare ? [spare] : []);
    const answer = await ask(route);
    expect(asked).toEqual([route.id]);
    expect(answer.steps[1]).toMatchObject({ step: 'fallback-route', routeId: id, outcome });
    expect(answer).toMatchObject({
      kind: 'failed',
      said: { sentence: expect.stringContaining('fallback route') },
    });
  });

  it('returns the fallback text when the agent failed finally', async () => {
    const route = aRoute({ config: { failure: { tryForMs: 0, fallbackText: 'Call 555.' } } });
    const { ask } = deps({ [route.id]: [busy()] });
    expect(await ask(route)).toMatchObject({
      kind: 'fallback-text',
      text: 'Call 555.',
      error: { code: 'AGENT_UNAVAILABLE' },
    });
  });

  it('pauses an endpoint that failed too often, for each route to it, and calls it again later', async () => {
    const failure = { tryForMs: 0, circuit: { failures: 2, openMs: 60_000 } };
    const route = aRoute({ config: { failure } });
    const sibling = aRoute({ config: { failure } });
    const other = aRoute({ agentEndpoint: 'http://127.0.0.1:9999', config: { failure } });
    const { ask, asked, clock } = deps({
      [route.id]: [busy()],
      [sibling.id]: [hello],
      [other.id]: [hello],
    });
    await ask(route);
    await ask(route);
    expect(await ask(sibling)).toMatchObject({
      kind: 'failed',
      attempts: 0,
      error: { code: 'AGENT_CIRCUIT_OPEN' },
    });
    expect(await ask(other)).toMatchObject({ kind: 'answer' });
    expect(asked).toEqual([route.id, route.id, other.id]);
    await clock.advanceMs(60_000);
    expect(await ask(sibling)).toMatchObject({ kind: 'answer' });
  });

  it('pauses only the agent that failed, where each person has one', async () => {
    const route = aRoute({ config: { failure: { tryForMs: 0, circuit: { failures: 2, openMs: 60_000 } } } });
    const ends = { [route.id]: [busy(), busy(), hello] };
    const { ask, asked } = deps(ends, [], 60_000, { agentIdFor: ({ from }) => from });
    const from = (person: string) => ({ message: { ...turn.message, from: person } });
    await ask(route, from('ana'));
    await ask(route, from('ana'));
    expect(await ask(route, from('ana'))).toMatchObject({ error: { code: 'AGENT_CIRCUIT_OPEN' } });
    expect(await ask(route, from('bo'))).toMatchObject({ kind: 'answer' });
    expect(asked).toHaveLength(3);
  });

  it('ends with the last error when the circuit opens between two attempts of one message', async () => {
    const failure = { circuit: { failures: 2, openMs: 3_600_000 } };
    const route = aRoute({ config: { failure } });
    const { asked, ask } = deps({ [route.id]: [busy()] });
    const answer = await ask(route);
    expect(asked).toHaveLength(2);
    expect(answer).toMatchObject({ kind: 'failed', error: { code: 'AGENT_UNAVAILABLE' } });
  });
});
