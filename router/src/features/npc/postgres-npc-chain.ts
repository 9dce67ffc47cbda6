import type { Sql } from 'sql-template-tag';
import sql from 'sql-template-tag';
import type { Postgres, Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type {
  ChainEvent,
  NpcChainEvents,
  NpcTransactions,
  SignedTransaction,
  Spent,
  StoredChainEvent,
  TransactionEnd,
  TransactionSpending,
  WalletTransaction,
} from './npc-chain.ts';

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

interface TransactionRow {
  taskId: string;
  chainId: bigint;
  wallet: string;
  nonce: bigint;
  hash: string;
  raw: string;
  earlierHashes: string[];
}

const COLUMNS = sql`task_id AS "taskId", chain_id AS "chainId", wallet, nonce, hash, raw, earlier_hashes AS "earlierHashes"`;

/** Transactions of wallets in PostgreSQL. An advisory lock per wallet orders its nonces over all nodes. */
export class PostgresNpcTransactions implements NpcTransactions {
  readonly #postgres: Pick<Postgres, 'query' | 'execute' | 'transaction'>;

  constructor(postgres: Pick<Postgres, 'query' | 'execute' | 'transaction'>) {
    this.#postgres = postgres;
  }

  async ofTask(taskId: string): Promise<WalletTransaction | undefined> {
    return (await this.#read(this.#postgres, sql`WHERE task_id = ${taskId}`))[0];
  }

  async addOnce(
    given: { taskId: string; chainId: number; wallet: string; minNonce: number; spends: TransactionSpending },
    sign: (nonce: number, spent: Spent) => Promise<SignedTransaction>,
  ): Promise<WalletTransaction> {
    const { taskId, chainId, wallet, spends } = given;
    return await withStorage('storing a transaction', () =>
      this.#postgres.transaction(async (transaction) => {
        const lock = `wa2ai npc wallet ${chainId} ${wallet}`;
        await transaction.execute(sql`SELECT pg_advisory_xact_lock(hashtextextended(${lock}, 0))`);
        const [known] = await this.#read(transaction, sql`WHERE task_id = ${taskId}`);
        if (known) return known;
        const nonce = await freeNonce(transaction, given);
        const { hash, raw } = await sign(nonce, await spentBefore(transaction, given));
        await transaction.execute(sql`
          INSERT INTO npc_transaction (task_id, chain_id, wallet, nonce, hash, raw, owner, type, amount, gas)
          VALUES (${taskId}, ${chainId}::bigint, ${wallet}, ${nonce}::bigint, ${hash}, ${raw},
            ${spends.owner}, ${spends.type}, ${String(spends.amount)}::numeric, ${String(spends.gas)}::bigint)`);
        return { taskId, chainId, wallet, nonce, hash, raw, earlierHashes: [] };
      }),
    );
  }

  async replace(
    taskId: string,
    replacedHash: string,
    { hash, raw }: SignedTransaction,
  ): Promise<WalletTransaction | undefined> {
    await withStorage('storing a version of a transaction', () =>
      this.#postgres.execute(sql`
        UPDATE npc_transaction SET hash = ${hash}, raw = ${raw}, earlier_hashes = array_append(earlier_hashes, hash)
        WHERE task_id = ${taskId} AND hash = ${replacedHash} AND settled_at IS NULL`),
    );
    return this.ofTask(taskId);
  }

  async settle(taskId: string, end: TransactionEnd): Promise<void> {
    await withStorage('storing the end of a transaction', () =>
      this.#postgres.execute(sql`
        UPDATE npc_transaction SET outcome = ${end}, settled_at = now() WHERE task_id = ${taskId} AND settled_at IS NULL`),
    );
  }

  async unsettled(chainId: number, olderThanMs: number, limit: number): Promise<WalletTransaction[]> {
    return await this.#read(
      this.#postgres,
      sql`WHERE settled_at IS NULL AND chain_id = ${chainId}::bigint
        AND created_at <= now() - ${olderThanMs}::double precision * interval '1 millisecond'
        ORDER BY wallet, nonce LIMIT ${limit}`,
    );
  }

  async #read(statements: Pick<Statements, 'query'>, rest: Sql): Promise<WalletTransaction[]> {
    const rows = await withStorage('reading transactions', () =>
      statements.query<TransactionRow>(sql`SELECT ${COLUMNS} FROM npc_transaction ${rest}`),
    );
    return rows.map(({ chainId, nonce, ...row }) => ({
      ...row,
      chainId: Number(chainId),
      nonce: Number(nonce),
    }));
  }
}

/** What the owner has spent in 24 hours, while the wallet is locked. */
async function spentBefore(
  transaction: Pick<Statements, 'query'>,
  { chainId, wallet, spends }: { chainId: number; wallet: string; spends: TransactionSpending },
): Promise<Spent> {
  const [row] = await transaction.query<{ amount: string; gas: string }>(sql`
    SELECT coalesce(sum(amount) FILTER (WHERE type = ${spends.type}), 0)::text AS amount, coalesce(sum(gas), 0)::text AS gas
    FROM npc_transaction
    WHERE owner = ${spends.owner} AND created_at > now() - interval '24 hours'
      AND chain_id = ${chainId}::bigint AND wallet = ${wallet}`);
  return { amount: BigInt(row?.amount ?? 0), gas: BigInt(row?.gas ?? 0) };
}

/** The smallest nonce from `minNonce` on that no stored transaction of the wallet has. */
async function freeNonce(
  transaction: Pick<Statements, 'query'>,
  { chainId, wallet, minNonce }: { chainId: number; wallet: string; minNonce: number },
): Promise<number> {
  const [row] = await transaction.query<{ nonce: bigint }>(sql`
    WITH candidate AS (
      SELECT ${minNonce}::bigint AS nonce
      UNION SELECT nonce + 1 FROM npc_transaction
      WHERE chain_id = ${chainId}::bigint AND wallet = ${wallet} AND nonce >= ${minNonce}::bigint)
    SELECT min(c.nonce) AS nonce FROM candidate c WHERE NOT EXISTS (
      SELECT 1 FROM npc_transaction t
      WHERE t.chain_id = ${chainId}::bigint AND t.wallet = ${wallet} AND t.nonce = c.nonce)`);
  return Number(row?.nonce ?? minNonce);
}
