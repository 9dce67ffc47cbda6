import type { ChainEvent, SignedTransaction } from './npc-chain.ts';

/**
 * Transactions of the NPC's wallets, and how far events were followed.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcTransactions {
  /** The transaction of a task; stored before it was sent. */
  ofTask(taskId: string): Promise<SignedTransaction | undefined>;
  /**
   * Signs and stores the transaction of a task, once: nonces of a wallet are given out one after the other over all nodes.
   * @param sign receives the smallest nonce that no stored transaction of the wallet has, at least `minNonce`
   * @returns the stored transaction; for a repeat, the first one
   */
  addOnce(
    given: { taskId: string; wallet: string; minNonce: number },
    sign: (nonce: number) => Promise<SignedTransaction>,
  ): Promise<SignedTransaction>;
  /** The last block whose events are stored; undefined: none. @param chain names the chain and the contracts */
  cursor(chain: string): Promise<bigint | undefined>;
  /** Stores events and the new cursor in one transaction, unless the cursor is not `from` any more. Idempotent. */
  store(chain: string, events: readonly ChainEvent[], cursor: { from: bigint | undefined; to: bigint }): Promise<void>;
}
