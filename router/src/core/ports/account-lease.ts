import type { NodeId } from '../ids.ts';

/** The right of one node to connect an account. The epoch grows with each acquisition by any node. */
export interface Lease {
  accountId: string;
  owner: NodeId;
  epoch: bigint;
}

/**
 * The check on every write of an account's owner: the database accepts it only while the account's lease has this owner
 * and epoch, and the process does not attempt it when it knows that the lease is lost.
 */
export interface Fence extends Lease {
  /** False when the lease was lost or released, or not renewed in time by this process's own clock. Cheap. */
  isHeld(): boolean;
  /** Taken from another node, which may log in once more before it notices. */
  readonly isTakeOver: boolean;
  /**
   * Checks the lease in the database, and restarts its time. Call it right before each login.
   * @throws {LeaseLostError} another node has the account; the owner disconnects it
   * @throws {StorageUnavailableError} unknown: do not log in now
   */
  verify(): Promise<void>;
  /** Call it when a write found the lease lost: the owner disconnects the account. */
  lose(reason: string): void;
}

/**
 * Leases of one node. Times are the database's, so that clocks of two nodes are never compared.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface AccountLeases {
  /**
   * Takes an account without a valid lease: never leased, released, expired, or this node's own from an earlier process.
   * `fromDead` also takes it from an owner whose process is dead although its lease has time left; only for a caller that
   * has seen it dead for a while, since a connection may break and come back. A lease that was not released counts as an
   * ended process for its replies that are `sending` and its journal (core/suspects.ts); `wasOurs`: this process may have had
   * it, so that none ended.
   * @returns the lease with a new epoch; undefined while another node's lease is valid
   */
  acquire(accountId: string, options?: { fromDead?: boolean; wasOurs?: boolean }): Promise<Lease | undefined>;
  /** Restarts the time of leases. @returns the accounts of those that are still valid; the others are lost */
  renew(leases: readonly Lease[]): Promise<Set<string>>;
  /** Releases a lease, so that another node can take it at once; a lost one is not changed. */
  release(lease: Lease): Promise<void>;
}
