import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { FailurePolicy } from '../../router/src/core/models.ts';
import { testDatabase } from '../support/database.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { inbound, TestRouter } from '../support/router.ts';

const database = testDatabase();
let router: TestRouter;
let working: MockAgent;
let failing: MockAgent;
/** Fails, and no other route has it: it has a circuit. */
let alone: MockAgent;

beforeAll(async () => {
  router = await TestRouter.start(database);
  working = await MockAgent.start({ switches: ['--reply', 'spare: {text}'] });
  failing = await MockAgent.start({ switches: ['--fail', '503', '--retry-after', '0'] });
  alone = await MockAgent.start({ switches: ['--fail', '503'] });
});

afterAll(async () => {
  await router.stop();
  await Promise.all([working.stop(), failing.stop(), alone.stop()]);
});

let people = 0;
function aPerson(): string {
  people += 1;
  return `54911${String(people).padStart(8, '0')}`;
}

/** Sends one message to a route with this policy; returns the stored message and the replies in its chat. */
async function ask(person: string, text = 'hola') {
  const message = inbound({ person, text });
  await router.receive(message);
  const rows = await router.log.messages({ channelId: person, limit: 5 });
  const row = rows.find((stored) => stored.waMessageId === message.waMessageId);
  return { row, texts: router.textsTo(`${person}@s.whatsapp.net`) };
}

async function failingRoute(person: string, failure: FailurePolicy) {
  return router.addRoute(person, failing.url, { config: { failure, notices: { failed: 'Sorry.' } } });
}

describe('the failure policy of a route', () => {
  it('stores a dead letter with each attempt in its trace, and sends the apology', async () => {
    const person = aPerson();
    const failure = { tryForMs: 60_000, circuit: { failures: 3, openMs: 60_000 } };
    await router.addRoute(person, alone.url, { config: { failure, notices: { failed: 'Sorry.' } } });
    const { row, texts } = await ask(person);
    expect(row).toMatchObject({ state: 'dead', reason: 'AGENT_UNAVAILABLE', attempts: 3 });
    expect(texts).toEqual(['Sorry.']);
    const [letter] = await router.log.deadLetters({ channelId: person, limit: 1 });
    expect(letter?.trace).toMatchObject([
      { outcome: 'chosen' },
      {
        step: 'agent',
        outcome: 'AGENT_UNAVAILABLE',
        attempts: [{ attempt: 1 }, { attempt: 2 }, { attempt: 3, code: 'AGENT_UNAVAILABLE' }],
      },
    ]);
  });

  it('answers by the fallback route, whose id is stored with the message', async () => {
    const person = aPerson();
    const spare = await router.addRoute(aPerson(), working.url);
    await failingRoute(person, { tryForMs: 0, fallbackRouteId: spare.id });
    const { row, texts } = await ask(person);
    expect(row).toMatchObject({ state: 'answered', routeId: spare.id, attempts: 2 });
    expect(texts).toEqual(['spare: hola']);
    expect(await router.log.deadLetters({ channelId: person, limit: 1 })).toEqual([]);
  });

  it('answers by the fallback text, with the reason on the message', async () => {
    const person = aPerson();
    await failingRoute(person, { tryForMs: 0, fallbackText: 'Call 555.' });
    const { row, texts } = await ask(person);
    expect(row).toMatchObject({ state: 'answered', reason: 'fallback-text', error: expect.any(String) });
    expect(texts).toEqual(['Call 555.']);
  });

  it('fails fast with its own reason while the circuit of the endpoint is open', async () => {
    const person = aPerson();
    await failingRoute(person, { tryForMs: 0, circuit: { failures: 2, openMs: 600_000 } });
    const reasons = [];
    for (let n = 0; n < 3; n++) reasons.push((await ask(person)).row?.reason);
    expect(reasons).toEqual(['AGENT_UNAVAILABLE', 'AGENT_UNAVAILABLE', 'AGENT_CIRCUIT_OPEN']);
  });
});

describe('a replay', () => {
  it('calls the agent of the current route, and the reply goes to the same chat', async () => {
    const person = aPerson();
    const route = await failingRoute(person, { tryForMs: 0 });
    const { row } = await ask(person, 'still there?');
    const [letter] = await router.log.deadLetters({ channelId: person, limit: 1 });
    await router.routes.update(route.id, { agentEndpoint: working.url });
    expect(await router.replay(letter?.id ?? '')).toBe('replayed');
    expect(router.textsTo(`${person}@s.whatsapp.net`)).toEqual(['Sorry.', 'spare: still there?']);
    expect(await router.log.message(row?.id ?? '')).toMatchObject({ state: 'answered', attempts: 2 });
    expect(await router.replay(letter?.id ?? '')).toBe('known');
  });
});
