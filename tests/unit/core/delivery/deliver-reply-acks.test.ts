import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ReplyDelivery } from '../../../../router/src/core/delivery/deliver-reply.ts';
import type { AccountStatus } from '../../../../router/src/core/ports/chat-provider.ts';
import type { OutboxRow } from '../../../../router/src/core/ports/outbox.ts';
import { MemoryDeadLetters } from '../../../doubles/memory-dead-letters.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const ACK_TIMEOUT_MS = 30_000;
const known = '5493777000001';
const stranger = '5493777000002';

let nowMs: number;
let state: MemoryState;
let outbox: MemoryOutbox;
let status: Partial<AccountStatus>;
let sent: string[];
let delivery: ReplyDelivery;

beforeEach(async () => {
  nowMs = Date.UTC(2026, 0, 1);
  state = new MemoryState(() => nowMs);
  outbox = new MemoryOutbox(state);
  status = { state: 'open', isConnected: true };
  sent = [];
  delivery = new ReplyDelivery({
    outbox,
    log: recordingLog(),
    clock: new FakeClock(),
    ackTimeoutMs: ACK_TIMEOUT_MS,
    provider: {
      accountId: 'default',
      untilLimitsKnown: () => undefined,
      status: () => ({ accountId: 'default', state: 'open', nextAction: '', sinceMs: 0, ...status }),
      send: async ({ waMessageId }) => {
        sent.push(waMessageId);
      },
      upload: async () => Promise.reject(new Error('nothing is to be uploaded')),
    },
  });
  await new MemoryInbox(state).add(
    {
      accountId: 'default',
      waMessageId: 'IN1',
      chat: { kind: 'person', phone: known },
      sender: { phone: known },
      kind: 'text',
      text: 'hola',
      sentAtMs: nowMs,
      stanzaOrder: 1n,
    },
    'n1',
  );
});

/** Queues a message and starts its delivery. */
async function send(phone: string, waMessageId: string): Promise<string> {
  const message = { accountId: 'default', to: `${phone}@s.whatsapp.net`, waMessageId, text: 'hello' };
  const { row } = await outbox.addDirect(message);
  delivery.deliver([{ outboxId: row.id, chatId: row.chatId, message }]);
  await delivery.idle();
  return row.id;
}

const row = (id: string) => state.outbox.get(id) as OutboxRow;

async function resendAfter(ms: number): Promise<void> {
  nowMs += ms;
  await delivery.resendUnacknowledged();
  await delivery.idle();
}

describe('a message that WhatsApp received and never acknowledged', () => {
  it('is searched once at a time, however long the database takes', async () => {
    await send(known, 'WA1');
    let answer: (rows: []) => void = () => undefined;
    const overdue = vi.spyOn(outbox, 'overdue').mockReturnValueOnce(new Promise((rows) => (answer = rows)));
    const looks = [
      delivery.resendUnacknowledged(),
      delivery.resendUnacknowledged(),
      delivery.resendUnacknowledged(),
    ];
    expect(overdue).toHaveBeenCalledTimes(1);
    answer([]);
    await Promise.all(looks);
    await resendAfter(ACK_TIMEOUT_MS);
    expect(sent).toEqual(['WA1', 'WA1']);
  });

  it('is sent again with the same id after the time limit, and not before', async () => {
    await send(known, 'WA1');
    await resendAfter(ACK_TIMEOUT_MS - 1);
    expect(sent).toEqual(['WA1']);
    await resendAfter(1);
    expect(sent).toEqual(['WA1', 'WA1']);
    await resendAfter(ACK_TIMEOUT_MS - 1);
    expect(sent).toHaveLength(2);
  });

  it('becomes a dead letter after five sends, which a replay sends again with the same id', async () => {
    const id = await send(known, 'WA1');
    for (let n = 0; n < 20; n++) await resendAfter(ACK_TIMEOUT_MS);
    expect(sent).toHaveLength(5);
    expect(row(id).state).toBe('dead');
    expect(state.deadLetters).toMatchObject([{ reason: 'never-acknowledged', attempts: 5 }]);
    const replay = await new MemoryDeadLetters(state).replay(String(state.deadLetters[0]?.id), 'n1');
    if (!('reply' in replay)) throw new Error('the reply is taken up again');
    delivery.deliver([replay.reply]);
    await delivery.idle();
    expect(sent.at(-1)).toBe('WA1');
    expect(row(id)).toMatchObject({ state: 'sent', attempts: 1 });
  });

  it('is not sent while the account is not connected, nor after its ack', async () => {
    await send(known, 'WA1');
    status = { state: 'waiting', isConnected: false };
    await resendAfter(ACK_TIMEOUT_MS * 3);
    expect(sent).toHaveLength(1);
    status = { state: 'open', isConnected: true };
    await outbox.recordReceipts('default', [{ waMessageId: 'WA1', state: 'acked', atMs: nowMs }]);
    await resendAfter(ACK_TIMEOUT_MS);
    expect(sent).toHaveLength(1);
  });
});

describe('an account that WhatsApp limits', () => {
  beforeEach(() => {
    status = { state: 'restricted', isConnected: true, reason: 'Limited (463).', limitLeftMs: 3_600_000 };
  });

  it('delays messages to new contacts until the limit ends, and answers people who wrote', async () => {
    const cold = await send(stranger, 'COLD');
    await send(known, 'WARM');
    expect(sent).toEqual(['WARM']);
    expect(row(cold)).toMatchObject({
      state: 'queued',
      attempts: 0,
      error: 'Limited (463).',
      delayedUntil: new Date(nowMs + 3_600_000),
    });
    delivery.pollQueue();
    await delivery.idle();
    expect(sent).toEqual(['WARM']);

    nowMs += 3_600_000;
    status = { state: 'open', isConnected: true };
    delivery.pollQueue();
    await delivery.idle();
    expect(sent).toEqual(['WARM', 'COLD']);
  });

  it.each([
    ['while connected', () => delivery.limitChanged()],
    ['before the next opening', () => delivery.resume()],
  ])(
    'sends delayed messages as soon as the limit ends %s, whatever the clock says',
    async (_when, notify) => {
      await send(stranger, 'COLD');
      nowMs -= 5 * 3_600_000;
      status = { state: 'open', isConnected: true };
      await notify();
      await delivery.idle();
      expect(sent).toEqual(['COLD']);
    },
  );

  it('keeps messages delayed over a reconnect while the limit applies', async () => {
    await send(stranger, 'COLD');
    nowMs += 5 * 3_600_000;
    await delivery.limitChanged();
    await delivery.resume();
    await delivery.idle();
    expect(sent).toEqual([]);
  });
});
