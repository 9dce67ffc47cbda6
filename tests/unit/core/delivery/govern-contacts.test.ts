import { describe, expect, it } from 'vitest';
import { ContactGovernor, type NumberLookUps } from '../../../../router/src/core/delivery/govern-contacts.ts';
import { governorOf } from '../../../../router/src/core/policies/governor.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

type LookUp = Awaited<ReturnType<NumberLookUps['lookUp']>>;

const aMessage = {
  accountId: 'a',
  waMessageId: 'IN1',
  kind: 'text' as const,
  text: 'hello',
  sentAtMs: 0,
  stanzaOrder: 1n,
};

function setup(perDay = 4, settings: object = {}) {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const outbox = new MemoryOutbox(state);
  const delayed: string[] = [];
  const asked: string[] = [];
  const answers: { next: LookUp } = { next: { kind: 'known', isOnWhatsApp: true } };
  const lookUp = async (phone: string) => {
    asked.push(phone);
    return answers.next;
  };
  const governor = new ContactGovernor({
    outbox,
    numbers: { lookUp },
    settings: async () => governorOf({ firstContacts: { perDay, warmUpDays: 0 }, ...settings }),
    clock,
    random: () => 0,
    onDelayed: (reason) => void delayed.push(reason),
  });
  let count = 0;
  const add = async () => {
    count += 1;
    const to = `3460000${String(count).padStart(4, '0')}@s.whatsapp.net`;
    const message = { accountId: 'a', to, waMessageId: `W${count}`, text: 'news' };
    const { row } = await outbox.addDirect(message);
    return { outboxId: row.id, chatId: row.chatId, message };
  };
  const log = recordingLog();
  return {
    clock,
    state,
    outbox,
    asked,
    answers,
    governor,
    delayed,
    add,
    maySend: governor.maySend.bind(governor),
    log,
  };
}

describe('ContactGovernor', () => {
  it('counts first contacts, also of decisions at once, and delays the row above the limit', async () => {
    const { add, maySend, log, delayed, state, clock } = setup();
    const rows = [await add(), await add(), await add()];
    expect(await Promise.all(rows.map((row) => maySend(row, log)))).toEqual([true, true, false]);
    expect(delayed).toEqual(['first-contacts']);
    const [first, , third] = rows;
    expect(state.outbox.get(third?.outboxId ?? '')).toMatchObject({
      state: 'queued',
      delayedUntil: new Date(clock.now() + 3_600_000),
      error: expect.stringContaining('first contact'),
    });
    expect(log.lines).toMatchObject([{ message: 'message delayed by the governor' }]);
    // A repeat of a counted one is not a further contact.
    expect(first && (await maySend(first, log))).toBe(true);
  });

  it('keeps the quiet hours of people who did not write in the last 24 hours, and of nobody else', async () => {
    const quietHours = { from: '22:00', to: '08:00', timeZone: 'UTC' };
    const { add, maySend, log, delayed, state, clock } = setup(0, { quietHours });
    const inbox = new MemoryInbox(state);
    const [quiet, talking] = [await add(), await add()];
    const writes = (row: { message: { to: string } }) => {
      const [phone = ''] = row.message.to.split('@');
      return inbox.add({ ...aMessage, chat: { kind: 'person', phone }, sender: { phone } }, 'node-1');
    };
    // From midnight until one o'clock on the next day.
    await writes(quiet);
    await clock.advanceMs(2 * 3_600_000);
    await writes(talking);
    await clock.advanceMs(23 * 3_600_000);
    expect(await maySend(quiet, log)).toBe(false);
    expect(await maySend(talking, log)).toBe(true);
    expect(delayed).toEqual(['quiet-hours']);
    expect(state.outbox.get(quiet.outboxId)?.delayedUntil).toEqual(new Date(Date.UTC(2026, 0, 2, 8)));
    expect(await maySend({ ...quiet, messageId: '7' }, log)).toBe(true);
  });

  it('asks WhatsApp before the first message to a number, and stores what it said', async () => {
    const { add, maySend, asked, outbox, log } = setup();
    const row = await add();
    expect(await maySend(row, log)).toBe(true);
    expect(asked).toEqual(['34600000001']);
    await outbox.keepNumberCheck('a', '34600000002', true);
    expect(await maySend(await add(), log)).toBe(true);
    expect(asked).toEqual(['34600000001']);
  });

  it.each([
    ['WhatsApp says so', false],
    ['it said so less than a day ago', true],
  ])('ends a message to a number without an account when %s, and counts no contact', async (_, isKept) => {
    const { add, maySend, answers, outbox, state, asked, log } = setup(1);
    answers.next = { kind: 'known', isOnWhatsApp: false };
    if (isKept) await outbox.keepNumberCheck('a', '34600000001', false);
    const row = await add();
    expect(await maySend(row, log)).toBe(false);
    expect(asked).toHaveLength(isKept ? 0 : 1);
    expect(state.outbox.get(row.outboxId)).toMatchObject({
      state: 'dead',
      error: expect.stringContaining('no account with this number'),
    });
    expect(state.deadLetters).toMatchObject([{ reason: 'not-on-whatsapp' }]);
    answers.next = { kind: 'known', isOnWhatsApp: true };
    expect(await maySend(await add(), log)).toBe(true);
  });

  it('delays the message while WhatsApp cannot be asked, and leaves it queued while the account is offline', async () => {
    const { add, maySend, answers, delayed, state, log } = setup();
    const row = await add();
    answers.next = { kind: 'offline' };
    expect(await maySend(row, log)).toBe(false);
    expect(state.outbox.get(row.outboxId)).toMatchObject({ state: 'queued' });
    expect(state.outbox.get(row.outboxId)?.delayedUntil).toBeUndefined();
    answers.next = { kind: 'wait', forMs: 6_000, why: { sentence: 'Later.' } };
    expect(await maySend(row, log)).toBe(false);
    expect(delayed).toEqual(['number-check']);
    expect(state.outbox.get(row.outboxId)).toMatchObject({ state: 'queued', error: 'Later.' });
  });

  it('lets replies pass without a look', async () => {
    const { add, maySend, log, state } = setup(1);
    const row = await add();
    for (let n = 0; n < 3; n++) expect(await maySend({ ...row, messageId: '7' }, log)).toBe(true);
    expect(state.outbox.get(row.outboxId)?.firstContactMs).toBeUndefined();
  });
});
