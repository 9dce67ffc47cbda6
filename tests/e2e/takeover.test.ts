import { beforeAll, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

/** The chat with this person, as the API shows it. */
async function chatOf(phone: string): Promise<{ id: string; pause?: { until?: string; reason?: string } }> {
  const { body } = await bed.service.api('GET', `/api/chats?channelId=${phone}`);
  const [chat] = body.data as Array<{ id: string; pause?: { until?: string } }>;
  if (!chat) throw new Error('there is no such chat');
  return chat;
}

const untilPaused = (phone: string, isPaused: boolean) =>
  until(`the chat is paused: ${isPaused}`, async () =>
    ((await chatOf(phone)).pause !== undefined) === isPaused ? true : undefined,
  );

/** What wa2ai wrote to the owner in the account's "message yourself" chat. */
const ownerTexts = () => bed.phone.copies.map(({ text }) => text ?? '');

/** Drafts of the chat with this person, oldest first. */
async function draftsOf(phone: string): Promise<Array<{ id: string; replies: Array<{ text: string }> }>> {
  const { body } = await bed.service.api('GET', `/api/drafts?channelId=${phone}`);
  return body.data as Array<{ id: string; replies: Array<{ text: string }> }>;
}

const CONTEXT = 'Earlier messages in this chat, for information:';

const PAUSED = { state: 'ignored', reason: 'chat-paused' };

/** To whom the owner wrote by hand, and whose answers are drafts, both before a crash. */
let ana: Person;
let eva: Person;

beforeAll(async () => {
  ana = bed.person({ name: 'Ana' });
  await ana.say('hello', { to: bed.phone });
  expect((await ana.nextReply()).text).toBe('Echo: hello');
  await bed.phone.say('Maria here. We open at nine.', { to: ana });
  await untilPaused(ana.phone, true);
  const quiet = await ana.say('thanks, Maria', { to: bed.phone });
  expect(await bed.untilTurnEnded(quiet)).toMatchObject(PAUSED);

  eva = bed.person();
  await eva.say('hello', { to: bed.phone });
  await eva.nextReply();
  const { id } = await chatOf(eva.phone);
  const paused = await bed.service.api('POST', `/api/chats/${id}/pause`, { mode: 'approve' });
  expect(paused).toMatchObject({ status: 200, body: { data: { pause: { mode: 'approve' } } } });
  for (const text of ['one', 'two', 'three']) {
    const asked = await eva.say(text, { to: bed.phone });
    expect(await bed.untilTurnEnded(asked)).toMatchObject({ state: 'answered', reason: 'draft' });
  }

  await bed.service.end('SIGKILL');
  await bed.restartService();
});

describe('the owner writes by hand', () => {
  it('and the bot is quiet, also after a crash, then returns with the context', async () => {
    const quiet = await ana.say('and on Sunday?', { to: bed.phone });
    expect(await bed.untilTurnEnded(quiet)).toMatchObject(PAUSED);

    await bed.phone.say('#resume', { to: ana });
    await untilPaused(ana.phone, false);
    await ana.say('are you back?', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe(
      `Echo: ${CONTEXT}\nOwner of this account: Maria here. We open at nine.\n"Ana": thanks, Maria\n"Ana": and on Sunday?\n\nare you back?`,
    );
    await ana.say('good', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: good');
    expect(ana.received).toHaveLength(3);
  });

  it('with commands that the agent never sees', async () => {
    const bo = bed.person({ name: 'Bo' });
    await bo.say('hi', { to: bed.phone });
    await bo.nextReply();
    await bed.phone.say('#pause 60', { to: bo });
    await untilPaused(bo.phone, true);
    const { pause } = await chatOf(bo.phone);
    expect(pause?.reason).toBe('#pause');
    expect(pause?.until).toBeDefined();
    const waiting = await bo.say('anybody?', { to: bed.phone });
    expect(await bed.untilTurnEnded(waiting)).toMatchObject({ reason: 'chat-paused' });
    await bed.phone.say('#resume', { to: bo });
    await untilPaused(bo.phone, false);
    await bo.say('hello?', { to: bed.phone });
    await until('the answer', async () =>
      bo.received.find(({ text }) => text?.startsWith(`Echo: ${CONTEXT}`)),
    );
    expect(bo.received.at(-1)?.text).toBe(`Echo: ${CONTEXT}\n"Bo": anybody?\n\nhello?`);
  });

  it('through the API', async () => {
    const cleo = bed.person({ name: 'Cleo' });
    await cleo.say('hi', { to: bed.phone });
    await cleo.nextReply();
    const byHand = { channelId: cleo.phone, text: 'Maria here.', byHand: true };
    expect(await bed.service.api('POST', '/api/messages', byHand)).toMatchObject({ status: 202 });
    expect((await cleo.nextReply()).text).toBe('Maria here.');
    const { id, pause } = await chatOf(cleo.phone);
    expect(pause?.reason).toBe('The owner wrote in the chat.');
    const waiting = await cleo.say('thanks', { to: bed.phone });
    expect(await bed.untilTurnEnded(waiting)).toMatchObject({ reason: 'chat-paused' });
    await bed.service.api('POST', `/api/chats/${id}/resume`);
    await cleo.say('bye', { to: bed.phone });
    expect((await cleo.nextReply()).text).toBe(
      `Echo: ${CONTEXT}\nOwner of this account: Maria here.\n"Cleo": thanks\n\nbye`,
    );
  });

  it('and the bot goes on where the route says so; its own answers never count', async () => {
    const dan = bed.person();
    await bed.service.addRoute(dan.phone, bed.agent.url, { config: { takeover: { minutes: 0 } } });
    const own = await bed.phone.say('just saying', { to: dan });
    expect(await bed.untilTurnEnded(own)).toMatchObject({ reason: 'own-message', text: '' });
    for (const text of ['one', 'two']) {
      await dan.say(text, { to: bed.phone });
      expect((await dan.nextReply()).text).toBe(`Echo: ${text}`);
    }
    expect((await chatOf(dan.phone)).pause).toBeUndefined();
  });
});

it('the owner accepts, edits and drops answers before they are sent, also after a crash', async () => {
  const { id } = await chatOf(eva.phone);
  const drafts = await draftsOf(eva.phone);
  expect(drafts.map(({ replies }) => replies.map(({ text }) => text))).toEqual([
    ['Echo: one'],
    ['Echo: two'],
    ['Echo: three'],
  ]);
  expect(eva.received).toHaveLength(1);
  const decide = (index: number, verb: string, body: object = {}) =>
    bed.service.api('POST', `/api/drafts/${drafts[index]?.id}/${verb}`, body);
  expect(await decide(0, 'approve')).toMatchObject({ status: 200 });
  expect(await decide(1, 'drop')).toMatchObject({ status: 200 });
  expect(await decide(2, 'approve', { text: 'Maria says three.' })).toMatchObject({ status: 200 });
  const heard = (await eva.waitForReceived(3)).map(({ text }) => text);
  expect(heard).toEqual(['Echo: hello', 'Echo: one', 'Maria says three.']);
  expect(await decide(0, 'approve')).toMatchObject({ status: 404 });
  const asked = await eva.say('four', { to: bed.phone });
  expect(await bed.untilTurnEnded(asked)).toMatchObject({ reason: 'draft' });
  const [draft] = await draftsOf(eva.phone);
  await until(
    'the owner sees the draft',
    async () =>
      ownerTexts().some((text) => text.includes(`Echo: four\n`) && text.includes(`#send ${draft?.id}\n`)) ||
      undefined,
  );
  await bed.phone.say(`#edit ${draft?.id} Maria says four.`, { to: bed.phone });
  expect((await eva.waitForReceived(4))[3]?.text).toBe('Maria says four.');
  await bed.service.api('POST', `/api/chats/${id}/resume`);
  await eva.say('five', { to: bed.phone });
  expect((await eva.waitForReceived(5))[4]?.text).toBe('Echo: five');
  expect(await draftsOf(eva.phone)).toEqual([]);
});
