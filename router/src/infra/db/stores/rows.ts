import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import sql from 'sql-template-tag';
import type { SpecialMessage } from '../../../core/delivery/special-message.ts';
import { isRetryable } from '../../../core/errors.ts';
import type { Quote, ReplyMedia } from '../../../core/models.ts';
import { cleanText } from '../../../core/text.ts';
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

/** An index entry of PostgreSQL has at most 2,704 bytes; WhatsApp's own ids have 16 to 32 characters. */
const MAX_ID_CHARS = 256;

/** `cleanText` of an optional text; null if absent. */
export function storableOrNull(text: string | undefined): string | null {
  return text === undefined ? null : cleanText(text);
}

/** An id that fits into an index: a longer one becomes its start and a hash, always the same. */
export function storableId(id: string): string {
  const text = cleanText(id);
  if (text.length <= MAX_ID_CHARS) return text;
  return `${text.slice(0, 32)}:${createHash('sha256').update(text).digest('hex')}`;
}

/** A value as text of a jsonb column; null when absent. */
export function storableJson(value: object): string;
export function storableJson(value: unknown): string | null;
export function storableJson(value: unknown): string | null {
  if (value === undefined) return null;
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === 'string' ? cleanText(part) : part));
}

/** Row ids are strings outside the database; undefined if the text cannot be one. */
export function rowId(id: string): bigint | undefined {
  return /^\d{1,18}$/.test(id) ? BigInt(id) : undefined;
}

/** The id of a row as a caller wrote it, for a comparison with a `bigint`; `0`, which no row has, if it is not an id. */
export function searchableId(text: string): string {
  return /^[1-9]\d{0,17}$/.test(text) ? text : '0';
}

interface Waiting<Item, Result> {
  item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/**
 * Executes many calls of the same kind as one statement: those that arrive in the same turn of the event loop go together,
 * and those that arrive while a statement runs go with the next one.
 */
export class StatementBatch<Item, Result> {
  readonly #execute: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #maxSize: number;
  #waiting: Array<Waiting<Item, Result>> = [];
  #isRunning = false;

  /** @param execute resolves with one result for each item, in their order; rejects for all of them */
  constructor(execute: (items: readonly Item[]) => Promise<readonly Result[]>, maxSize: number) {
    this.#execute = execute;
    this.#maxSize = maxSize;
  }

  /** Rejects as `execute` does for this call, or when the database does not answer. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    await setImmediate();
    while (this.#waiting.length > 0) await this.#executeTogether(this.#waiting.splice(0, this.#maxSize));
    this.#isRunning = false;
  }

  /** A call that the database refuses does not fail the others: they are executed one by one then. Never rejects. */
  async #executeTogether(calls: ReadonlyArray<Waiting<Item, Result>>): Promise<void> {
    try {
      const results = await this.#execute(calls.map(({ item }) => item));
      for (const [index, { resolve }] of calls.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (calls.length > 1 && !isRetryable(error)) {
        for (const call of calls) await this.#executeTogether([call]);
      } else for (const { reject } of calls) reject(error);
    }
  }
}
