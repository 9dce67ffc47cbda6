import sql from 'sql-template-tag';
import type { Postgres } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { ChainEvent } from './npc-chain.ts';
import type { NpcChainEvents, StoredChainEvent } from './npc-chain-events.ts';

interface EventRow {
  id: string;
  kind: ChainEvent['kind'];
  blockNumber: bigint;
  transactionHash: string;
  logIndex: number;
  values: Record<string, string>;
  taskId: string | null;
  storedAt: Date;
}

/** Events of contracts in PostgreSQL, with the block cursor of each source. */
export class PostgresNpcChainEvents implements NpcChainEvents {
  readonly #postgres: Pick<Postgres, 'query' | 'transaction'>;

  constructor(postgres: Pick<Postgres, 'query' | 'transaction'>) {
    this.#postgres = postgres;
  }

  async cursor(source: string): Promise<bigint | undefined> {
    const [row] = await withStorage('reading the cursor of chain events', () =>
      this.#postgres.query<{ block: bigint }>(
        sql`SELECT block_number AS block FROM npc_chain_cursor WHERE source = ${source}`,
      ),
    );
    return row?.block;
  }

  async store(
    source: string,
    events: readonly ChainEvent[],
    { from, to }: { from: bigint | undefined; to: bigint },
  ): Promise<boolean> {
    const rows = events.map(({ kind, blockNumber, transactionHash, logIndex, values }) => ({
      kind,
      block_number: String(blockNumber),
      transaction_hash: transactionHash,
      log_index: logIndex,
      args: values,
    }));
    return await withStorage('storing chain events', () =>
      this.#postgres.transaction(async (transaction) => {
        const moved = await transaction.execute(
          from === undefined
            ? sql`
              INSERT INTO npc_chain_cursor (source, block_number) VALUES (${source}, ${String(to)}::bigint)
              ON CONFLICT (source) DO NOTHING`
            : sql`
              UPDATE npc_chain_cursor SET block_number = ${String(to)}::bigint, updated_at = now()
              WHERE source = ${source} AND block_number = ${String(from)}::bigint`,
        );
        if (moved === 0) return false;
        await transaction.execute(sql`
          INSERT INTO npc_chain_event (source, kind, block_number, transaction_hash, log_index, args)
          SELECT ${source}, kind, block_number, transaction_hash, log_index, args
          FROM jsonb_to_recordset(${JSON.stringify(rows)}::jsonb)
            AS given (kind text, block_number bigint, transaction_hash text, log_index int, args jsonb)
          ON CONFLICT (source, transaction_hash, log_index) DO NOTHING`);
        return true;
      }),
    );
  }

  async list({
    source,
    kind,
    before,
    limit,
  }: {
    source?: string;
    kind?: ChainEvent['kind'];
    before?: string;
    limit: number;
  }): Promise<StoredChainEvent[]> {
    const rows = await withStorage('reading chain events', () =>
      this.#postgres.query<EventRow>(sql`
        SELECT e.id::text, e.kind, e.block_number AS "blockNumber", e.transaction_hash AS "transactionHash",
          e.log_index AS "logIndex", e.args AS "values", e.stored_at AS "storedAt",
          (SELECT t.task_id FROM npc_transaction t WHERE t.hash = e.transaction_hash LIMIT 1) AS "taskId"
        FROM npc_chain_event e
        WHERE (${source ?? null}::text IS NULL OR e.source = ${source ?? null})
          AND (${kind ?? null}::text IS NULL OR e.kind = ${kind ?? null})
          AND (${before ?? null}::bigint IS NULL OR e.id < ${before ?? null}::bigint)
        ORDER BY e.id DESC LIMIT ${limit}`),
    );
    return rows.map(({ taskId, storedAt, ...row }) => ({
      ...row,
      ...(taskId !== null && { taskId }),
      storedAtMs: storedAt.getTime(),
    }));
  }
}
