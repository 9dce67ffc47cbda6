import { describe, expect, it } from 'vitest';
import { ReplyDelivery } from '../../../../router/src/core/delivery/deliver-reply.ts';
import { SendRateLimiter } from '../../../../router/src/core/delivery/limit-send-rate.ts';
import {
  NotConnectedError,
  SendRefusedError,
  SendUncertainError,
  StorageUnavailableError,
} from '../../../../router/src/core/errors.ts';
import type { AccountState, OutgoingMessage } from '../../../../router/src/core/models.ts';
import { governorOf } from '../../../../router/src/core/policies/governor.ts';
import { Suspects } from '../../../../router/src/core/suspects.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

function reply(id: number, chatId = 'a'): QueuedReply {
  const message = { accountId: 'default', to: `${chatId}@lid`, waMessageId: `WA${id}`, text: `reply ${id}` };
  return { outboxId: String(id), chatId, message };
}

/** The outbox in memory, with what the tests put into it and look up in it. */
class Rows extends MemoryOutbox {
  readonly rows: MemoryState['outbox'];
  reads = 0;

  constructor(state: MemoryState) {
    super(state);
    this.rows = state.outbox;
  }

  put(...replies: QueuedReply[]): QueuedReply[] {
    for (const { outboxId: id, chatId, message } of replies)
      this.rows.set(id, { ...message, id, chatId, state: 'queued', attempts: 0, queuedAt: new Date(0) });
    return replies;
  }

  state(id: number): string | undefined {
    return this.rows.get(String(id))?.state;
  }

  tries(id: number): number | undefined {
    return this.rows.get(String(id))?.attempts;
  }

  acked(id: number): void {
    Object.assign(this.rows.get(String(id)) ?? {}, { state: 'acked' });
  }

  override undelivered(...page: Parameters<MemoryOutbox['undelivered']>): Promise<QueuedReply[]> {
    this.reads++;
    return super.undelivered(...page);
  }
}

function setup(
  send: (message: OutgoingMessage) => Promise<void> = async () => undefined,
  clock = new FakeClock(),
  sendRate?: SendRateLimiter,
  rows = new Rows(new MemoryState()),
) {
  const sent: string[] = [];
  const connection: { state: AccountState; limitLeftMs?: number } = { state: 'open' };
  const lease = { isHeld: true };
  const provider = {
    accountId: 'default',
    untilLimitsKnown: () => undefined,
    status: () => ({ accountId: 'default', ...connection, nextAction: '', sinceMs: 0 }),
    send: async (message: OutgoingMessage) => {
      await send(message);
      sent.push(message.waMessageId);
    },
    upload: async () => Promise.reject(new Error('nothing is to be uploaded')),
  };
  const delivery = new ReplyDelivery({
    outbox: rows,
    provider,
    fence: {
      accountId: 'default',
      owner: 'node-1',
      epoch: 1n,
      isHeld: () => lease.isHeld,
    },
    log: recordingLog(),
    suspects: new Suspects({ clock, log: recordingLog() }),
    clock,
    sendRate,
  });
  return { rows, sent, connection, lease, delivery };
}

