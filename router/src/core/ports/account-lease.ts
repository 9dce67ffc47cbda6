/** The right of one node to hold an account's socket. The epoch grows with each acquisition, whoever acquires. */
export interface Lease {
  accountId: string;
  owner: string;
  epoch: bigint;
}

/**
 * What every write of an account's owner is made under: it counts in the database only while the account's lease still
 * has this owner and epoch, and is not even tried once the owner knows better.
 */
export interface Fence extends Lease {
  /** False once the lease was lost, given back, or not renewed in time by this process's own clock. Cheap. */
  isHeld(): boolean;
  /** To call when a write found the lease gone; the owner lets the account go. */
  lose(reason: string): void;
}

/**
 * Leases of one node. Times are the database's own, so that no two nodes' clocks are ever compared.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface AccountLeases {
  /**
   * Takes the account when nobody holds it: never held, given back, run out, or this node's own from an earlier life.
   * `fromDead` takes it also from an owner whose process is gone although its lease has time left; only for a caller
   * that has seen it gone for a while, since a connection may break and come back.
   * @returns the lease under a fresh epoch; undefined while another node's counts
   */
  acquire(accountId: string, options?: { fromDead?: boolean }): Promise<Lease | undefined>;
  /** Starts the time of leases anew. @returns accounts of those that still count; the others are lost for good */
  renew(leases: readonly Lease[]): Promise<Set<string>>;
  /** Gives a lease back, so that another node can take it at once; one that is lost already stays as it is. */
  release(lease: Lease): Promise<void>;
}
