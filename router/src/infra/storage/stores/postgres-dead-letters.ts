import sql from 'sql-template-tag';
import type { DeadLetterFilter, DeadLetters, Replay } from '../../../core/ports/dead-letters.ts';
import type { Postgres } from '../postgres.ts';
import { queuedReply } from './postgres-inbox.ts';
import { chatFilter } from './postgres-message-log.ts';
import { rowId } from './storable-text.ts';
import { withStorage } from './storage-errors.ts';

interface ReplayRow {
  outcome: 'replayed' | 'known';
  chat_id: bigint;
  message_id: bigint | null;
  outbox_id: bigint | null;
  worker_node: string;
  worker_epoch: number;
  is_new_worker: boolean;
}

/** Dead letters in PostgreSQL; a replay is one call of the first migration's `dead_letter_replay`. */
export class PostgresDeadLetters implements DeadLetters {
  readonly #postgres: Postgres;

  constructor(postgres: Postgres) {
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
      if (row.outbox_id !== null) {
        const [reply] = await this.#postgres.query<Parameters<typeof queuedReply>[0]>(sql`
          SELECT id::text AS outbox_id, message_id::text, chat_id::text, account_id, to_jid, wa_message_id, text, media FROM outbox
          WHERE id = ${row.outbox_id}::bigint`);
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

  async open(filter: DeadLetterFilter, limit: number): Promise<string[]> {
    const before = filter.before === undefined ? undefined : rowId(filter.before);
    const chat = chatFilter(filter.channelId);
    if (chat === 'none' || (filter.before !== undefined && before === undefined)) return [];
    return withStorage('looking for dead letters', async () => {
      const { accountId, reason } = filter;
      const chats = chat && (await this.#postgres.prisma.chat.findMany({ where: { ...chat, accountId } }));
      const rows = await this.#postgres.prisma.deadLetter.findMany({
        where: {
          accountId,
          reason,
          replayedAt: null,
          id: before === undefined ? undefined : { lt: before },
          chatId: chats && { in: chats.map((found) => found.id) },
        },
        select: { id: true },
        orderBy: { id: 'asc' },
        take: limit,
      });
      return rows.map((row) => String(row.id));
    });
  }
}
