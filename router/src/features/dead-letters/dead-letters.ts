import sql from 'sql-template-tag';
import type { ChatClaim } from '../../core/ports/inbox.ts';
import type { QueuedReply } from '../../core/turns/turn.ts';
import type { Postgres } from '../../infra/db/postgres.ts';
import {
  allOf,
  type Conditions,
  newerThan,
  ofChat,
  olderThan,
  together,
} from '../../infra/db/stores/log-conditions.ts';
import { queuedReply, REPLY_COLUMNS, type ReplyRow, rowId } from '../../infra/db/stores/rows.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** Which dead letters. */
export interface DeadLetterFilter {
  accountId?: string;
  /** Canonical channelId of one chat. */
  channelId?: string;
  reason?: string;
  /** Only dead letters with a smaller id. */
  before?: string;
  /** Only dead letters with a larger id. */
  after?: string;
  /** Only dead letters that failed last at this time or before. */
  until?: Date;
}

/** What a replay queued: a message with the claim on its chat, or the reply to deliver. */
export type Replay =
  | { outcome: 'replayed'; messageId: string; chatId: string; worker: ChatClaim; isNewWorker: boolean }
  | { outcome: 'replayed'; reply: QueuedReply }
  /** Its message or reply is not dead: it was replayed before and has not failed again. */
  | { outcome: 'known' }
  | { outcome: 'missing' };

/**
 * Replays and closes dead letters. A message or reply has at most one: when it fails again after a replay, the same one is
 * updated and open again.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface DeadLetters {
  /**
   * Moves a message back to `received` at the end of its chat's order, or a reply back to `queued` in its row, with its
   * WhatsApp id. A closed dead letter can be replayed too.
   */
  replay(id: string, node: string): Promise<Replay>;
  /**
   * Closes an open dead letter: an operator decided to leave it. Idempotent.
   * @returns `replayed` when it is not open because it was replayed; nothing was changed
   */
  close(id: string): Promise<'closed' | 'replayed' | 'missing'>;
  /** Closes the open dead letters of a filter. @returns how many */
  closeAll(filter: DeadLetterFilter): Promise<number>;
  /** Ids of open dead letters, oldest first, at most `limit`. */
  open(filter: DeadLetterFilter, limit: number): Promise<string[]>;
}

interface ReplayRow {
  outcome: 'replayed' | 'known';
  chat_id: bigint;
  message_id: bigint | null;
  outbox_id: bigint | null;
  worker_node: string;
  worker_epoch: number;
  is_new_worker: boolean;
}

/** Dead letters in PostgreSQL; see prisma/functions/dead-letters.sql. */
export class PostgresDeadLetters implements DeadLetters {
  readonly #postgres: Pick<Postgres, 'query' | 'changes'>;

  constructor(postgres: Pick<Postgres, 'query' | 'changes'>) {
    this.#postgres = postgres;
  }

  async replay(id: string, node: string): Promise<Replay> {
    const key = rowId(id);
    if (key === undefined) return { outcome: 'missing' };
    return withStorage('replaying a dead letter', async () => {
      const [row] = await this.#postgres.query<ReplayRow>(sql`
        SELECT outcome, chat_id, message_id, outbox_id, worker_node, worker_epoch, is_new_worker
        FROM dead_letter_replay(${key}::bigint, ${node})`);
      if (!row) return { outcome: 'missing' };
      if (row.outcome === 'known') return { outcome: 'known' };
      this.#report(id, String(row.chat_id), 'replayed');
      if (row.outbox_id !== null) {
        const [reply] = await this.#postgres.query<ReplyRow>(sql`
          SELECT ${REPLY_COLUMNS} FROM outbox WHERE id = ${row.outbox_id}::bigint`);
        if (!reply) throw new Error('a replayed reply has no row');
        return { outcome: 'replayed', reply: queuedReply(reply) };
      }
      return {
        outcome: 'replayed',
        messageId: String(row.message_id),
        chatId: String(row.chat_id),
        worker: { chatId: String(row.chat_id), node: row.worker_node, epoch: row.worker_epoch },
        isNewWorker: row.is_new_worker,
      };
    });
  }

  async close(id: string): Promise<'closed' | 'replayed' | 'missing'> {
    const key = rowId(id);
    if (key === undefined) return 'missing';
    const [row] = await withStorage('closing a dead letter', () =>
      this.#postgres.query<{ is_closed: boolean; chat_id: bigint }>(sql`
        WITH closed AS (
          UPDATE dead_letter SET closed_at = now()
          WHERE id = ${key}::bigint AND replayed_at IS NULL AND closed_at IS NULL RETURNING id
        )
        SELECT closed_at IS NOT NULL OR EXISTS (SELECT 1 FROM closed) AS is_closed, chat_id
        FROM dead_letter WHERE id = ${key}::bigint`),
    );
    if (!row) return 'missing';
    if (row.is_closed) this.#report(id, String(row.chat_id), 'closed');
    return row.is_closed ? 'closed' : 'replayed';
  }

  async closeAll(filter: DeadLetterFilter): Promise<number> {
    const conditions = openOf(filter);
    if (conditions === 'none') return 0;
    const rows = await withStorage('closing dead letters', () =>
      this.#postgres.query<{ id: string; chatId: string }>(sql`
        UPDATE dead_letter SET closed_at = now() WHERE ${allOf(conditions)}
        RETURNING id::text, chat_id::text AS "chatId"`),
    );
    for (const { id, chatId } of rows) this.#report(id, chatId, 'closed');
    return rows.length;
  }

  #report(id: string, chatId: string, change: 'replayed' | 'closed'): void {
    this.#postgres.changes.report({ type: 'dead-letter', chatId, id, change });
  }

  async open(filter: DeadLetterFilter, limit: number): Promise<string[]> {
    const conditions = openOf(filter);
    if (conditions === 'none') return [];
    const rows = await withStorage('looking for dead letters', () =>
      this.#postgres.query<{ id: bigint }>(sql`
        SELECT id FROM dead_letter WHERE ${allOf(conditions)}
        ORDER BY id LIMIT ${limit}::integer`),
    );
    return rows.map(({ id }) => String(id));
  }
}

function openOf({ accountId, reason, channelId, before, after, until }: DeadLetterFilter): Conditions {
  return together(
    [sql`replayed_at IS NULL AND closed_at IS NULL`],
    olderThan(sql`id`, before),
    newerThan(sql`id`, after),
    ofChat(sql`chat_id`, channelId, accountId),
    accountId === undefined ? [] : [sql`account_id = ${accountId}`],
    reason === undefined ? [] : [sql`reason = ${reason}`],
    until === undefined ? [] : [sql`failed_at <= ${until}`],
  );
}
