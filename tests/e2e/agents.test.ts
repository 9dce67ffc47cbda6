import { describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

const bed = TestBed.shared();

const limits = {
  adk: { appName: 'test_agent', timeoutMs: 1_500 },
  failure: { tryForMs: 0 },
};

/** A person whose chat is answered by a new agent with these switches. */
async function personWith(switches: string[]) {
  const agent = await bed.anotherAgent(switches);
  const person = bed.person();
  await bed.service.addRoute(person.phone, agent.url, { config: limits });
  return { person, agent };
}

describe('Misbehaving agents', () => {
  it.concurrent.each([
    ['is broken (500)', ['--fail', '500'], 'dead'],
    ['answers bad JSON', ['--mode', 'bad-json'], 'dead'],
    ['answers 10 MB', ['--mode', 'huge'], 'dead'],
    ['never answers', ['--mode', 'hang'], 'dead'],
    ['never ends its answer', ['--mode', 'never-ending'], 'dead'],
    ['is overloaded', ['--fail', '503'], 'dead'],
    ['has nothing to say', ['--mode', 'empty'], 'answered'],
  ])('leave the chat silent with a recorded reason: one that %s', async (_name, switches, state) => {
    const { person } = await personWith(switches);
    const id = await person.say('hello', { to: bed.phone });
    const row = await bed.untilTurnEnded(id);
    expect(row).toMatchObject({ state, reason: expect.stringMatching(/\S/), replies: [] });
    expect(person.received).toHaveLength(0);
  });

  it.concurrent('may answer slowly within the time limit', async () => {
    const { person } = await personWith(['--delay-ms', '1000']);
    await person.say('slow', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('Echo: slow');
  });

  it('leave the chat without a reply while they are down, and answer when they are up again', async () => {
    const { person, agent } = await personWith([]);
    const port = Number(new URL(agent.url).port);
    await agent.close();
    const id = await person.say('anybody?', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({
      state: 'dead',
      reason: 'AGENT_UNAVAILABLE',
      attempts: 1,
    });
    await bed.anotherAgent([], port);
    await person.say('and now?', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('Echo: and now?');
  });

  it('that restart delay the chat, and answer its messages in order afterwards', async () => {
    const agent = await bed.anotherAgent([]);
    const person = bed.person();
    await bed.service.addRoute(person.phone, agent.url, {
      config: { failure: { tryForMs: 60_000 } },
    });
    const port = Number(new URL(agent.url).port);
    await agent.close();
    const { lines } = bed.service;
    const from = lines.length;
    const first = await person.say('one', { to: bed.phone });
    await person.say('two', { to: bed.phone });
    await bed.service.untilLog(
      ({ msg, attempt }) => msg === 'agent did not answer' && attempt === 3,
      20_000,
      from,
    );
    await bed.anotherAgent([], port);
    const bubbles = await person.waitForReceived(2);
    expect(bubbles.map(({ text }) => text)).toEqual(['Echo: one', 'Echo: two']);
    const row = await bed.message(first);
    expect(row).toMatchObject({ state: 'answered' });
    expect(Number(row?.attempts)).toBeGreaterThan(3);
  });
});

describe('Routes on WhatsApp', () => {
  it('are chosen by pattern, fall back to the wildcard, and leave a message without a route unanswered', async () => {
    const bills = await bed.anotherAgent(['--reply', 'bills: {text}']);
    const person = bed.person();
    await bed.service.addRoute(person.phone, bills.url, { regexFilter: '^bill', priority: 10 });
    await person.say('bill of June', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('bills: bill of June');
    await person.say('hello', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('Echo: hello');

    const { body } = await bed.service.api('GET', '/api/routes');
    const wildcard = (body.data as Array<{ id: string; channelId: string }>).find(
      (route) => route.channelId === '*',
    );
    expect((await bed.service.api('PATCH', `/api/routes/${wildcard?.id}`, { enabled: false })).status).toBe(
      200,
    );
    const id = await person.say('hello again', { to: bed.phone });
    expect(await bed.untilTurnEnded(id)).toMatchObject({
      state: 'ignored',
      reason: expect.stringMatching(/^no-/),
    });
    await bed.service.api('PATCH', `/api/routes/${wildcard?.id}`, { enabled: true });
    await person.say('third time', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('Echo: third time');
  });

  it('with a hostile pattern delay no other chat', async () => {
    const hostile = bed.person();
    const other = bed.person();
    await bed.service.addRoute(hostile.phone, bed.agent.url, { regexFilter: '^(a+)+$' });
    const id = await hostile.say(`${'a'.repeat(40_000)}!`, { to: bed.phone });
    await other.say('hello', { to: bed.phone });
    expect((await other.nextReply()).text).toBe('Echo: hello');
    const row = await bed.untilTurnEnded(id);
    expect(row).toMatchObject({ state: 'answered' });
  });
});
