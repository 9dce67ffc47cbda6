import { beforeEach, describe, expect, it } from 'vitest';
import {
  type FileToSend,
  type SendMessageInput,
  sendMessage,
} from '../../../../router/src/core/delivery/send-message.ts';
import { FileRefusedError } from '../../../../router/src/core/errors.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';

const input = { accountId: 'main', to: '5491150000001', text: 'hello' };
let minted = 0;
let delivered: QueuedReply[];
let outbox: MemoryOutbox;
let send: (change?: Partial<SendMessageInput>) => ReturnType<typeof sendMessage>;

beforeEach(() => {
  delivered = [];
  outbox = new MemoryOutbox(new MemoryState());
  const deps = {
    outbox,
    mintId: () => `WA${++minted}`,
    deliver: (reply: QueuedReply) => delivered.push(reply),
  };
  send = (change) => sendMessage(deps, { ...input, ...change });
});

describe('sendMessage', () => {
  it('stores a message for the JID of the chat and starts its delivery', async () => {
    const { outcome, row } = await send();
    expect(outcome).toBe('queued');
    const to = '5491150000001@s.whatsapp.net';
    const message = { accountId: 'main', to, waMessageId: row.waMessageId, text: 'hello' };
    expect(delivered).toEqual([{ outboxId: row.id, chatId: row.chatId, message }]);
  });

  it('returns the first row for a repeated idempotency key, and delivers nothing', async () => {
    const first = await send({ idempotencyKey: 'k' });
    expect(await send({ idempotencyKey: 'k' })).toEqual({ outcome: 'known', row: first.row });
    expect(delivered).toHaveLength(1);
  });

  it('reports a conflict when the key belongs to another text, and delivers nothing', async () => {
    await send({ idempotencyKey: 'k' });
    expect(await send({ idempotencyKey: 'k', text: 'other' })).toMatchObject({ outcome: 'conflict' });
    expect(delivered).toHaveLength(1);
  });

  describe('with a file', () => {
    const bytes = Buffer.from('file');
    let loads = 0;
    const file = (source = 'image 1'): FileToSend => ({
      kind: 'image',
      source,
      load: async () => {
        loads += 1;
        return { kind: 'image', mimeType: 'image/png', bytes };
      },
    });

    it('stores the bytes before it starts the delivery', async () => {
      const { row } = await send({ file: file() });
      const media = { kind: 'image', mimeType: 'image/png', sizeBytes: 4 };
      expect(delivered).toMatchObject([{ outboxId: row.id, message: { media, text: 'hello' } }]);
      expect(await outbox.fileOf(row.id)).toEqual({ bytes });
    });

    it('neither loads nor sends the file of a repeat', async () => {
      const first = await send({ file: file(), idempotencyKey: 'k' });
      loads = 0;
      expect(await send({ file: file(), idempotencyKey: 'k' })).toEqual({ outcome: 'known', row: first.row });
      expect(await send({ file: file('image 2'), idempotencyKey: 'k' })).toMatchObject({
        outcome: 'conflict',
      });
      expect(await send({ idempotencyKey: 'k' })).toMatchObject({ outcome: 'conflict' });
      expect(loads).toBe(0);
      expect(delivered).toHaveLength(1);
    });

    it('stores nothing when the file cannot be loaded', async () => {
      const load = () => Promise.reject(new FileRefusedError({ sentence: 'too large' }));
      await expect(send({ file: { ...file(), load }, idempotencyKey: 'k' })).rejects.toThrow('too large');
      expect(await outbox.hasDirect('main', 'k')).toBe(false);
    });
  });
});
