import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdkServer, startAdkServer } from '../support/adk-server.ts';
import { TestBed } from '../support/test-bed.ts';

/** The real Google ADK server with `--a2a` and scripted models (tests/adk-server), as an A2A agent of wa2ai. */

const TOKEN = 'token-of-the-adk-server';

let adk: AdkServer;
let bed: TestBed;

beforeAll(async () => {
  adk = await startAdkServer({ a2aToken: TOKEN });
  bed = await TestBed.startPaired();
}, 360_000);

afterAll(async () => {
  await bed?.close();
  await adk?.stop();
});

/** A person whose chat is answered by the agent front_desk. */
async function personWith(settings: Record<string, unknown> = {}) {
  const person = bed.person();
  await bed.service.addRoute(person.phone, `${adk.url}/a2a/front_desk`, {
    config: { adk: undefined, a2a: { apiKey: TOKEN, ...settings } },
  });
  const ask = async (text: string) => {
    await person.say(text, { to: bed.phone });
    return (await person.nextReply()).text;
  };
  return { person, ask };
}

describe('A real ADK server with --a2a on WhatsApp', () => {
  it.each([{}, { streaming: false }])(
    'answers in one conversation, without the work of its tools and its thoughts: %o',
    async (settings) => {
      const { ask } = await personWith(settings);
      expect(await ask('hello')).toBe('turn 1: you said "hello"');
      expect(await ask('again')).toBe('turn 2: you said "again"');
      expect(await ask('weather please')).toBe('get_weather said {"city":"Lima","celsius":25,"sky":"sunny"}');
      expect(await ask('think hard')).toBe('The answer is 42.');
    },
  );

  it('answers over HTTP with JSON', async () => {
    const { ask } = await personWith({ transport: 'rest' });
    expect(await ask('hello')).toBe('turn 1: you said "hello"');
    expect(await ask('again')).toBe('turn 2: you said "again"');
  });

  it('has its picture sent', async () => {
    const { person } = await personWith();
    await person.say('picture', { to: bed.phone });
    expect((await person.nextReply()).message.imageMessage).toBeTruthy();
  });

  it('reports a task that lasts longer than the turn', async () => {
    const { person, ask } = await personWith({ waitMs: 200 });
    expect(await ask('slow 4000')).toMatch(/^Tarea [0-9a-f]{8} iniciada\. Te aviso aquí\.$/);
    expect((await person.nextReply(60_000)).text).toBe('turn 1: you said "slow 4000"');
  });

  it('says nothing in the chat when its model fails, and goes on', async () => {
    const { person, ask } = await personWith();
    const id = await person.say('fail', { to: bed.phone });
    expect(await ask('hello')).toContain('you said "hello"');
    expect(person.received).toHaveLength(1);
    expect(await bed.message(id)).toMatchObject({ state: 'dead', reason: 'AGENT_TASK_FAILED' });
  });

  it('refuses another token', async () => {
    const { person } = await personWith({ apiKey: 'wrong' });
    const id = await person.say('hello', { to: bed.phone });
    const row = await bed.untilTurnEnded(id);
    expect(row).toMatchObject({ state: 'dead' });
    expect(person.received).toHaveLength(0);
  });
});
