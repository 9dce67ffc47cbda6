import type { NodeId } from '../ids.ts';
import type { AccountRecord } from './account-store.ts';

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
  /** `owned`, or another node may take it: `free` at once, `dead-owner` when its node has been dead for a while. */
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
