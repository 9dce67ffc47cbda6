import type {
  ChainCall,
  ChainEvent,
  ChainReport,
  NpcChain,
  PreparedTransaction,
  SignedTransaction,
  TransactionState,
  WalletTransaction,
} from '../../router/src/features/npc/npc-chain.ts';

/** A chain whose answers a test writes. Signed bytes name their nonce and their fee. */
export class ScriptedNpcChain implements NpcChain {
  readonly chainId: number = 31_337;
  readonly confirmations = 2;
  readonly wallet = `0x${'a'.repeat(40)}`;
  readonly eventSource = 'test';
  startBlock: bigint | undefined;
  /** Thrown by the next calls, one each. */
  failures: Error[] = [];
  /** What `prepare` throws. */
  refusal: Error | undefined;
  nextNonce = 7;
  /** States of the next looks; the last one stays. */
  states: TransactionState[] = [{ state: 'waiting' }];
  /** The fee that the chain takes now. */
  fee = 1;
  /** The most that a transaction may use. */
  gas = 1n;
  head: bigint | undefined = 10n;
  chainEvents: ChainEvent[] = [];
  /** Bytes that were sent, in order. */
  readonly sent: string[] = [];
  readonly prepared: ChainCall[] = [];
  readonly asked: Array<[from: bigint, to: bigint]> = [];

  async prepare(call: ChainCall): Promise<PreparedTransaction> {
    this.#fail();
    if (this.refusal) throw this.refusal;
    this.prepared.push(call);
    return { to: '0x', data: '0x', gas: this.gas, fees: { gasPrice: BigInt(this.fee) } };
  }

  async pendingNonce(): Promise<number> {
    return this.nextNonce;
  }

  async sign(_transaction: PreparedTransaction, nonce: number): Promise<SignedTransaction> {
    return { hash: `0xhash-${nonce}-${this.fee}`, raw: `0xraw-${nonce}-${this.fee}` };
  }

  async broadcast({ raw }: Pick<SignedTransaction, 'raw'>): Promise<string | undefined> {
    this.#fail();
    this.sent.push(raw);
    return undefined;
  }

  async stateOf(): Promise<TransactionState> {
    this.#fail();
    const [state] = this.states;
    if (this.states.length > 1) this.states.shift();
    return state ?? { state: 'waiting' };
  }

  async withHigherFees({ nonce, hash }: WalletTransaction): Promise<SignedTransaction | undefined> {
    const version = await this.sign({ to: '0x', data: '0x', gas: 1n, fees: { gasPrice: 1n } }, nonce);
    return version.hash === hash ? undefined : version;
  }

  async safeBlock(): Promise<bigint | undefined> {
    this.#fail();
    return this.head;
  }

  async events(from: bigint, to: bigint): Promise<ChainEvent[]> {
    this.asked.push([from, to]);
    return this.chainEvents.filter(({ blockNumber }) => blockNumber >= from && blockNumber <= to);
  }

  async report(): Promise<ChainReport> {
    this.#fail();
    const { wallet, chainId } = this;
    return { wallet, chainId, block: '12', balance: '0', tokens: [], problems: ['The wallet is empty.'] };
  }

  #fail(): void {
    const failure = this.failures.shift();
    if (failure) throw failure;
  }
}
