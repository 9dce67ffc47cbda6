import type { SignedTransaction, WalletTransaction } from '../../router/src/core/ports/npc-chain.ts';
import type { NpcTransactions, TransactionEnd } from '../../router/src/core/ports/npc-transactions.ts';

interface Row extends WalletTransaction {
  end?: TransactionEnd;
  storedAtMs: number;
}

/** Transactions of wallets in memory. */
export class MemoryNpcTransactions implements NpcTransactions {
  readonly #now: () => number;
  readonly #rows: Row[] = [];
  #last: Promise<unknown> = Promise.resolve();

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  async ofTask(taskId: string): Promise<WalletTransaction | undefined> {
    return this.#views((row) => row.taskId === taskId)[0];
  }

  addOnce(
    given: { taskId: string; chainId: number; wallet: string; minNonce: number },
    sign: (nonce: number) => Promise<SignedTransaction>,
  ): Promise<WalletTransaction> {
    const { taskId, chainId, wallet, minNonce } = given;
    const added = this.#last.then(async () => {
      const known = await this.ofTask(taskId);
      if (known) return known;
      const isUsed = (nonce: number) =>
        this.#rows.some((row) => row.chainId === chainId && row.wallet === wallet && row.nonce === nonce);
      let nonce = minNonce;
      while (isUsed(nonce)) nonce += 1;
      const { hash, raw } = await sign(nonce);
      const row = { taskId, chainId, wallet, nonce, hash, raw, earlierHashes: [] };
      this.#rows.push({ ...row, storedAtMs: this.#now() });
      return row;
    });
    this.#last = added.catch(() => undefined);
    return added;
  }

  async replace(taskId: string, replacedHash: string, { hash, raw }: SignedTransaction) {
    const row = this.#rows.find((each) => each.taskId === taskId);
    if (row && row.hash === replacedHash && row.end === undefined) {
      row.earlierHashes = [...row.earlierHashes, row.hash];
      row.hash = hash;
      row.raw = raw;
    }
    return await this.ofTask(taskId);
  }

  async settle(taskId: string, end: TransactionEnd): Promise<void> {
    const row = this.#rows.find((each) => each.taskId === taskId);
    if (row) row.end ??= end;
  }

  async unsettled(chainId: number, olderThanMs: number, limit: number): Promise<WalletTransaction[]> {
    const nowMs = this.#now();
    return this.#views(
      (row) => row.end === undefined && row.chainId === chainId && nowMs - row.storedAtMs >= olderThanMs,
    )
      .sort((a, b) => a.wallet.localeCompare(b.wallet) || a.nonce - b.nonce)
      .slice(0, limit);
  }

  #views(isWanted: (row: Row) => boolean): WalletTransaction[] {
    return this.#rows.filter(isWanted).map(({ end: _end, storedAtMs: _at, ...row }) => structuredClone(row));
  }
}
