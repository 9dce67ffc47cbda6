import type { AccountRecord } from './account-store.ts';

/** One process of wa2ai on the database. */
export interface NodeView {
  nodeId: string;
  host: string;
  /** Where its REST API listens, as it sees itself. */
  url: string;
  version: string;
  startedAtMs: number;
  /** When it last showed itself, by the database's clock. */
  seenAtMs: number;
  /** Turns that ran on it then. */
  turns: number;
  /** It is about to stop and takes nothing new. */
  isDraining: boolean;
  /** Its process lives (it holds its lock) and has shown itself within a lease's time. */
  isAlive: boolean;
}

/** One WhatsApp account of the database and who holds it. */
export interface AccountView {
  accountId: string;
  /** What its holder stored last; pairing codes are not among it. */
  record: Omit<AccountRecord, 'generation'>;
  changedAtMs: number;
  /** Whose lease counts, or counted last; absent when it was given back. */
  holder?: { nodeId: string; epoch: bigint };
  /** `held`, or takeable: `free` at once, `dead-holder` for who sees it so for a while. */
  availability: 'held' | 'free' | 'dead-holder';
}

/** Everything one node needs to know of the others, read in one step. */
export interface ClusterView {
  /** This node among them, once it has shown itself; by id. */
  nodes: NodeView[];
  /** By id. */
  accounts: AccountView[];
}

/**
 * The nodes on one database and the accounts they share.
 * @throws {StorageUnavailableError} from every method
 */
export interface Cluster {
  /** Sets where this node's REST API listens; before the first beat. */
  join(url: string): void;
  /** Shows this node to the others and reads theirs. */
  beat(own: { turns: number; isDraining: boolean }): Promise<ClusterView>;
  /** Removes this node from the list: the others take over what it left. */
  leave(): Promise<void>;
  /** Adds an account for a node to take. `known` also while it is being deleted. */
  addAccount(accountId: string): Promise<'added' | 'known'>;
}