describe('ReplyDelivery', () => {
  it('sends a reply alone that ended two processes, gives it up after three, and sends all others', async () => {
    const clock = new FakeClock();
    const tries: string[] = [];
    const send = async ({ waMessageId }: OutgoingMessage) => {
      tries.push(waMessageId);
      if (waMessageId === 'WA2') await new Promise(() => undefined);
    };
    let { delivery, rows } = setup(send, clock);
    delivery.deliver(rows.put(reply(1, 'a'), reply(2, 'b'), reply(3, 'c'), reply(4, 'b')));
    await clock.advanceMs(300);
    for (const _ of ['second', 'third']) {
      rows.countEnd('default');
      ({ delivery } = setup(send, clock, undefined, rows));
      void delivery.resume();
      await clock.advanceMs(300);
    }
    expect(tries.filter((id) => id === 'WA2')).toHaveLength(2);
    await clock.advanceMs(14_690);
    expect(tries.filter((id) => id === 'WA2')).toHaveLength(2);
    await clock.advanceMs(10_000);
    expect(tries.filter((id) => id === 'WA2')).toHaveLength(3);
    expect(tries).not.toContain('WA4');
    rows.countEnd('default');
    ({ delivery } = setup(send, clock, undefined, rows));
    void delivery.resume();
    await clock.advanceMs(1);
    await clock.advanceMs(1_000);
    expect(tries.filter((id) => id === 'WA2')).toHaveLength(3);
    expect([1, 2, 3, 4].map((id) => rows.state(id))).toEqual(['sent', 'dead', 'sent', 'sent']);
  });

  it('sends at the rate of the account; when it is released, what waits stays for the next process', async () => {
    const clock = new FakeClock();
    const sendRate = new SendRateLimiter({
      settings: async () => governorOf({ messages: { perSecond: 1, burst: 2 } }),
      setTyping: async () => undefined,
      clock,
      random: () => 0,
    });
    const { rows, sent, delivery } = setup(undefined, clock, sendRate);
    expect(delivery.openSlot('b')?.close()).toBeUndefined();
    delivery.deliver(rows.put(reply(1), reply(2), reply(3), reply(4)));
    await settle();
    expect(sent).toEqual(['WA1', 'WA2']);
    expect(delivery.openSlot('b')).toBeUndefined();
    await clock.advanceMs(1_000);
    expect(sent).toEqual(['WA1', 'WA2', 'WA3']);
    const finished = delivery.finish();
    await clock.advanceMs(1_000);
    await finished;
    expect(sent).toEqual(['WA1', 'WA2', 'WA3']);
    expect(rows.state(4)).toBe('queued');
  });

  it('sends the replies of one chat in order and marks each', async () => {
    const { rows, sent, delivery } = setup();
    delivery.deliver(rows.put(reply(1), reply(2), reply(3)));
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA2', 'WA3']);
    expect([1, 2, 3].map((id) => rows.state(id))).toEqual(['sent', 'sent', 'sent']);
  });

  it('says of a reply whether it was sent now', async () => {
    const { rows, delivery, connection } = setup(async ({ waMessageId }) => {
      if (waMessageId === 'WA2') throw new SendRefusedError({ sentence: 'nobody is there' });
    });
    const [first, second, third] = rows.put(reply(1), reply(2), reply(3)) as [
      QueuedReply,
      QueuedReply,
      QueuedReply,
    ];
    expect(await delivery.deliverNow(first)).toBe(true);
    expect(await delivery.deliverNow(second)).toBe(false);
    connection.state = 'connecting';
    expect(await delivery.deliverNow(third)).toBe(false);
    await delivery.idle();
    expect([1, 2, 3].map((id) => rows.state(id))).toEqual(['sent', 'dead', 'queued']);
  });

  it('sends an interim edit at once or never, and nothing while other replies of the chat are sent', async () => {
    const { rows, sent, connection, delivery, lease } = setup();
    const edit = (waMessageId: string) =>
      delivery.sendUnstored('a', { ...reply(1).message, waMessageId, text: 'more' });
    await edit('E1');
    delivery.deliver(rows.put(reply(1)));
    await edit('E2');
    await delivery.idle();
    lease.isHeld = false;
    await edit('E3');
    lease.isHeld = true;
    connection.state = 'connecting';
    await edit('E4');
    expect(sent).toEqual(['E1', 'WA1']);
  });

  it('survives an interim edit that WhatsApp does not take', async () => {
    const { delivery } = setup(async () =>
      Promise.reject(new SendUncertainError({ sentence: 'the connection broke' })),
    );
    await expect(delivery.sendUnstored('a', reply(1).message)).resolves.toBeUndefined();
  });

  it('sends a reply that was stored as sending without marking it again', async () => {
    const { rows, sent, delivery } = setup();
    const slot = delivery.openSlot('a');
    const [stored] = rows.put(reply(1));
    delivery.deliver([{ ...(stored as QueuedReply), isSending: true }], slot);
    await delivery.idle();
    expect(sent).toEqual(['WA1']);
    expect(rows.tries(1)).toBe(0);
  });

  it('asks the outbox about such a reply when the connection opened again meanwhile', async () => {
    const { rows, sent, delivery } = setup();
    const slot = delivery.openSlot('a');
    const [stored] = rows.put(reply(1));
    const resumed = delivery.resume();
    delivery.deliver([{ ...(stored as QueuedReply), isSending: true }], slot);
    await resumed;
    await delivery.idle();
    expect(sent).toEqual(['WA1']);
    expect(rows.tries(1)).toBe(1);
  });

  it('sends no other reply of a chat before the one that is being stored as sending', async () => {
    const { rows, sent, delivery } = setup();
    const slot = delivery.openSlot('a');
    const [stored] = rows.put({ ...reply(1), isSending: true });
    Object.assign(rows.rows.get('1') ?? {}, { state: 'sending' });
    rows.put(reply(2));
    delivery.pollQueue();
    delivery.deliver(rows.put(reply(3, 'b')));
    await settle();
    expect(sent).toEqual(['WA3']);
    delivery.deliver([stored as QueuedReply], slot);
    await delivery.idle();
    expect(sent).toEqual(['WA3', 'WA1', 'WA2']);
  });

  it('sends the replies of a turn once when they are read from the outbox before the turn delivers them', async () => {
    const { rows, sent, delivery } = setup();
    const slot = delivery.openSlot('a');
    const stored = rows.put({ ...reply(1), isSending: true }, reply(2));
    Object.assign(rows.rows.get('1') ?? {}, { state: 'sending' });
    delivery.pollQueue();
    await settle();
    delivery.deliver(stored, slot);
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA2']);
  });

  it('sends the replies behind a slot when it is closed', async () => {
    const { rows, sent, delivery } = setup();
    const slot = delivery.openSlot('a');
    delivery.deliver(rows.put(reply(1)));
    await settle();
    expect(sent).toEqual([]);
    slot?.close();
    await delivery.idle();
    expect(sent).toEqual(['WA1']);
  });

  it('reads the outbox of a new connection only after the rows that are being stored as sending', async () => {
    const { rows, sent, delivery } = setup();
    const slot = delivery.openSlot('a');
    rows.put(reply(2));
    const resumed = delivery.resume();
    await settle();
    expect(rows.reads).toBe(0);
    rows.rows.delete('2');
    const [stored] = rows.put(reply(1), reply(2));
    delivery.deliver([{ ...(stored as QueuedReply), isSending: true }], slot);
    await resumed;
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA2']);
  });

  it('leaves the replies behind an open slot to the next process when it finishes', async () => {
    const { rows, sent, delivery } = setup();
    delivery.openSlot('a');
    delivery.deliver(rows.put(reply(1), reply(2, 'b')));
    await delivery.finish();
    expect(sent).toEqual(['WA2']);
  });

  it('has no slot for a chat with older replies, nor while it is not connected, limited, ending or has no lease', async () => {
    let release!: () => void;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { rows, connection, lease, delivery } = setup(() => slow);
    delivery.deliver(rows.put(reply(1, 'a')));
    expect(delivery.openSlot('a')).toBeUndefined();
    const slot = delivery.openSlot('b');
    expect(slot).toMatchObject({ lease: { accountId: 'default', epoch: 1n } });
    expect(delivery.openSlot('b')).toBeUndefined();
    slot?.close();
    await settle();
    delivery.openSlot('b')?.close();
    await settle();
    connection.state = 'waiting';
    expect(delivery.openSlot('b')).toBeUndefined();
    connection.state = 'open';
    connection.limitLeftMs = 1_000;
    expect(delivery.openSlot('b')).toBeUndefined();
    connection.limitLeftMs = undefined;
    lease.isHeld = false;
    expect(delivery.openSlot('b')).toBeUndefined();
    lease.isHeld = true;
    release();
    await delivery.finish();
    expect(delivery.openSlot('b')).toBeUndefined();
  });

  it('delays no chat behind a slow one', async () => {
    let release!: () => void;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { rows, sent, delivery } = setup((message) =>
      message.waMessageId === 'WA1' ? slow : Promise.resolve(),
    );
    delivery.deliver(rows.put(reply(1, 'a'), reply(2, 'a'), reply(3, 'b')));
    await settle();
    expect(sent).toEqual(['WA3']);
    release();
    await delivery.idle();
    expect(sent).toEqual(['WA3', 'WA1', 'WA2']);
  });

  it('leaves replies in the outbox while the account is not connected, and sends them when it is', async () => {
    const { rows, sent, connection, delivery } = setup();
    connection.state = 'waiting';
    delivery.deliver(rows.put(reply(1), reply(2)));
    await delivery.idle();
    expect(sent).toEqual([]);
    connection.state = 'open';
    await delivery.resume();
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA2']);
  });

  it('keeps the order when the connection opens again between two pages of stored replies', async () => {
    let release!: () => void;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { rows, sent, delivery } = setup((message) =>
      message.waMessageId === 'WA1' ? slow : Promise.resolve(),
    );
    const ids = Array.from({ length: 250 }, (_, index) => index + 1);
    rows.put(...ids.map((id) => reply(id)));
    // All were written to a socket before and none was acknowledged.
    for (const id of ids) await rows.markSending(String(id));
    const resumed = delivery.resume();
    await settle();
    void delivery.resume();
    release();
    await resumed;
    await delivery.idle();
    // The first one was on its way when the connection ended, so it is sent with its id once more.
    expect([...new Set(sent)]).toEqual(ids.map((id) => `WA${id}`));
  });

  it('sends an unacknowledged reply again with the same id after a disconnect, before newer ones', async () => {
    const { rows, sent, delivery } = setup();
    rows.put(reply(1));
    await rows.markSending('1');
    rows.put(reply(2));
    await rows.markSent('2');
    const resumed = delivery.resume();
    delivery.deliver(rows.put(reply(3)));
    await resumed;
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA2', 'WA3']);
  });

  it('sends no reply that was acknowledged meanwhile', async () => {
    const { rows, sent, delivery } = setup();
    const [first] = rows.put(reply(1));
    const row = rows.rows.get('1');
    if (row) row.state = 'acked';
    delivery.deliver([first as QueuedReply]);
    await delivery.idle();
    expect(sent).toEqual([]);
  });

  it.each([
    ['queued again when nothing was sent', new NotConnectedError('default'), 'queued'],
    ['dead when WhatsApp will never take it', new SendRefusedError({ sentence: 'no such chat' }), 'dead'],
    [
      'still sending when it may have gone out',
      new SendUncertainError({ sentence: 'socket closed' }),
      'sending',
    ],
  ])('leaves a row %s', async (_name, error, state) => {
    const { rows, delivery } = setup(() => Promise.reject(error));
    delivery.deliver(rows.put(reply(1)));
    await settle();
    expect(rows.state(1)).toBe(state);
  });

  it('sends an uncertain reply again before the next one of its chat while connected', async () => {
    const clock = new FakeClock();
    let failures = 2;
    const { rows, sent, delivery } = setup(async ({ waMessageId }) => {
      if (waMessageId !== 'WA1' || failures === 0) return;
      failures -= 1;
      throw new SendUncertainError({ sentence: 'WhatsApp did not say who is in the group' });
    }, clock);
    delivery.deliver(rows.put(reply(1), reply(2), reply(3, 'b')));
    await clock.advanceMs(1_000);
    expect(sent).toEqual(['WA3']);
    await clock.advanceMs(20_000);
    expect(sent).toEqual(['WA3', 'WA1', 'WA2']);
  });

  it('sends no acknowledged reply again, and delays no chat behind one that cannot be sent', async () => {
    const clock = new FakeClock();
    const { rows, sent, delivery } = setup(async ({ waMessageId }) => {
      if (!['WA2', 'WA4'].includes(waMessageId)) throw new SendUncertainError({ sentence: 'who knows' });
    }, clock);
    delivery.deliver(rows.put(reply(1, 'a'), reply(2, 'a'), reply(3, 'b'), reply(4, 'b')));
    await clock.advanceMs(1_000);
    rows.acked(1);
    await clock.advanceMs(20_000);
    expect(sent).toEqual(['WA2', 'WA4']);
    expect([1, 3].map((id) => rows.tries(id))).toEqual([1, 3]);
  });

  it('sends no later reply of a chat before the database confirms the state of the earlier one', async () => {
    const clock = new FakeClock();
    const { rows, sent, delivery } = setup(undefined, clock);
    const markSending = rows.markSending.bind(rows);
    let failures = 2;
    rows.markSending = async (id) => {
      const isMarked = await markSending(id);
      if (id !== '1' || failures === 0) return isMarked;
      failures -= 1;
      throw new StorageUnavailableError({ sentence: 'noting it' });
    };
    delivery.deliver(rows.put(reply(1), reply(2), reply(3, 'b')));
    await clock.advanceMs(1_500);
    expect([sent, rows.state(1), rows.state(2)]).toEqual([['WA3'], 'sending', 'queued']);
    await clock.advanceMs(5_000);
    expect(sent).toEqual(['WA3', 'WA1', 'WA2']);
  });

  it('waits for the database only while the account is connected', async () => {
    const clock = new FakeClock();
    const { rows, sent, connection, delivery } = setup(undefined, clock);
    const { markSending } = rows;
    rows.markSending = () => Promise.reject(new StorageUnavailableError({ sentence: 'noting it' }));
    delivery.deliver(rows.put(reply(1), reply(2)));
    await clock.advanceMs(30_000);
    connection.state = 'waiting';
    await clock.advanceMs(2_000);
    await delivery.idle();
    rows.markSending = markSending.bind(rows);
    connection.state = 'open';
    await delivery.resume();
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA2']);
  });

  it('releases an account without waiting to repeat an uncertain reply', async () => {
    const { rows, delivery } = setup(
      () => Promise.reject(new SendUncertainError({ sentence: 'who knows' })),
      new FakeClock(),
    );
    delivery.deliver(rows.put(reply(1)));
    await settle();
    await delivery.finish();
    expect([rows.state(1), rows.tries(1)]).toEqual(['sending', 1]);
  });

  it('marks a send only when its ack is late, because the ack marks it too', async () => {
    const clock = new FakeClock();
    const { rows, delivery } = setup(undefined, clock);
    delivery.deliver(rows.put(reply(1, 'a'), reply(2, 'b')));
    await settle();
    delivery.acknowledged(['WA1']);
    await clock.advanceMs(1_000);
    expect([rows.state(1), rows.state(2)]).toEqual(['sending', 'sent']);
  });

  it('marks each send before it is idle', async () => {
    const { rows, delivery } = setup(undefined, new FakeClock());
    delivery.deliver(rows.put(reply(1)));
    await delivery.idle();
    expect(rows.state(1)).toBe('sent');
  });

  it('finishes the replies that it started and leaves later ones to the next owner', async () => {
    let release!: () => void;
    const slow = new Promise<void>((resolve) => {
      release = resolve;
    });
    const { rows, sent, delivery } = setup(() => slow);
    delivery.deliver(rows.put(reply(1), reply(2)));
    const finished = delivery.finish();
    delivery.deliver(rows.put(reply(3), reply(4, 'other')));
    rows.put(reply(5, 'third'));
    delivery.pollQueue();
    await delivery.resume();
    release();
    await finished;
    expect(sent).toEqual(['WA1', 'WA2']);
    expect([3, 4, 5].map((id) => rows.state(id))).toEqual(['queued', 'queued', 'queued']);
  });

  it('misses no call to poll, even at the end of the previous poll', async () => {
    for (let steps = 0; steps < 12; steps++) {
      const { rows, sent, delivery } = setup();
      const queued = rows.queued.bind(rows);
      let isFirst = true;
      rows.queued = async (...args) => {
        const found = await queued(...args);
        if (isFirst) {
          isFirst = false;
          void after(steps).then(() => {
            rows.put(reply(1));
            delivery.pollQueue();
          });
        }
        return found;
      };
      delivery.pollQueue();
      await settle();
      expect(sent, `${steps} steps later`).toEqual(['WA1']);
    }
  });

  it('reads a large backlog page by page', async () => {
    const { rows, sent, delivery } = setup();
    rows.put(...Array.from({ length: 450 }, (_, index) => reply(index + 1, `chat${index % 7}`)));
    await delivery.resume();
    await delivery.idle();
    expect(sent).toHaveLength(450);
    expect(new Set(sent).size).toBe(450);
    expect(rows.reads).toBe(3);
  });

  it('sends no newer reply before the stored ones when the database does not respond at connect', async () => {
    const clock = new FakeClock();
    const { rows, sent, delivery } = setup(undefined, clock);
    rows.put(reply(1));
    await rows.markSending('1');
    const undelivered = rows.undelivered.bind(rows);
    rows.undelivered = async () => {
      rows.undelivered = undelivered;
      throw new StorageUnavailableError({ sentence: 'The database does not answer.' });
    };
    const resumed = delivery.resume();
    delivery.deliver(rows.put(reply(2)));
    await clock.untilSleeping();
    await clock.advanceMs(1_000);
    await resumed;
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA2']);
  });

  it('sends rows polled on the previous connection after the replies lost with it', async () => {
    const { rows, sent, delivery } = setup();
    let answerPoll: () => void = () => undefined;
    let answerResume: () => void = () => undefined;
    const queued = rows.queued.bind(rows);
    const undelivered = rows.undelivered.bind(rows);
    delivery.deliver(rows.put(reply(1)));
    await settle();
    rows.put(reply(2));
    rows.queued = async (...page) => {
      rows.queued = queued;
      const found = await queued(...page);
      await new Promise<void>((resolve) => {
        answerPoll = resolve;
      });
      return found;
    };
    rows.undelivered = async (...page) => {
      await new Promise<void>((resolve) => {
        answerResume = resolve;
      });
      return undelivered(...page);
    };
    delivery.pollQueue();
    await settle();
    // The connection broke with the first reply on its way, and is open again.
    const resumed = delivery.resume();
    await settle();
    answerPoll();
    await settle();
    answerResume();
    await resumed;
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA1', 'WA2']);
  });

  it('sends a reply that waited for the database after the replies lost with the previous connection', async () => {
    const clock = new FakeClock();
    const { rows, sent, delivery } = setup(undefined, clock);
    const markSending = rows.markSending.bind(rows);
    rows.markSending = async (id) => {
      if (id !== '2') return markSending(id);
      rows.markSending = markSending;
      throw new StorageUnavailableError({ sentence: 'The database does not answer.' });
    };
    delivery.deliver(rows.put(reply(1), reply(2)));
    await settle();
    expect(sent).toEqual(['WA1']);
    // The connection broke with the first reply on its way, and is open again.
    const resumed = delivery.resume();
    await settle();
    await clock.advanceMs(1_000);
    await resumed;
    await delivery.idle();
    expect(sent).toEqual(['WA1', 'WA1', 'WA2']);
  });
});

/** Resolves after this number of microtasks. */
async function after(steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) await Promise.resolve();
}
