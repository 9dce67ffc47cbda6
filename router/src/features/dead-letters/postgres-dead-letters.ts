import sql from 'sql-template-tag';
import type { Postgres } from '../../infra/db/postgres.ts';
import { allOf, newerThan, ofChat, olderThan, together } from '../../infra/db/stores/log-conditions.ts';
import { queuedReply, REPLY_COLUMNS, type ReplyRow } from '../../infra/db/stores/rows.ts';
import { rowId } from '../../infra/db/stores/storable-text.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { DeadLetterFilter, DeadLetters, Replay } from './dead-letters.ts';

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

  #report(id: string, chatId: string, change: 'replayed' | 'closed'): void {
    this.#postgres.changes.report({ type: 'dead-letter', chatId, id, change });
  }

  async open(filter: DeadLetterFilter, limit: number): Promise<string[]> {
    const { accountId, reason, channelId, before, after } = filter;
    const conditions = together(
      olderThan(sql`id`, before),
      newerThan(sql`id`, after),
      ofChat(sql`chat_id`, channelId, accountId),
      accountId === undefined ? [] : [sql`account_id = ${accountId}`],
      reason === undefined ? [] : [sql`reason = ${reason}`],
    );
    if (conditions === 'none') return [];
    const rows = await withStorage('looking for dead letters', () =>
      this.#postgres.query<{ id: bigint }>(sql`
        SELECT id FROM dead_letter WHERE replayed_at IS NULL AND closed_at IS NULL AND ${allOf(conditions)}
        ORDER BY id LIMIT ${limit}::integer`),
    );
    return rows.map(({ id }) => String(id));
  }
}
