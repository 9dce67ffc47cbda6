import type { OutboxRow, OutboxState } from '../../../core/ports/outbox.ts';
import type { Outbox } from '../generated/client.ts';
import { replyMedia } from './media-columns.ts';

/** A row of the outbox as the API shows it. */
export function outboxRow(row: Outbox): OutboxRow {
  return {
    id: String(row.id),
    accountId: row.accountId,
    chatId: String(row.chatId),
    to: row.toJid,
    waMessageId: row.waMessageId,
    text: row.text,
    media: replyMedia(row.media),
    state: row.state as OutboxState,
    attempts: row.attempts,
    error: row.error ?? undefined,
    queuedAt: row.queuedAt,
    delayedUntil: row.delayedUntil ?? undefined,
    triedAt: row.triedAt ?? undefined,
    sentAt: row.sentAt ?? undefined,
    ackedAt: row.ackedAt ?? undefined,
    deliveredAt: row.deliveredAt ?? undefined,
    readAt: row.readAt ?? undefined,
  };
}
