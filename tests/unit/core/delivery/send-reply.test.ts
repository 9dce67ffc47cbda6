import { describe, expect, it } from 'vitest';
import { ReplySender, SentMarker } from '../../../../router/src/core/delivery/send-reply.ts';
import {
  NotConnectedError,
  SendRefusedError,
  SendUncertainError,
  StorageUnavailableError,
} from '../../../../router/src/core/errors.ts';
import type { AccountStatus } from '../../../../router/src/core/ports/chat-provider.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

async function setup(failures: Error[] = []) {
  const clock = new FakeClock();
  const state = new MemoryState(() => clock.now());
  const outbox = new MemoryOutbox(state);
  const log = recordingLog();
  const sent: string[] = [];
  const status: Partial<AccountStatus> = {};
  let polls = 0;
  let limitsKnown: () => Promise<void> | undefined = () => undefined;
  let isConnected = true;
  const finishing = new AbortController();
  const sender = new ReplySender({
    outbox,
    provider: {
      untilLimitsKnown: () => limitsKnown(),
      status: () => ({ accountId: 'a', state: 'open', nextAction: '', sinceMs: 0, ...status }),
      send: async ({ waMessageId }) => {
        const failure = failures.shift();
        if (failure) throw failure;
        sent.push(waMessageId);
      },
      upload: () => Promise.reject(new Error('the test has no files')),
    },
    marker: new SentMarker({ outbox, clock, log }),
    isConnected: () => isConnected,
    pollQueue: () => {
      polls += 1;
    },
    finishing: finishing.signal,
    clock,
    log,
  });
  const message = { accountId: 'a', to: '5493777000001@s.whatsapp.net', waMessageId: 'WA1', text: 'hello' };
  const { row } = await outbox.addDirect(message);
  const reply: QueuedReply = { outboxId: row.id, chatId: row.chatId, messageId: '77', message };
  return {
    clock,
    outbox,
    log,
    sent,
    status,
    finishing,
    sender,
    reply,
    polls: () => polls,
    askForLimits: (answer: Promise<void>) => {
      limitsKnown = () => answer;
    },
    row: () => state.outbox.get(row.id),
    disconnect: () => {
      isConnected = false;
    },
  };
}

describe('ReplySender', () => {
  it('moves the row to sending before the bytes are written, and marks it as sent later', async () => {
    const { sender, reply, sent, row, clock } = await setup();
    await sender.send(reply);
    expect(sent).toEqual(['WA1']);
    expect(row()?.state).toBe('sending');
    await clock.advanceMs(1_000);
    expect(row()?.state).toBe('sent');
  });

  it.each([
    ['it may have gone out', new SendUncertainError({ sentence: 'the line broke' })],
    ['the database does not answer', new StorageUnavailableError({ sentence: 'no answer' })],
  ])('sends no later reply of a chat after one was left at the end because %s', async (_why, error) => {
    const { sender, reply, sent, outbox, finishing } = await setup([error]);
    const { row: later } = await outbox.addDirect({ ...reply.message, waMessageId: 'WA2' });
    finishing.abort();
    await sender.send(reply);
    await sender.send({ ...reply, outboxId: later.id, message: { ...reply.message, waMessageId: 'WA2' } });
    expect(sent).toEqual([]);
  });

  it('sends no row that is acknowledged or dead, and polls for missed rows', async () => {
    const { sender, reply, sent, outbox, polls } = await setup();
    await outbox.markDead(reply.outboxId, { sentence: 'given up' });
    await sender.send(reply);
    expect([sent, polls()]).toEqual([[], 1]);
  });

  it.each([
    ['queued when nothing was sent', new NotConnectedError('a'), 'queued'],
    ['dead when WhatsApp refuses it', new SendRefusedError({ sentence: 'no such chat' }), 'dead'],
  ])('leaves a row %s', async (_what, error, state) => {
    const { sender, reply, row } = await setup([error]);
    await sender.send(reply);
    expect(row()?.state).toBe(state);
  });

  it('sends an uncertain message three times with the same id, with growing waits', async () => {
    const uncertain = () => new SendUncertainError({ sentence: 'the line broke' });
    const { sender, reply, row, clock } = await setup([uncertain(), uncertain(), uncertain()]);
    const sending = sender.send(reply);
    await settle();
    expect(row()?.attempts).toBe(1);
    await clock.advanceMs(2_000);
    expect(row()?.attempts).toBe(2);
    await clock.advanceMs(4_000);
    await sending;
    expect(row()).toMatchObject({ state: 'sending', attempts: 3, waMessageId: 'WA1' });
  });

  it('sends no uncertain message again after the account is released', async () => {
    const { sender, reply, row, finishing } = await setup([
      new SendUncertainError({ sentence: 'the line broke' }),
    ]);
    const sending = sender.send(reply);
    await settle();
    finishing.abort();
    await sending;
    expect(row()?.attempts).toBe(1);
  });

  it('waits for the database as long as the account is connected', async () => {
    const { sender, reply, sent, outbox, clock, disconnect } = await setup();
    outbox.markSending = () => Promise.reject(new StorageUnavailableError({ sentence: 'away' }));
    const sending = sender.send(reply);
    await settle();
    await clock.advanceMs(10_000);
    disconnect();
    await clock.advanceMs(1_000);
    await sending;
    expect(sent).toEqual([]);
  });

  it('delays a message to a stranger while WhatsApp limits the account', async () => {
    const { sender, reply, sent, status, row } = await setup();
    Object.assign(status, { limitLeftMs: 60_000, reason: 'Limited.' });
    await sender.send(reply);
    expect(sent).toEqual([]);
    expect(row()).toMatchObject({ state: 'queued', error: 'Limited.' });
  });

  it('waits after a login until the limits are known before it writes to a stranger', async () => {
    const { sender, reply, sent, status, row, askForLimits } = await setup();
    let answer = () => {};
    askForLimits(new Promise((resolve) => (answer = resolve)));
    const sending = sender.send(reply);
    await settle();
    Object.assign(status, { limitLeftMs: 60_000, reason: 'Limited.' });
    answer();
    await sending;
    expect(sent).toEqual([]);
    expect(row()).toMatchObject({ state: 'queued', error: 'Limited.' });
  });

  it('logs the message that it answers, its own ids and the chat with every line', async () => {
    const { sender, reply, log } = await setup([
      new SendUncertainError({ sentence: 'the line broke' }),
      new SendRefusedError({ sentence: 'no' }),
    ]);
    const sending = sender.send(reply);
    await settle();
    log.lines.forEach(({ fields }) => {
      expect(fields).toMatchObject({ messageId: '77', outboxId: reply.outboxId, waMessageId: 'WA1' });
      expect(fields.chat).toMatch(/^[0-9a-f]{8}$/);
    });
    expect(log.lines).toHaveLength(1);
    void sending;
  });
});
