import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AdkServer, startAdkServer } from '../support/adk-server.ts';
import { TestBed } from '../support/test-bed.ts';

/** The real Google ADK server with scripted models (tests/adk-server), from WhatsApp to the agent and back. */

let adk: AdkServer;
let bed: TestBed;

beforeAll(async () => {
  [adk, bed] = await Promise.all([startAdkServer(), TestBed.startPaired()]);
}, 360_000);

afterAll(async () => {
  await Promise.all([adk?.stop(), bed?.close()]);
});

/** A person whose chat is answered by that app of the ADK server. */
async function personAt(appName: string) {
  const person = bed.person();
  await bed.service.addRoute(person.phone, adk.url, { config: { adk: { appName } } });
  const ask = async (text: string) => {
    await person.say(text, { to: bed.phone });
    return (await person.nextReply()).text;
  };
  return { person, ask };
}

describe('A real Google ADK agent on WhatsApp', () => {
  it('answers plain text in one session across several messages', async () => {
    const { ask } = await personAt('front_desk');
    expect(await ask('hello')).toBe('turn 1: you said "hello"');
    expect(await ask('again')).toBe('turn 2: you said "again"');
  });

  it('answers after a tool call without the text before it', async () => {
    const { ask } = await personAt('front_desk');
    expect(await ask('weather please')).toBe('get_weather said {"city":"Lima","celsius":25,"sky":"sunny"}');
  });

  it('transfers the chat to a sub-agent, which keeps it', async () => {
    const { ask } = await personAt('front_desk');
    expect(await ask('billing please')).toBe('billing here: you said "billing please"');
    expect(await ask('and now?')).toBe('billing here: you said "and now?"');
  });

  it('does not send its thoughts', async () => {
    const { ask } = await personAt('front_desk');
    expect(await ask('think hard')).toBe('The answer is 42.');
  });

  it('sends nothing to the chat when its model fails, and records the reason', async () => {
    const { person, ask } = await personAt('front_desk');
    const id = await person.say('fail', { to: bed.phone });
    expect(await ask('hello')).toContain('you said "hello"');
    expect(person.received).toHaveLength(1);
    expect(await bed.message(id)).toMatchObject({
      state: 'dead',
      error: expect.stringContaining('model exploded'),
    });
  });

  it('is reported with the apps of its server when the route names an unknown app', async () => {
    const { person } = await personAt('front_dsek');
    const id = await person.say('hello', { to: bed.phone });
    await expect.poll(async () => (await bed.message(id))?.error).toMatch(/front_dsek.*front_desk/);
  });
});
