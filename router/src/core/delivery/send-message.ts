import { jidOfChannelId } from '../chat-id.ts';
import type { Outbox, OutboxRow } from '../ports/outbox.ts';
import type { QueuedReply } from '../turns/turn.ts';

export interface SendMessageDeps {
  outbox: Outbox;
  mintId(): string;
  deliver(reply: QueuedReply): void;
}

/** A message an admin sends: `to` is a canonical channelId other than `*`. */
export interface SendMessageInput {
  accountId: string;
  to: string;
  text: string;
  /** Makes a repeat harmless: the same key returns the first row. */
  idempotencyKey?: string;
}

/**
 * Stores a message of an admin and starts its delivery.
 * @returns `known` for a repeat, `conflict` when the key was used for another chat or text; nothing is sent then
 * @throws {StorageUnavailableError} nothing was stored
 */
export async function sendMessage(
  deps: SendMessageDeps,
  input: SendMessageInput,
): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }> {
  const message = {
    accountId: input.accountId,
    to: jidOfChannelId(input.to) ?? input.to,
    waMessageId: deps.mintId(),
    text: input.text,
  };
  const stored = await deps.outbox.addDirect(message, input.idempotencyKey);
  if (stored.outcome === 'queued') {
    const { id, chatId, accountId, to, waMessageId, text } = stored.row;
    deps.deliver({ outboxId: id, chatId, message: { accountId, to, waMessageId, text } });
  }
  return stored;
}
