import { beforeEach, describe, expect, it } from 'vitest';
import { sendMessage } from '../../../../router/src/core/delivery/send-message.ts';
import type { QueuedReply } from '../../../../router/src/core/turns/turn.ts';
import { MemoryOutbox } from '../../../doubles/memory-outbox.ts';
import { MemoryState } from '../../../doubles/memory-state.ts';

const input = { accountId: 'main', to: '5491150000001', text: 'hello' };
let minted = 0;
let delivered: QueuedReply[];
let send: (change?: { text?: string; idempotencyKey?: string }) => ReturnType<typeof sendMessage>;

beforeEach(() => {
  delivered = [];
  const outbox = new MemoryOutbox(new MemoryState());
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
});
