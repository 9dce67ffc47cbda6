import type { ChainEvent } from './npc-chain.ts';

export interface StoredChainEvent extends ChainEvent {
  id: string;
  /** The task whose transaction it is of. */
  taskId?: string;
  storedAtMs: number;
}

/**
 * Events of the contracts, and how far they were followed.
 * @throws {StorageUnavailableError} from every method
 */
export interface NpcChainEvents {
  /** The last block whose events are stored; undefined: none. @param source as `NpcChain.eventSource` */
  cursor(source: string): Promise<bigint | undefined>;
  /**
   * Stores events and the new cursor in one transaction. Idempotent: events that are stored are not stored again.
   * @param cursor.from the cursor as it was read
   * @returns false: the cursor is not `from` any more, and nothing was stored
   */
  store(
    source: string,
    events: readonly ChainEvent[],
    cursor: { from: bigint | undefined; to: bigint },
  ): Promise<boolean>;
  /** Newest first. */
  list(filter: {
    source?: string;
    kind?: ChainEvent['kind'];
    before?: string;
    limit: number;
  }): Promise<StoredChainEvent[]>;
}
