import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Stage } from '../support/stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.setAndPaired({
    env: { WA2AI_AGENT_TIMEOUT_MS: '1500', WA2AI_AGENT_ATTEMPTS: '2', WA2AI_AGENT_PATIENCE_MS: '0' },
  });
});

afterAll(async () => {
  await stage.strike();
});

/** A person whose chat is answered by a new agent with these switches. */
async function personWith(switches: string[]) {
  const agent = await stage.anotherAgent(switches);
  const person = stage.person();
  await stage.service.addRoute(person.phone, agent.url);
  return { person, agent };
}

describe('agents that misbehave', () => {
  it.each([
    ['is broken (500)', ['--fail', '500'], 'dead'],
    ['answers bad JSON', ['--mode', 'bad-json'], 'dead'],
    ['answers 10 MB', ['--mode', 'huge'], 'dead'],
    ['never answers', ['--mode', 'hang'], 'dead'],
    ['never ends its answer', ['--mode', 'never-ending'], 'dead'],
    ['is overloaded', ['--fail', '503'], 'dead'],
    ['has nothing to say', ['--mode', 'empty'], 'answered'],
  ])('leave the chat silent with a recorded reason: one that %s', async (_name, switches, state) => {
    const { person } = await personWith(switches);
    const id = await person.say('hello', { to: stage.phone });
    const row = await stage.untilTurnEnded(id);
    expect(row).toMatchObject({ state, reason: expect.stringMatching(/\S/), replies: [] });
    expect(person.received).toHaveLength(0);
  });

  it('leave the chat silent when the agent is down, and answer when it is up again', async () => {
    const { person, agent } = await personWith([]);
    const port = Number(new URL(agent.url).port);
    await agent.stop();
    const id = await person.say('anybody?', { to: stage.phone });
    expect(await stage.untilTurnEnded(id)).toMatchObject({
      state: 'dead',
      reason: 'AGENT_UNAVAILABLE',
      attempts: 2,
    });
    await stage.anotherAgent([], port);
    await person.say('and now?', { to: stage.phone });
    expect((await person.nextReply()).text).toBe('Echo: and now?');
  });

  it('keep the chat waiting while the agent restarts, and answer what was said in its order', async () => {
    const agent = await stage.anotherAgent([]);
    const person = stage.person();
    await stage.service.addRoute(person.phone, agent.url, { config: { failure: { patienceMs: 60_000 } } });
    const port = Number(new URL(agent.url).port);
    await agent.stop();
    const { lines } = stage.service;
    const from = lines.length;
    const first = await person.say('one', { to: stage.phone });
    await person.say('two', { to: stage.phone });
    // More asks than the attempts of this service.
    await stage.service.untilLog(
      ({ msg, attempt }) => msg === 'agent did not answer' && attempt === 3,
      20_000,
      from,
    );
    await stage.anotherAgent([], port);
    const bubbles = await person.waitForReceived(2, 30_000);
    expect(bubbles.map(({ text }) => text)).toEqual(['Echo: one', 'Echo: two']);
    const row = await stage.message(first);
    expect(row).toMatchObject({ state: 'answered' });
    expect(Number(row?.attempts)).toBeGreaterThan(3);
  });

  it('may answer slowly within the limit', async () => {
    const { person } = await personWith(['--delay-ms', '1000']);
    await person.say('slow', { to: stage.phone });
    expect((await person.nextReply()).text).toBe('Echo: slow');
  });
});

describe('routes through WhatsApp', () => {
  it('choose by pattern, fall back to the wildcard, and say nothing without a route', async () => {
    const bills = await stage.anotherAgent(['--reply', 'bills: {text}']);
    const person = stage.person();
    await stage.service.addRoute(person.phone, bills.url, { regexFilter: '^bill', priority: 10 });
    await person.say('bill of June', { to: stage.phone });
    expect((await person.nextReply()).text).toBe('bills: bill of June');
    await person.say('hello', { to: stage.phone });
    expect((await person.nextReply()).text).toBe('Echo: hello');

    const { body } = await stage.service.api('GET', '/api/routes');
    const wildcard = (body.data as Array<{ id: string; channelId: string }>).find(
      (route) => route.channelId === '*',
    );
    expect((await stage.service.api('PATCH', `/api/routes/${wildcard?.id}`, { enabled: false })).status).toBe(
      200,
    );
    const id = await person.say('hello again', { to: stage.phone });
    expect(await stage.untilTurnEnded(id)).toMatchObject({
      state: 'ignored',
      reason: expect.stringMatching(/^no-/),
    });
    await stage.service.api('PATCH', `/api/routes/${wildcard?.id}`, { enabled: true });
    await person.say('third time', { to: stage.phone });
    expect((await person.nextReply()).text).toBe('Echo: third time');
  });

  it('let a hostile pattern delay no other chat', async () => {
    const hostile = stage.person();
    const other = stage.person();
    await stage.service.addRoute(hostile.phone, stage.agent.url, { regexFilter: '^(a+)+$' });
    const id = await hostile.say(`${'a'.repeat(40_000)}!`, { to: stage.phone });
    await other.say('hello', { to: stage.phone });
    expect((await other.nextReply()).text).toBe('Echo: hello');
    const row = await stage.untilTurnEnded(id);
    expect(row).toMatchObject({ state: 'answered' });
  });
});
