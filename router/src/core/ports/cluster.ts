import type { NodeId } from '../chat-id.ts';
import type { AccountRecord } from './account-store.ts';
import type { AccountStatus, PasskeyInput } from './chat-provider.ts';

/** One process of wa2ai on the database. */
export interface NodeView {
  nodeId: NodeId;
  host: string;
  /** Where its REST API listens, as it sees itself. */
  url: string;
  version: string;
  startedAtMs: number;
  /** When it last updated its row, by the database's clock. */
  seenAtMs: number;
  /** Turns that ran on it then. */
  turns: number;
  /** It is about to stop and takes nothing new. */
  isDraining: boolean;
  /** Its process is alive (its advisory lock is taken) and has updated its row within the time of a lease. */
  isAlive: boolean;
}

/** One WhatsApp account of the database and its node. */
export interface AccountView {
  accountId: string;
  /** Absent: WhatsApp. The nodes' shares of accounts do not count others. */
  provider?: 'playground';
  /** What its node stored last, without pairing codes. */
  record: Omit<AccountRecord, 'generation'>;
  changedAtMs: number;
  /** The node whose lease is valid, or was last; absent when the lease was released. */
  owner?: { nodeId: NodeId; epoch: bigint };
  /** `owned`, or another node may take it: `free` immediately, `dead-owner` when its node has been dead for a while. */
  availability: 'owned' | 'free' | 'dead-owner';
}

/** What one node needs to know about the others, read in one statement. */
export interface ClusterView {
  /** Including this node after its first beat; by id. */
  nodes: NodeView[];
  /** By id. */
  accounts: AccountView[];
}

/** What an account has from its beginning. */
export interface NewAccount {
  /** Absent: WhatsApp. */
  provider?: 'playground';
  /** Of the proxy through which it connects from the first time on; absent: directly. */
  proxyUrl?: string;
}

/**
 * The nodes on one database and the accounts they share.
 * @throws {StorageUnavailableError} from every method
 */
export interface Cluster {
  /** Sets where this node's REST API listens; before the first beat. */
  join(url: string): void;
  /** Updates this node's row and reads those of the others. */
  beat(own: { turns: number; isDraining: boolean }): Promise<ClusterView>;
  /** Removes this node from the list: the others take over its work. */
  leave(): Promise<void>;
  /** Adds an account for a node to take. `known` also while it is being deleted. */
  addAccount(accountId: string, as?: NewAccount): Promise<'added' | 'known'>;
}

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
  /** Releases a lease, so that another node can take it immediately; a lost one is not changed. */
  release(lease: Lease): Promise<void>;
}

/** How an account is to be paired; the phone number in digits. */
export type PairBy = { method: 'qr' } | { method: 'code'; phone: string };

/** The accounts of this service, for the API, the pages and the CLI. Undefined: no such account. */
export interface AccountControl {
  /** By id, including accounts of other nodes. */
  list(): AccountStatus[];
  get(accountId: string): AccountStatus | undefined;
  /** Adds an account, which a node then starts; `known` when there is one with this id. */
  create(accountId: string, as?: NewAccount): Promise<'added' | 'known'>;
  /** @throws {AccountNotHeldError} from this and the next four: no node that answers runs the account */
  pair(accountId: string, by: PairBy): Promise<AccountStatus | undefined>;
  /** As ChatProvider.usePasskey. */
  usePasskey(accountId: string, input: PasskeyInput): Promise<AccountStatus | undefined>;
  logout(accountId: string): Promise<AccountStatus | undefined>;
  /** Like `logout`, without pairing again: for an account that is being deleted. */
  unlink(accountId: string): Promise<AccountStatus | undefined>;
  restart(accountId: string): Promise<AccountStatus | undefined>;
  /**
   * Asks WhatsApp about a number, within a few seconds. Undefined: it did not say, such as while the account is not connected or
   * after many questions.
   * @param phone digits
   */
  isOnWhatsApp(accountId: string, phone: string): Promise<boolean | undefined>;
}
