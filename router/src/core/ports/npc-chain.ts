/** A transaction that a task needs: the contract function of the specification with its arguments. */
export type ChainCall =
  | { kind: 'duel'; opponent: string; wager: bigint; token: string }
  | { kind: 'quest'; metadataUri: string; reward: bigint; token: string };

/** A signed transaction. The same bytes may be sent any number of times: a chain executes them once. */
export interface SignedTransaction {
  hash: string;
  nonce: number;
  /** The signed bytes, `0x…`. */
  raw: string;
}

/** What a transaction did, when it is as deep as the confirmations of the settings. */
export interface ConfirmedTransaction {
  isSuccess: boolean;
  gasUsed: bigint;
  blockNumber: bigint;
  /** `duelId` of DuelCreated, or the new quest's id. */
  createdId?: string;
}

/** An event of the contracts, at least as deep as the confirmations. */
export interface ChainEvent {
  kind: 'duel-created' | 'quest-completed';
  blockNumber: bigint;
  blockHash: string;
  logIndex: number;
  transactionHash: string;
  /** Decimal digits and addresses, by the names of the specification. */
  values: Record<string, string>;
}

/**
 * The wallet of the NPC and its contracts.
 * @throws {ChainUnavailableError} from every method: the node of the chain does not answer; safe to repeat
 */
export interface NpcChain {
  /** Address of the wallet. */
  readonly wallet: string;
  /**
   * Checks amounts, balance and allowance, and simulates the call.
   * @returns the gas that it needs
   * @throws {NpcError} -32602 beyond a limit, -32010 missing funds or allowance, -32011 with the revert reason
   */
  check(call: ChainCall): Promise<{ gas: bigint }>;
  /** The next nonce of the wallet, with the transactions that wait at the node. */
  pendingNonce(): Promise<number>;
  sign(call: ChainCall, options: { nonce: number; gas: bigint }): Promise<SignedTransaction>;
  /** Sends the bytes. A transaction that the node knows, or that is in a block, is no error. */
  broadcast(transaction: SignedTransaction): Promise<void>;
  /** Undefined: not in a block that is deep enough. */
  confirmed(hash: string): Promise<ConfirmedTransaction | undefined>;
  /** The newest block that is deep enough. */
  safeBlock(): Promise<bigint>;
  /** Events of these blocks, in order. @param to at most `safeBlock` */
  events(from: bigint, to: bigint): Promise<ChainEvent[]>;
}
