import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;
/** Answers what routes with conditions take; all else goes to the route for every chat. */
let desk: { url: string };

beforeAll(async () => {
  bed = await TestBed.startPaired();
  desk = await bed.anotherAgent(['--reply', 'Desk: {text}']);
});

afterAll(() => bed.close());

/** Adds a route with these conditions to the desk. */
async function routeWhen(channelId: string, when: object): Promise<string> {
  const { id } = await bed.service.addRoute(channelId, desk.url, { priority: 5, config: { when } });
  return id;
}

async function changeWhen(id: string, when: object): Promise<void> {
  const { status } = await bed.service.api('PATCH', `/api/routes/${id}`, { config: { when } });
  expect(status).toBe(200);
}

/** What the person sees after this message. */
async function answerTo(person: Person, text: string): Promise<string | undefined> {
  await person.say(text, { to: bed.phone });
  return (await person.nextReply()).text;
}

async function explained(person: Person, text: string) {
  const { body } = await bed.service.api('POST', '/api/routes/explain', { from: person.phone, text });
  return body.data as { trace: Array<{ outcome: string; sentence: string }>; route: { id: string } };
}

const hourOf = (ms: number) => new Date(ms).toISOString().slice(11, 16);

describe('a route with conditions', () => {
  it('answers within its hours, and leaves the others to the next route', async () => {
    const ana = bed.person();
    const nowMs = Date.now();
    const [from, to] = [hourOf(nowMs - 3_600_000), hourOf(nowMs + 3_600_000)];
    const id = await routeWhen(ana.phone, { hours: `${from}-${to}` });
    expect(await answerTo(ana, 'hello')).toBe('Desk: hello');
    await changeWhen(id, { hours: `${to}-${from}` });
    const asked = await ana.say('late', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: late');
    const row = await bed.untilTurnEnded(asked);
    expect(JSON.stringify(row.trace)).toContain(`in UTC; the hours are ${to}-${from}.`);
  });

  it('answers chats with its tag, from the next message on', async () => {
    const bo = bed.person();
    await routeWhen(bo.phone, { tags: ['VIP'] });
    expect(await answerTo(bo, 'one')).toBe('Echo: one');
    const path = `/api/chats/${encodeURIComponent(`+${bo.phone}`)}/tags`;
    expect(await bed.service.api('PUT', path, { tags: ['vip'] })).toMatchObject({ status: 200 });
    expect(await answerTo(bo, 'two')).toBe('Desk: two');
    const { body } = await bed.service.api('GET', '/api/chats?tag=vip');
    expect(body.data).toMatchObject([{ phone: bo.phone, tags: ['vip'] }]);
    await bed.service.api('PUT', path, { tags: [] });
    expect(await answerTo(bo, 'three')).toBe('Echo: three');
  });

  it('answers the first message of a person in its language', async () => {
    const [cleo, dan] = [bed.person(), bed.person()];
    for (const { phone } of [cleo, dan]) await routeWhen(phone, { isFirstContact: true, languages: ['es'] });
    expect(await answerTo(cleo, '¿a qué hora abren?')).toBe('Desk: ¿a qué hora abren?');
    expect(await answerTo(cleo, '¿y mañana?')).toBe('Echo: ¿y mañana?');
    expect(await answerTo(dan, 'what time do you open?')).toBe('Echo: what time do you open?');
  });

  it('answers a share of chats, which keep their side when the share grows, also after a crash', async () => {
    const people = Array.from({ length: 16 }, () => bed.person());
    const id = await routeWhen('*', { percent: 50 });
    const sides = async (text: string) => Promise.all(people.map((person) => answerTo(person, text)));
    const first = await sides('one');
    expect(new Set(first)).toEqual(new Set(['Desk: one', 'Echo: one']));
    for (const [index, person] of people.entries()) {
      const isIn = (await explained(person, 'x')).route.id === id;
      expect(first[index]).toBe(isIn ? 'Desk: one' : 'Echo: one');
    }
    await bed.service.end('SIGKILL');
    await bed.restartService();
    expect(await sides('two')).toEqual(first.map((text) => text?.replace('one', 'two')));
    await changeWhen(id, { percent: 80 });
    const grown = await sides('three');
    for (const [index, text] of first.entries()) {
      if (text === 'Desk: one') expect(grown[index]).toBe('Desk: three');
    }
    await changeWhen(id, { percent: 0 });
    expect(new Set(await sides('four'))).toEqual(new Set(['Echo: four']));
  });
});
