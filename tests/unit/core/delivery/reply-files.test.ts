import { beforeEach, describe, expect, it } from 'vitest';
import { ReplyDelivery } from '../../../../router/src/core/delivery/deliver-reply.ts';
import {
  SendUncertainError,
  StorageUnavailableError,
  UploadFailedError,
} from '../../../../router/src/core/errors.ts';
import type { OutboxRow } from '../../../../router/src/core/ports/outbox.ts';
import { MemoryInbox } from '../../../doubles/memory-inbox.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { recordingLog } from '../../../support/quiet-log.ts';

const bytes = Buffer.from('a picture');

describe('ReplyFiles', () => {
  let clock: FakeClock;
  let state: MemoryState;
  let outbox: MemoryOutbox;
  let delivery: ReplyDelivery;
  let uploads: number;
  let sent: Array<{ waMessageId: string; content: string | undefined }>;
  let upload: () => Promise<Uint8Array>;
  let failSend: Error | undefined;

  beforeEach(() => {
    clock = new FakeClock(Date.UTC(2026, 0, 1));
    state = new MemoryState(() => clock.now());
    outbox = new MemoryOutbox(state);
    uploads = 0;
    sent = [];
    failSend = undefined;
    upload = async () => Buffer.from(`uploaded ${uploads}`);
    delivery = new ReplyDelivery({
      outbox,
      clock,
      log: recordingLog(),
      provider: {
        accountId: 'default',
        untilLimitsKnown: () => undefined,
        status: () => ({ accountId: 'default', state: 'open', nextAction: '', sinceMs: 0 }),
        upload: async () => {
          uploads += 1;
          return upload();
        },
        send: async ({ waMessageId }, content) => {
          if (failSend) throw failSend;
          sent.push({ waMessageId, content: content && Buffer.from(content).toString() });
        },
      },
    });
  });

  async function reply(): Promise<string> {
    const inbox = new MemoryInbox(state);
    const phone = '5493777000001';
    const stored = await inbox.add(
      {
        accountId: 'default',
        waMessageId: 'IN1',
        chat: { kind: 'person', phone },
        sender: { phone },
        kind: 'text',
        text: 'draw',
        sentAtMs: clock.now(),
        stanzaOrder: 1n,
      },
      'n1',
    );
    const address = { accountId: 'default', to: `${phone}@s.whatsapp.net` };
    const { replies: rows } = await inbox.finishTurn(stored.messageId, {
      state: 'answered',
      replies: [
        {
          ...address,
          waMessageId: 'WA1',
          text: 'look',
          media: { kind: 'image', mimeType: 'image/png', sizeBytes: 9 },
          file: bytes,
        },
        { ...address, waMessageId: 'WA2', text: 'after it' },
      ],
    });
    delivery.deliver(rows);
    await delivery.idle();
    return rows[0]?.outboxId ?? '';
  }
  const row = (id: string) => state.outbox.get(id) as OutboxRow;
  async function look(afterMs: number) {
    await clock.advanceMs(afterMs);
    delivery.pollQueue();
    await delivery.idle();
  }

  it('uploads a file once and sends the stored upload, before later replies of the chat', async () => {
    await reply();
    expect(sent).toEqual([
      { waMessageId: 'WA1', content: 'uploaded 1' },
      { waMessageId: 'WA2', content: undefined },
    ]);
  });

  it('sends the same upload again after an uncertain send', async () => {
    failSend = new SendUncertainError({ sentence: 'The line broke.' });
    const replied = reply();
    await clock.untilSleeping();
    failSend = undefined;
    await clock.advanceMs(2_000);
    await replied;
    expect(uploads).toBe(1);
    expect(sent).toContainEqual({ waMessageId: 'WA1', content: 'uploaded 1' });
  });

  it('sends no later reply while the database does not store that an upload failed', async () => {
    upload = () => Promise.reject(new UploadFailedError({ sentence: 'no media server' }));
    const { release } = outbox;
    outbox.release = () => Promise.reject(new StorageUnavailableError({ sentence: 'away' }));
    const replied = reply();
    await clock.untilSleeping();
    outbox.release = release;
    await clock.advanceMs(1_000);
    await replied;
    expect(sent).toEqual([]);
    upload = async () => Buffer.from('uploaded at last');
    await look(2_000);
    expect(sent.map(({ waMessageId }) => waMessageId)).toEqual(['WA1', 'WA2']);
  });

  it('waits longer after each failed upload, and delays its chat meanwhile', async () => {
    let failures = 2;
    upload = async () => {
      failures -= 1;
      if (failures >= 0) throw new UploadFailedError({ sentence: 'The host is down.' });
      return Buffer.from('at last');
    };
    const id = await reply();
    expect(row(id)).toMatchObject({ state: 'queued', error: 'The host is down.' });
    await look(1_999);
    expect(uploads).toBe(1);
    await look(1);
    expect(uploads).toBe(2);
    await look(3_999);
    expect([uploads, sent]).toEqual([2, []]);
    await look(1);
    expect(sent.map(({ waMessageId }) => waMessageId)).toEqual(['WA1', 'WA2']);
  });

  it('gives up after five uploads with a dead letter, and continues with the chat', async () => {
    upload = async () => {
      throw new UploadFailedError({ sentence: 'The host is down.' });
    };
    const id = await reply();
    for (let tries = 0; tries < 6; tries++) await look(60_000);
    expect(uploads).toBe(5);
    expect(row(id)).toMatchObject({ state: 'dead', error: 'The host is down. There were 5 attempts.' });
    expect(state.deadLetters).toMatchObject([{ reason: 'send-failed', outboxId: id }]);
    expect(sent.map(({ waMessageId }) => waMessageId)).toEqual(['WA2']);
  });
});
