import type { SignedTransaction, WalletTransaction } from './npc-chain.ts';

/** How a transaction ended. */
export type TransactionEnd = 'succeeded' | 'reverted' | 'superseded';

/** What a transaction spends at most, and for whom. */
export interface TransactionSpending {
  /** Of the task. */
  owner: string;
  type: 'duel' | 'quest';
  /** Of the token, in its smallest unit. */
  amount: bigint;
  gas: bigint;
}

/** What transactions of an owner with one wallet may have spent in 24 hours, however they ended: an RPC server can lie. */
export interface Spent {
  /** Of the type, tokens added up. */
  amount: bigint;
  /** Of all types. */
  gas: bigint;
}

/**
 * Transactions of the wallets of the NPC face.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcTransactions {
  ofTask(taskId: string): Promise<WalletTransaction | undefined>;
  /**
   * Signs and stores the transaction of a task, once. On all nodes together, the nonces of a wallet are given out one after
   * the other: `sign` runs while no other transaction of the wallet is added, and its nonce is used only when it resolves.
   * @param given.minNonce the next nonce as the chain knows it
   * @param sign receives the smallest nonce, at least `minNonce`, that no stored transaction of the wallet has, and what
   *   `spends.owner` has spent before
   * @returns the stored transaction; for a repeat, the first one
   */
  addOnce(
    given: { taskId: string; chainId: number; wallet: string; minNonce: number; spends: TransactionSpending },
    sign: (nonce: number, spent: Spent) => Promise<SignedTransaction>,
  ): Promise<WalletTransaction>;
  /**
   * Stores another version of a transaction, unless there is a newer one than `replacedHash`.
   * @returns the newest version
   */
  replace(
    taskId: string,
    replacedHash: string,
    version: SignedTransaction,
  ): Promise<WalletTransaction | undefined>;
  /** Stores how a transaction ended, once. */
  settle(taskId: string, end: TransactionEnd): Promise<void>;
  /** Transactions of a chain that were stored so long ago and have not ended, the smallest nonces first. */
  unsettled(chainId: number, olderThanMs: number, limit: number): Promise<WalletTransaction[]>;
}
