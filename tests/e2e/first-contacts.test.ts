import { afterAll, beforeAll, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;

beforeAll(async () => {
  bed = await TestBed.startPaired();
});

afterAll(async () => {
  await bed.close();
});

const send = async (phone: string, text: string) => {
  const { body } = await bed.service.api('POST', '/api/messages', { to: phone, text });
  return body.data as { id: string };
};

it('writes to strangers within the limit, also after a restart, and to people who wrote at any time', async () => {
  const settings = { firstContacts: { perDay: 2, warmUpDays: 0 } };
  expect((await bed.service.api('PUT', '/api/settings/governor', settings)).status).toBe(200);
  const [known, one, two] = [bed.person(), bed.person(), bed.person()];
  await known.say('hello', { to: bed.phone });
  await known.nextReply();

  await send(one.phone, 'news');
  expect((await one.nextReply()).text).toBe('news');
  const delayed = await send(two.phone, 'news');
  const row = async () => (await bed.service.api('GET', `/api/messages/${delayed.id}`)).body.data;
  await expect.poll(row, { timeout: 60_000 }).toMatchObject({
    state: 'queued',
    delayedUntil: expect.any(String),
    error: expect.stringContaining('first contact'),
  });
  const toOwner = await send(bed.phone.pn.split('@')[0] ?? '', 'a question to the owner');
  const ownRow = async () => (await bed.service.api('GET', `/api/messages/${toOwner.id}`)).body.data;
  await expect
    .poll(ownRow, { timeout: 60_000 })
    .toMatchObject({ state: expect.stringMatching(/sent|acked|delivered/) });
  await bed.service.end('SIGKILL');
  await bed.restartService();
  await send(known.phone, 'news');
  expect((await known.nextReply()).text).toBe('news');
  await expect.poll(row, { timeout: 60_000 }).toMatchObject({ delayedUntil: expect.any(String) });
  expect(two.received).toEqual([]);

  // The stranger writes: no first contact any more, and the order of the chat is kept.
  await two.say('who is this?', { to: bed.phone });
  const bubbles = await two.waitForReceived(2);
  expect(bubbles.map(({ text }) => text)).toEqual(['news', 'Echo: who is this?']);
});
