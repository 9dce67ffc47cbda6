import sql, { type Sql } from 'sql-template-tag';
import type { Postgres, Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';
import type { SignedTransaction, WalletTransaction } from './npc-chain.ts';
import type { NpcTransactions, Spent, TransactionEnd, TransactionSpending } from './npc-transactions.ts';

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
