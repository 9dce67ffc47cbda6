import type { SignedTransaction, WalletTransaction } from './npc-chain.ts';

/** How a transaction ended. */
export type TransactionEnd = 'succeeded' | 'reverted' | 'superseded';

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
   * @param sign receives the smallest nonce, at least `minNonce`, that no stored transaction of the wallet has
   * @returns the stored transaction; for a repeat, the first one
   */
  addOnce(
    given: { taskId: string; chainId: number; wallet: string; minNonce: number },
    sign: (nonce: number) => Promise<SignedTransaction>,
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
