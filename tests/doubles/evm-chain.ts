import { type Block, createBlock } from '@ethereumjs/block';
import { type Common, createCustomCommon, Hardfork, Mainnet } from '@ethereumjs/common';
import { createLegacyTx, createTxFromRLP, type TypedTransaction } from '@ethereumjs/tx';
import {
  Account,
  type Address,
  bigIntToHex,
  bytesToHex,
  createAddressFromString,
  hexToBytes,
} from '@ethereumjs/util';
import { createVM, runTx, type VM } from '@ethereumjs/vm';
import type { Hex } from 'viem';
import { StandInServer } from './stand-in-server.ts';

const GAS_LIMIT = 30_000_000n;
const BASE_FEE = 1_000_000_000n;

interface Log {
  address: Hex;
  topics: Hex[];
  data: Hex;
  logIndex: Hex;
  transactionHash: Hex;
  transactionIndex: Hex;
  blockNumber: Hex;
  blockHash: Hex;
  removed: false;
}

interface MinedTransaction {
  tx: TypedTransaction;
  receipt: Record<string, unknown> & { logs: Log[] };
}

interface MinedBlock {
  block: Block;
  hash: Hex;
  /** The state after the block. */
  stateRoot: Uint8Array;
  transactions: MinedTransaction[];
}

interface RpcCall {
  id: number;
  method: string;
  params?: unknown[];
}

interface CallObject {
  from?: Hex;
  to?: Hex;
  data?: Hex;
  value?: Hex;
}

/** An error as a node answers it. */
class RpcFailure extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * A chain with a real EVM, and the JSON-RPC of an Ethereum node over HTTP. A test mines its blocks and reorganises them.
 */
