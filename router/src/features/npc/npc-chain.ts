import { z } from 'zod';
import { errorOf } from '../../core/errors.ts';
import type { SettingsStore } from '../../core/ports/settings-store.ts';
import type { SecretCipher } from '../../infra/db/encryption/secret-cipher.ts';

/** The RPC server of the chain did not answer, or not as one does; nothing is known of what was asked. Safe to repeat. */
export class ChainUnavailableError extends errorOf('CHAIN_UNAVAILABLE', 'retry') {}

/** The chain settings do not fit the RPC server: an operator must change them. Nothing was sent. */
export class ChainSettingsError extends errorOf('CHAIN_SETTINGS', 'dead') {}

/** What a task wants of a contract of the specification. Addresses have lower-case digits. */
export type ChainCall =
  | { kind: 'duel'; opponent: string; wager: bigint; token: string }
  | { kind: 'quest'; metadataUri: string; reward: bigint; token: string };

/** A checked and simulated call, which can be signed with any nonce. */
export interface PreparedTransaction {
  /** The contract. */
  to: string;
  /** Selector and arguments, `0x…`. */
  data: string;
  /** The most that it may use. */
  gas: bigint;
  fees: TransactionFees;
}

/** What a transaction pays for gas, in wei; by the market of EIP-1559, or a price on chains without one. */
export type TransactionFees = { maxFee: bigint; tip: bigint } | { gasPrice: bigint };

/** A signed transaction. The same bytes may be sent any number of times: a chain executes a nonce once. */
export interface SignedTransaction {
  /** `0x…`, lower case. */
  hash: string;
  /** The signed bytes, `0x…`. */
  raw: string;
}

/** The transaction of a task, with all versions that were signed for its nonce: they differ in their fees only. */
export interface WalletTransaction extends SignedTransaction {
  taskId: string;
  chainId: number;
  wallet: string;
  nonce: number;
  /** Hashes of the versions before this one. */
  earlierHashes: readonly string[];
}

/**
 * What became of a transaction. `waiting`: it is in no block · `included`: in a block that is not deep enough · `executed`:
 * in a block that is deep enough · `superseded`: another transaction of the wallet has its nonce, in a block that is deep
 * enough, so it can never be executed.
 */
export type TransactionState =
  | { state: 'waiting' }
  | { state: 'included'; depth: number }
  | ({ state: 'executed' } & ExecutedTransaction)
  | { state: 'superseded' };

export interface ExecutedTransaction {
  /** Of the version that was executed. */
  hash: string;
  /** False: the contract reverted it. */
  isSuccess: boolean;
  /** Why it was reverted, as the contract says. */
  revertReason?: string;
  gasUsed: bigint;
  blockNumber: bigint;
  /** Id of the duel, or of the quest if it is known. */
  createdId?: string;
}

/** `DuelCreated` of a duel with the wallet, or `QuestCompleted` of any quest of the contract. */
export interface ChainEvent {
  kind: 'duel-created' | 'quest-completed';
  blockNumber: bigint;
  transactionHash: string;
  logIndex: number;
  /** Decimal digits and addresses, by the names of the specification. */
  values: Record<string, string>;
}

/** What an operator has to know of the wallet. Amounts are decimal digits. */
export interface ChainReport {
  wallet: string;
  chainId: number;
  /** The newest block. */
  block: string;
  /** Of the chain's own currency, which pays for gas. */
  balance: string;
  tokens: Array<{ address: string; balance: string; allowances: { arena?: string; quest?: string } }>;
  /** Sentences about what prevents duels and quests. */
  problems: string[];
}

/**
 * The wallet of the NPC, and the contracts of its settings.
 * @throws {ChainUnavailableError} from every method but `sign`
 * @throws {ChainSettingsError} from every method but `sign`: the RPC server is of another chain, or an address has no contract
 */
export interface NpcChain {
  readonly chainId: number;
  /** Blocks on top of one that is deep enough. */
  readonly confirmations: number;
  /** Address of the wallet, in lower case. */
  readonly wallet: string;
  /** Names the chain, the contracts and the wallet whose events are followed. */
  readonly eventSource: string;
  /** The first block whose events are wanted; undefined: the newest one when following begins. */
  readonly startBlock: bigint | undefined;
  /**
   * Checks balance and allowance, and simulates the call.
   * @throws {NpcError} -32010 missing funds or allowance, -32011 with the reason of the contract
   */
  prepare(call: ChainCall): Promise<PreparedTransaction>;
  /** The next nonce of the wallet, after the transactions that wait at the RPC server. */
  pendingNonce(): Promise<number>;
  /** Without network. */
  sign(transaction: PreparedTransaction, nonce: number): Promise<SignedTransaction>;
  /**
   * Sends the bytes. A transaction that the server knows, or that is in a block, is not an error.
   * @returns why the server does not take it now; undefined: it has it
   */
  broadcast(transaction: Pick<SignedTransaction, 'raw'>): Promise<string | undefined>;
  stateOf(transaction: WalletTransaction): Promise<TransactionState>;
  /**
   * The same transaction with fees that the chain takes now.
   * @returns undefined: the fees are enough, are at the limit of the settings, or the wallet is another one now
   */
  withHigherFees(transaction: WalletTransaction): Promise<SignedTransaction | undefined>;
  /** The newest block that is deep enough; undefined: the chain has none yet. */
  safeBlock(): Promise<bigint | undefined>;
  /** Events of these blocks, in order. @param to at most `safeBlock` */
  events(from: bigint, to: bigint): Promise<ChainEvent[]>;
  report(): Promise<ChainReport>;
}

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
 * Transactions of the wallets of the NPC server.
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

