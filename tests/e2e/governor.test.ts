import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(() => bed.close());

const govern = async (settings: object) =>
  expect((await bed.service.api('PUT', '/api/settings/governor', settings)).status).toBe(200);

const send = async ({ phone }: Pick<Person, 'phone'>, text: string) => {
  const { status, body } = await bed.service.api('POST', '/api/messages', { channelId: phone, text });
  expect(status).toBe(202);
  return body.data as { id: string };
};

interface Outgoing {
  queued: number;
  delayed: Array<{ why: string; messages: number; until: string }>;
}

const outgoing = async () => {
  const { body } = await bed.service.api('GET', '/api/accounts/default');
  return (body.data as { outgoing: Outgoing }).outgoing;
};

it('strangers are written to within the limit, also after a restart, and people who wrote at any time', async () => {
  await govern({ firstContacts: { perDay: 2, warmUpDays: 0 } });
  const [known, one, two] = [bed.person(), bed.person(), bed.person()];
  await known.say('hello', { to: bed.phone });
  await known.nextReply();

  await send(one, 'news');
  expect((await one.nextReply()).text).toBe('news');
  const delayed = await send(two, 'news');
  const row = async () => (await bed.service.api('GET', `/api/messages/${delayed.id}`)).body.data;
  await expect.poll(row, { timeout: 60_000 }).toMatchObject({
    state: 'queued',
    delayedUntil: expect.any(String),
    error: expect.stringContaining('first contact'),
  });
  const toOwner = await send({ phone: bed.phone.pn.split('@')[0] ?? '' }, 'a question to the owner');
  const ownRow = async () => (await bed.service.api('GET', `/api/messages/${toOwner.id}`)).body.data;
  await expect
    .poll(ownRow, { timeout: 60_000 })
    .toMatchObject({ state: expect.stringMatching(/sent|acked|delivered/) });
  await bed.service.end('SIGKILL');
  await bed.restartService();
  await send(known, 'news');
  expect((await known.nextReply()).text).toBe('news');
  await expect.poll(row, { timeout: 60_000 }).toMatchObject({ delayedUntil: expect.any(String) });
  expect(two.received).toEqual([]);

  // The stranger writes: no first contact any more, and the order of the chat is kept.
  await two.say('who is this?', { to: bed.phone });
  const bubbles = await two.waitForReceived(2);
  expect(bubbles.map(({ text }) => text)).toEqual(['news', 'Echo: who is this?']);
});

it('messages leave at the pace of the account, and answers go before other messages', async () => {
  const people = Array.from({ length: 4 }, () => bed.person());
  for (const person of people) {
    await person.say('hello', { to: bed.phone });
    await person.nextReply();
  }
  expect(await outgoing()).toEqual({ queued: 0, delayed: [] });
  await govern({ firstContacts: { perDay: 0 }, messages: { perSecond: 2, burst: 2 } });
  for (const text of ['news', 'more news']) for (const person of people) await send(person, text);
  await until('messages wait', async () => ((await outgoing()).queued > 2 ? true : undefined));
  const asking = bed.person();
  await asking.say('are you there?', { to: bed.phone });
  const answer = await asking.nextReply();
  const news = await Promise.all(people.map(async (person) => (await person.waitForReceived(3)).slice(1)));
  expect(answer.text).toBe('Echo: are you there?');
  const times = news.flat().map((bubble) => bubble.at);
  expect(answer.at).toBeLessThan(Math.max(...times));
  expect(await outgoing()).toEqual({ queued: 0, delayed: [] });
});

it('a message is typed as long as the settings say', async () => {
  await bed.converse({ presence: { typing: false } });
  await govern({ typing: { charsPerSecond: 20, maxMs: 1_500 } });
  const person = bed.person();
  const isTyping = person.waitForPresence('composing');
  await person.say('a text of thirty characters...', { to: bed.phone });
  await isTyping;
  expect(person.received).toHaveLength(0);
  expect((await person.nextReply()).text).toBe('Echo: a text of thirty characters...');
});

it('nobody is written to first in the quiet hours; who writes gets the message, then the answer', async () => {
  const [from, to] = [-1, 1].map((hours) =>
    new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16),
  );
  await govern({ firstContacts: { perDay: 0 }, quietHours: { from, to, timeZone: 'UTC' } });
  const [known, stranger] = [bed.person(), bed.person()];
  await known.say('hello', { to: bed.phone });
  await known.nextReply();
  await send(stranger, 'news');
  await send(known, 'news');
  expect((await known.nextReply()).text).toBe('news');
  const delayed = await until('the message is delayed', async () => (await outgoing()).delayed[0]);
  expect(delayed).toEqual({
    why: expect.stringContaining('quiet hours'),
    phrase: { code: 'governor.quiet-hours' },
    messages: 1,
    until: expect.any(String),
  });
  expect(stranger.received).toEqual([]);
  await stranger.say('hello?', { to: bed.phone });
  const bubbles = await stranger.waitForReceived(2);
  expect(bubbles.map(({ text }) => text)).toEqual(['news', 'Echo: hello?']);
});
