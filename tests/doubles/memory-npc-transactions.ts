import type {
  NpcTransactions,
  SignedTransaction,
  Spent,
  TransactionEnd,
  TransactionSpending,
  WalletTransaction,
} from '../../router/src/features/npc/npc-chain.ts';

interface Row extends WalletTransaction {
  end?: TransactionEnd;
  storedAtMs: number;
  spends: TransactionSpending;
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
    given: { taskId: string; chainId: number; wallet: string; minNonce: number; spends: TransactionSpending },
    sign: (nonce: number, spent: Spent) => Promise<SignedTransaction>,
  ): Promise<WalletTransaction> {
    const { taskId, chainId, wallet, minNonce, spends } = given;
    const added = this.#last.then(async () => {
      const known = await this.ofTask(taskId);
      if (known) return known;
      const isUsed = (nonce: number) =>
        this.#rows.some((row) => row.chainId === chainId && row.wallet === wallet && row.nonce === nonce);
      let nonce = minNonce;
      while (isUsed(nonce)) nonce += 1;
      const { hash, raw } = await sign(nonce, this.#spent(given));
      const row = { taskId, chainId, wallet, nonce, hash, raw, earlierHashes: [] };
      this.#rows.push({ ...row, storedAtMs: this.#now(), spends });
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

  #spent({
    chainId,
    wallet,
    spends,
  }: {
    chainId: number;
    wallet: string;
    spends: TransactionSpending;
  }): Spent {
    const own = this.#rows.filter(
      (row) =>
        row.chainId === chainId &&
        row.wallet === wallet &&
        row.spends.owner === spends.owner &&
        this.#now() - row.storedAtMs < 86_400_000,
    );
    const sum = (amounts: bigint[]) => amounts.reduce((all, amount) => all + amount, 0n);
    return {
      amount: sum(own.filter((row) => row.spends.type === spends.type).map((row) => row.spends.amount)),
      gas: sum(own.map((row) => row.spends.gas)),
    };
  }

  #views(isWanted: (row: Row) => boolean): WalletTransaction[] {
    return this.#rows
      .filter(isWanted)
      .map(({ end: _end, storedAtMs: _at, spends: _spends, ...row }) => structuredClone(row));
  }
}