/** A capability that is not one of the specification. */
export const CUSTOM_CAPABILITY = /^custom:[A-Za-z][\w.-]{0,99}$/;

/** The chain of `duel` and `quest`. The key of the wallet is not among the settings. */
const npcChainSettings = z.object({
  rpcUrl: z.string(),
  chainId: z.int(),
  /** A duel needs `arena`, a quest needs `quest`. */
  contracts: z.object({ arena: z.string().optional(), quest: z.string().optional() }),
  /** Addresses of the tokens that the wallet may spend; the first one is the default. */
  tokens: z.array(z.string()),
  /** The most of one task: amounts in the smallest unit of the token, or of the chain's own currency for fees. */
  limits: z.object({
    wager: z.string().optional(),
    reward: z.string().optional(),
    gas: z.int().optional(),
    feePerGas: z.string().optional(),
    /** The tasks of a caller pay at most so many times the limits of one task in 24 hours. */
    perDay: z.int().optional(),
  }),
  /** Blocks on top of a block before it counts. */
  confirmations: z.int().optional(),
  /** The first block whose events are followed. */
  startBlock: z.int().optional(),
  /** Time limit of one request to the RPC server. */
  timeoutMs: z.int().optional(),
});

/** Limits that the settings leave out: 200 gwei is above the usual fees of public chains. */
export const DEFAULT_CHAIN_LIMITS = { gas: 1_000_000, feePerGas: '200000000000', perDay: 20 };

export type NpcChainSettings = z.output<typeof npcChainSettings>;

/** Settings of the NPC server, which an admin changes while wa2ai runs. */
const npcServerSettings = z.object({
  enabled: z.boolean(),
  name: z.string(),
  description: z.string().optional(),
  routeId: z.string().optional(),
  url: z.string().optional(),
  custom: z.array(z.string()).optional(),
  metadata: z.record(z.string(), z.unknown()).optional(),
  chain: npcChainSettings.optional(),
});

export type NpcServerSettings = z.output<typeof npcServerSettings>;

/** Until an admin stores settings: on where only this machine can call. */
export function defaultNpcSettings(isLoopback: boolean): NpcServerSettings {
  return { enabled: isLoopback, name: 'wa2ai' };
}

/** Capabilities of the card: those that are configured. */
export function capabilitiesOf({ routeId, custom = [], chain }: NpcServerSettings): string[] {
  return [
    ...(chain?.contracts.arena !== undefined ? ['duel'] : []),
    ...(chain?.contracts.quest !== undefined ? ['quest'] : []),
    ...(routeId === undefined ? [] : ['social']),
    'trade',
    'emotion',
    'memory',
    ...(routeId === undefined ? [] : custom),
  ];
}

/** Context of the encrypted RPC URL; it never changes. */
export const RPC_URL_CONTEXT = 'face_setting.npc-rpc-url';

/**
 * Settings of the NPC server among those of all servers, with the RPC URL of the chain encrypted: it may contain a key.
 * @throws {StorageUnavailableError} from both methods
 */
export class NpcSettingsStore {
  readonly #settings: SettingsStore;
  readonly #secrets: Pick<SecretCipher, 'sealText' | 'openText'>;

  constructor(settings: SettingsStore, secrets: Pick<SecretCipher, 'sealText' | 'openText'>) {
    this.#settings = settings;
    this.#secrets = secrets;
  }

  /** Undefined: none are stored, or not those of this version. */
  async get(): Promise<NpcServerSettings | undefined> {
    return this.#opened(await this.#settings.get('npc'));
  }

  /** @param check called with what is stored, as `get` returns it; otherwise as that of SettingsStore */
  async put(
    settings: NpcServerSettings,
    check?: (stored: NpcServerSettings | undefined) => void,
  ): Promise<void> {
    const sealed = withRpcUrl(settings, (rpcUrl) => this.#secrets.sealText(rpcUrl, RPC_URL_CONTEXT));
    await this.#settings.put('npc', sealed, check && ((stored) => check(this.#opened(stored))));
  }

  #opened(stored: unknown): NpcServerSettings | undefined {
    const { success, data } = npcServerSettings.safeParse(stored);
    return success
      ? withRpcUrl(data, (rpcUrl) => this.#secrets.openText(rpcUrl, RPC_URL_CONTEXT))
      : undefined;
  }
}

function withRpcUrl(settings: NpcServerSettings, change: (rpcUrl: string) => string): NpcServerSettings {
  const { chain } = settings;
  return chain ? { ...settings, chain: { ...chain, rpcUrl: change(chain.rpcUrl) } } : settings;
}
