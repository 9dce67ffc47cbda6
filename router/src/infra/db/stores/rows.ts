import sql from 'sql-template-tag';
import type { SpecialMessage } from '../../../core/delivery/special-message.ts';
import type { Quote, ReplyMedia } from '../../../core/models.ts';
import type { QueuedReply } from '../../../core/turns/turn.ts';

/** The columns of a row that becomes a `T`: what `T` may lack is NULL. */
export type Columns<T> = {
  [Key in keyof T]-?: undefined extends T[Key] ? Exclude<T[Key], undefined> | null : T[Key];
};

type Present<Row> = { [Key in keyof Row as null extends Row[Key] ? never : Key]: Row[Key] } & {
  [Key in keyof Row as null extends Row[Key] ? Key : never]?: Exclude<Row[Key], null>;
};

/** A row whose NULL columns are `undefined`, as everything absent is outside the database. */
export function withoutNulls<Row extends object>(row: Row): Present<Row> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, value ?? undefined]),
  ) as Present<Row>;
}

/** Columns of `outbox o` as an OutboxRow has them, without its texts, which may be long and damaged. */
export const OUTBOX_COLUMNS = sql`
    o.id::text, o.account_id AS "accountId", o.chat_id::text AS "chatId", o.to_jid AS "to",
    o.wa_message_id AS "waMessageId", o.media, o.timer_seconds AS "timerSeconds", o.state, o.attempts, o.queued_at AS "queuedAt",
    o.delayed_until AS "delayedUntil", o.attempted_at AS "attemptedAt", o.sent_at AS "sentAt", o.acked_at AS "ackedAt",
    o.delivered_at AS "deliveredAt", o.read_at AS "readAt"`;

/** Columns of `outbox` as `queuedReply` takes them. */
export const REPLY_COLUMNS = sql`
    outbox.id::text AS outbox_id, message_id::text, chat_id::text, account_id, to_jid, wa_message_id, text, media, quote,
    special, mentions, timer_seconds, suspicion`;

export interface ReplyRow {
  outbox_id: string;
  message_id: string | null;
  chat_id: string;
  account_id: string;
  to_jid: string;
  wa_message_id: string;
  text: string;
  media: ReplyMedia | null;
  /** Absent in rows of calls that store none. */
  quote?: Quote | null;
  special?: SpecialMessage | null;
  mentions?: string[] | null;
  timer_seconds: number | null;
  suspicion?: number;
}

/** An outbox row as the delivery takes it. */
export function queuedReply(row: ReplyRow): QueuedReply {
  return {
    outboxId: row.outbox_id,
    chatId: row.chat_id,
    ...(row.message_id !== null && { messageId: row.message_id }),
    ...(row.suspicion && { suspicion: row.suspicion }),
    message: {
      accountId: row.account_id,
      to: row.to_jid,
      waMessageId: row.wa_message_id,
      text: row.text,
      ...(row.media && { media: row.media }),
      ...(row.quote && { quote: row.quote }),
      ...(row.special && { special: row.special }),
      ...(row.mentions && { mentions: row.mentions }),
      ...(row.timer_seconds !== null && { timerSeconds: row.timer_seconds }),
    },
  };
}