export class EvmChain {
  readonly server: StandInServer;
  readonly chainId: number;
  /** Mines a block for each transaction that arrives. */
  isMining = true;
  /** The fee that a block asks for from now on. */
  baseFee = BASE_FEE;
  /** Whether blocks show a base fee, as chains with the fee market of EIP-1559 do. */
  hasFeeMarket = true;
  /** Runs before a call is answered; what it throws is the answer. */
  before: (call: RpcCall) => void | Promise<void> = () => undefined;
  /** Calls that arrived, in order. */
  readonly calls: RpcCall[] = [];
  readonly #common: Common;
  readonly #vm: VM;
  #blocks: MinedBlock[] = [];
  #waiting: TypedTransaction[] = [];
  #fork = 0;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(server: StandInServer, common: Common, vm: VM, chainId: number) {
    this.server = server;
    this.#common = common;
    this.#vm = vm;
    this.chainId = chainId;
  }

  static async start(chainId = 31_337): Promise<EvmChain> {
    const chain = await EvmChain.#serve(chainId);
    await chain.mine(1);
    return chain;
  }

  static async #serve(chainId: number, stateManager?: VM['stateManager']): Promise<EvmChain> {
    let chain: EvmChain | undefined;
    const server = await StandInServer.start(async ({ body }) => ({ body: await chain?.answer(body) }));
    const common = createCustomCommon({ chainId }, Mainnet, { hardfork: Hardfork.Shanghai });
    const vm = await createVM({ common, ...(stateManager && { stateManager }) });
    chain = new EvmChain(server, common, vm, chainId);
    return chain;
  }

  /** Another chain with the blocks and the state of this one. */
  async copy(chainId: number): Promise<EvmChain> {
    return await this.#inOrder(async () => {
      const head = this.#blocks.at(-1);
      const stateManager = this.#vm.stateManager.shallowCopy();
      if (head) await stateManager.setStateRoot(head.stateRoot, true);
      const chain = await EvmChain.#serve(chainId, stateManager);
      chain.#blocks = [...this.#blocks];
      return chain;
    });
  }

  get url(): string {
    return this.server.url;
  }

  get height(): number {
    return this.#blocks.length - 1;
  }

  /** Hashes of transactions that wait for a block. */
  get waiting(): Hex[] {
    return this.#waiting.map((tx) => bytesToHex(tx.hash()));
  }

  callsOf(method: string): RpcCall[] {
    return this.calls.filter((call) => call.method === method);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  /** Gives an address so much of the chain's own currency, in the next block. */
  async fund(address: Hex, amount = 10n ** 20n): Promise<void> {
    await this.#inOrder(async () => {
      const to = createAddressFromString(address);
      const account = (await this.#vm.stateManager.getAccount(to)) ?? new Account();
      account.balance += amount;
      await this.#vm.stateManager.checkpoint();
      await this.#vm.stateManager.putAccount(to, account);
      await this.#vm.stateManager.commit();
      await this.#mineBlock([]);
    });
  }

  /** Mines so many blocks; the first one has all transactions that wait and whose turn it is. */
  async mine(count = 1): Promise<void> {
    await this.#inOrder(async () => {
      for (let block = 0; block < count; block++) await this.#mineBlock(this.#waiting.splice(0));
    });
  }

  /**
   * Replaces the last blocks by as many others. Their transactions wait again, or are forgotten.
   * @param isForgotten the nodes of the new blocks have never seen the transactions
   */
  async reorganise(depth: number, { isForgotten = false } = {}): Promise<void> {
    await this.#inOrder(async () => {
      const gone = this.#blocks.splice(-depth);
      const head = this.#blocks.at(-1);
      if (head) await this.#vm.stateManager.setStateRoot(head.stateRoot, true);
      this.#fork += 1;
      for (const _each of gone) await this.#mineBlock([]);
      if (!isForgotten) {
        this.#waiting.unshift(...gone.flatMap(({ transactions }) => transactions.map(({ tx }) => tx)));
      }
    });
  }

  /** Forgets all transactions that wait, as a node that restarts. */
  forgetWaiting(): void {
    this.#waiting = [];
  }

  /** Answers a request of JSON-RPC. */
  async answer(body: string): Promise<unknown> {
    const call = JSON.parse(body) as RpcCall;
    this.calls.push(call);
    try {
      await this.before(call);
      const result = await this.#inOrder(() => this.#result(call.method, call.params ?? []));
      return { jsonrpc: '2.0', id: call.id, result };
    } catch (error) {
      const { message, code = -32603, data } = error as RpcFailure;
      return { jsonrpc: '2.0', id: call.id, error: { code, message, ...(data !== undefined && { data }) } };
    }
  }

  /** One thing at a time: the state of the EVM is one. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #result(method: string, params: unknown[]): Promise<unknown> {
    switch (method) {
      case 'eth_chainId':
        return bigIntToHex(BigInt(this.chainId));
      case 'eth_blockNumber':
        return bigIntToHex(BigInt(this.height));
      case 'eth_gasPrice':
        return bigIntToHex(this.baseFee + 1_000_000_000n);
      case 'eth_maxPriorityFeePerGas':
        return bigIntToHex(1_000_000_000n);
      case 'eth_getBlockByNumber':
        return this.#blockView(this.#blockAt(params[0]), params[1] === true);
      case 'eth_getBalance':
        return bigIntToHex((await this.#accountAt(params[0] as Hex, params[1])).balance);
      case 'eth_getCode': {
        const vm = await this.#vmAt(this.#blockAt(params[1]));
        return bytesToHex(await vm.stateManager.getCode(createAddressFromString(params[0] as Hex)));
      }
      case 'eth_getTransactionCount':
        return bigIntToHex(await this.#nonceOf(params[0] as Hex, params[1]));
      case 'eth_call':
        return bytesToHex((await this.#run(params[0] as CallObject, params[1])).returnValue);
      case 'eth_estimateGas':
        return bigIntToHex((await this.#run(params[0] as CallObject, params[1])).gas);
      case 'eth_sendRawTransaction':
        return await this.#take(params[0] as Hex);
      case 'eth_getTransactionReceipt':
        return this.#mined(params[0] as Hex)?.receipt ?? null;
      case 'eth_getLogs':
        return this.#logs(
          params[0] as { fromBlock: Hex; toBlock: Hex; address?: Hex | Hex[]; topics?: unknown[] },
        );
      default:
        throw new RpcFailure(-32601, `the method ${method} does not exist`);
    }
  }

  async #take(raw: Hex): Promise<Hex> {
    const tx = createTxFromRLP(hexToBytes(raw), { common: this.#common });
    const hash = bytesToHex(tx.hash());
    if (tx.common.chainId() !== BigInt(this.chainId)) throw new RpcFailure(-32000, 'invalid chain id');
    if (this.#mined(hash) || this.waiting.includes(hash)) throw new RpcFailure(-32000, 'already known');
    const from = tx.getSenderAddress();
    const account = (await this.#vm.stateManager.getAccount(from)) ?? new Account();
    if (tx.nonce < account.nonce) throw new RpcFailure(-32000, 'nonce too low');
    if (account.balance < feeOf(tx) * tx.gasLimit) {
      throw new RpcFailure(-32000, 'insufficient funds for gas * price + value');
    }
    const same = this.#waiting.findIndex(
      (other) => other.nonce === tx.nonce && other.getSenderAddress().equals(from),
    );
    const replaced = this.#waiting[same];
    if (replaced && feeOf(tx) * 10n < feeOf(replaced) * 11n) {
      throw new RpcFailure(-32000, 'replacement transaction underpriced');
    }
    if (replaced) this.#waiting[same] = tx;
    else this.#waiting.push(tx);
    if (this.isMining) await this.#mineBlock(this.#waiting.splice(0));
    return hash;
  }

  /** Transactions whose nonce is too high, or whose fee is too low, wait for a later block. */
  async #mineBlock(candidates: TypedTransaction[]): Promise<void> {
    const parent = this.#blocks.at(-1);
    const number = BigInt(this.#blocks.length);
    const block = createBlock(
      {
        header: {
          number,
          parentHash: parent?.block.hash() ?? new Uint8Array(32),
          timestamp: 1_700_000_000n + number * 2n,
          gasLimit: GAS_LIMIT,
          baseFeePerGas: this.baseFee,
          extraData: new TextEncoder().encode(`fork ${this.#fork}`),
        },
      },
      { common: this.#common, skipConsensusFormatValidation: true },
    );
    const hash = bytesToHex(block.hash());
    const transactions: MinedTransaction[] = [];
    let logIndex = 0;
    for (const tx of candidates.sort((a, b) => Number(a.nonce - b.nonce))) {
      const account = await this.#vm.stateManager.getAccount(tx.getSenderAddress());
      if (tx.nonce > (account?.nonce ?? 0n) || feeOf(tx) < this.baseFee) {
        this.#waiting.push(tx);
        continue;
      }
      if (tx.nonce < (account?.nonce ?? 0n)) continue;
      const result = await runTx(this.#vm, { tx, block, skipBlockGasLimitValidation: true });
      const transactionHash = bytesToHex(tx.hash());
      const where = {
        transactionHash,
        transactionIndex: bigIntToHex(BigInt(transactions.length)),
        blockNumber: bigIntToHex(number),
        blockHash: hash,
      };
      const logs = (result.execResult.logs ?? []).map(([address, topics, data]) => ({
        address: bytesToHex(address),
        topics: topics.map((topic) => bytesToHex(topic)),
        data: bytesToHex(data),
        logIndex: bigIntToHex(BigInt(logIndex++)),
        ...where,
        removed: false as const,
      }));
      const receipt = {
        ...where,
        from: tx.getSenderAddress().toString(),
        to: tx.to?.toString() ?? null,
        contractAddress: result.createdAddress?.toString() ?? null,
        status: result.execResult.exceptionError ? '0x0' : '0x1',
        gasUsed: bigIntToHex(result.totalGasSpent),
        cumulativeGasUsed: bigIntToHex(result.totalGasSpent),
        effectiveGasPrice: bigIntToHex(this.baseFee),
        logsBloom: `0x${'0'.repeat(512)}`,
        type: bigIntToHex(BigInt(tx.type)),
        logs,
      };
      transactions.push({ tx, receipt });
    }
    this.#blocks.push({ block, hash, stateRoot: await this.#vm.stateManager.getStateRoot(), transactions });
  }

  async #run(call: CallObject, tag: unknown): Promise<{ returnValue: Uint8Array; gas: bigint }> {
    const at = this.#blockAt(tag);
    const vm = await this.#vmAt(at);
    const from = createAddressFromString(call.from ?? `0x${'0'.repeat(40)}`);
    const data = hexToBytes(call.data ?? '0x');
    const { execResult } = await vm.evm.runCall({
      caller: from,
      origin: from,
      ...(call.to && { to: createAddressFromString(call.to) }),
      data,
      value: BigInt(call.value ?? 0),
      gasLimit: GAS_LIMIT,
      block: at.block,
      skipBalance: true,
    });
    if (execResult.exceptionError) {
      const data = bytesToHex(execResult.returnValue);
      throw new RpcFailure(3, 'execution reverted', data);
    }
    const plain = createLegacyTx(
      { data, gasLimit: GAS_LIMIT, gasPrice: 1n, ...(call.to && { to: call.to }) },
      { common: this.#common },
    );
    // More than what was used, as a call gets 63 of 64 parts of the rest only.
    const gas = plain.getIntrinsicGas() + (execResult.executionGasUsed * 64n) / 63n;
    return { returnValue: execResult.returnValue, gas: gas + 5_000n };
  }

  async #nonceOf(address: Hex, tag: unknown): Promise<bigint> {
    let { nonce } = await this.#accountAt(address, tag);
    if (tag !== 'pending') return nonce;
    const waits = (wanted: bigint) =>
      this.#waiting.some((tx) => tx.nonce === wanted && sameAddress(tx.getSenderAddress(), address));
    while (waits(nonce)) nonce += 1n;
    return nonce;
  }

  async #accountAt(address: Hex, tag: unknown): Promise<Account> {
    const vm = await this.#vmAt(this.#blockAt(tag));
    return (await vm.stateManager.getAccount(createAddressFromString(address))) ?? new Account();
  }

  async #vmAt({ stateRoot }: MinedBlock): Promise<VM> {
    const vm = await this.#vm.shallowCopy();
    await vm.stateManager.setStateRoot(stateRoot, true);
    return vm;
  }

  #blockAt(tag: unknown): MinedBlock {
    const isNumber = typeof tag === 'string' && tag.startsWith('0x');
    const found = isNumber ? this.#blocks[Number(tag)] : this.#blocks.at(tag === 'earliest' ? 0 : -1);
    if (!found) throw new RpcFailure(-32001, 'unknown block');
    return found;
  }

  #mined(hash: Hex): MinedTransaction | undefined {
    return this.#blocks
      .flatMap(({ transactions }) => transactions)
      .find(({ tx }) => bytesToHex(tx.hash()) === hash);
  }

  #blockView({ block, hash, transactions }: MinedBlock, isFull: boolean): Record<string, unknown> {
    const { baseFeePerGas, ...header } = block.toJSON().header ?? {};
    return {
      ...header,
      ...(this.hasFeeMarket && { baseFeePerGas }),
      hash,
      transactions: transactions.map(({ tx, receipt }) =>
        isFull ? { ...tx.toJSON(), ...place(receipt) } : receipt.transactionHash,
      ),
    };
  }

  #logs(filter: { fromBlock: Hex; toBlock: Hex; address?: Hex | Hex[]; topics?: unknown[] }): Log[] {
    const addresses = [filter.address ?? []].flat().map((address) => address.toLowerCase());
    return this.#blocks
      .slice(Number(filter.fromBlock), Number(filter.toBlock) + 1)
      .flatMap(({ transactions }) => transactions.flatMap(({ receipt }) => receipt.logs))
      .filter(({ address }) => addresses.length === 0 || addresses.includes(address))
      .filter(({ topics }) =>
        (filter.topics ?? []).every((wanted, at) => wanted === null || [wanted].flat().includes(topics[at])),
      );
  }
}

/** What a transaction of a block has besides its fields. */
function place({ transactionHash: hash, transactionIndex, from, to }: Record<string, unknown>) {
  return { hash, transactionIndex, from, to };
}

function feeOf(tx: TypedTransaction): bigint {
  return 'maxFeePerGas' in tx ? tx.maxFeePerGas : (tx as { gasPrice: bigint }).gasPrice;
}

function sameAddress(address: Address, text: string): boolean {
  return address.toString() === text.toLowerCase();
}
