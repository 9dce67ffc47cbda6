import {
  BaseError,
  ContractFunctionRevertedError,
  ContractFunctionZeroDataError,
  createPublicClient,
  custom,
  decodeFunctionData,
  decodeFunctionResult,
  encodeFunctionData,
  type Hex,
  keccak256,
  numberToHex,
  type PublicClient,
  parseAbi,
  parseEventLogs,
  parseTransaction,
} from 'viem';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { z } from 'zod';
import { Wa2aiError } from '../../core/errors.ts';
import { say } from '../../core/phrases.ts';
import { cleanText, withoutTrailing } from '../../core/text.ts';
import type { AgentTransport } from '../../infra/agents/transport/agent-transport.ts';
import { bodyJson } from '../../infra/agents/transport/error-text.ts';
import { NpcError, RPC } from './json-rpc.ts';
import {
  type ChainCall,
  type ChainEvent,
  type ChainReport,
  ChainSettingsError,
  ChainUnavailableError,
  DEFAULT_CHAIN_LIMITS,
  type ExecutedTransaction,
  type NpcChain,
  type NpcChainSettings,
  type PreparedTransaction,
  type SignedTransaction,
  type TransactionFees,
  type TransactionState,
  type WalletTransaction,
} from './npc-chain.ts';

const DEFAULT_CONFIRMATIONS = 5;
const DEFAULT_TIMEOUT_MS = 10_000;
/** Gas that one task may use, unless the settings say otherwise. */
/** What servers answer about a transaction that they have, or that is executed. */
const HAS_IT =
  /already (?:known|exists|imported|in mempool)|known transaction|nonce (?:is )?too low|same hash/i;

interface ViemNpcChainOptions {
  settings: NpcChainSettings;
  /** Private key of the wallet, `0x` and 64 hex digits. Never logged. */
  key: string;
  transport: Pick<AgentTransport, 'fetch'>;
}

interface Receipt {
  status: Hex;
  gasUsed: Hex;
  blockNumber: Hex;
  transactionIndex: Hex;
  transactionHash: Hex;
  logs: Array<{ address: Hex; topics: [Hex, ...Hex[]]; data: Hex }>;
}

/** The wallet and the contracts over JSON-RPC with viem (2.57.20). Imported when chain settings are first used. */
export class ViemNpcChain implements NpcChain {
  readonly chainId: number;
  readonly confirmations: number;
  readonly wallet: Hex;
  readonly eventSource: string;
  readonly startBlock: bigint | undefined;
  readonly #settings: NpcChainSettings;
  readonly #account: PrivateKeyAccount;
  readonly #client: PublicClient;
  readonly #arena: Hex | undefined;
  readonly #quest: Hex | undefined;
  #isVerified = false;

  constructor({ settings, key, transport }: ViemNpcChainOptions) {
    const {
      rpcUrl,
      chainId,
      confirmations,
      contracts,
      startBlock,
      timeoutMs = DEFAULT_TIMEOUT_MS,
    } = settings;
    this.#settings = settings;
    this.#account = privateKeyToAccount(key as Hex);
    this.#client = rpcClient({ url: rpcUrl, timeoutMs, transport });
    this.#arena = addressOf(contracts.arena);
    this.#quest = addressOf(contracts.quest);
    this.chainId = chainId;
    this.confirmations = confirmations ?? DEFAULT_CONFIRMATIONS;
    this.wallet = this.#account.address.toLowerCase() as Hex;
    this.startBlock = startBlock === undefined ? undefined : BigInt(startBlock);
    this.eventSource = [chainId, this.#arena ?? '', this.#quest ?? '', this.wallet].join(':');
  }

  prepare(call: ChainCall): Promise<PreparedTransaction> {
    return this.#asked(async () => {
      const { to, field, amount, data, simulate } = this.#encoded(call);
      await this.#refuseMissingTokens(call.token as Hex, to, field, amount);
      await simulate();
      const used = await this.#client.estimateGas({ account: this.wallet, to, data });
      const gas = (used * 6n) / 5n;
      const limit = BigInt(this.#limits.gas);
      if (gas > limit) throw failed(`The call needs more gas than the limit of ${limit}.`);
      const fees = await this.#fees();
      const fee = feePerGasOf(fees);
      if (fee > BigInt(this.#limits.feePerGas)) {
        throw failed(`The fees of the chain are above the limit of this NPC now.`);
      }
      if ((await this.#client.getBalance({ address: this.wallet })) < gas * fee) throw noGas();
      return { to, data, gas, fees };
    });
  }

  get #limits() {
    return { ...DEFAULT_CHAIN_LIMITS, ...this.#settings.limits };
  }

  pendingNonce(): Promise<number> {
    return this.#asked(() => this.#client.getTransactionCount({ address: this.wallet, blockTag: 'pending' }));
  }

  async sign({ to, data, gas, fees }: PreparedTransaction, nonce: number): Promise<SignedTransaction> {
    const common = { chainId: this.chainId, nonce, to: to as Hex, data: data as Hex, gas, value: 0n };
    const raw = await this.#account.signTransaction(
      'gasPrice' in fees
        ? { ...common, type: 'legacy', gasPrice: fees.gasPrice }
        : { ...common, type: 'eip1559', maxFeePerGas: fees.maxFee, maxPriorityFeePerGas: fees.tip },
    );
    return { raw, hash: keccak256(raw) };
  }

  broadcast({ raw }: Pick<SignedTransaction, 'raw'>): Promise<string | undefined> {
    return this.#asked(async () => {
      try {
        await this.#client.sendRawTransaction({ serializedTransaction: raw as Hex });
        return undefined;
      } catch (error) {
        const answer = answerOf(error);
        if (answer === undefined) throw error;
        return HAS_IT.test(answer) ? undefined : answer;
      }
    });
  }

  stateOf(transaction: WalletTransaction): Promise<TransactionState> {
    return this.#asked(async () => {
      const { hash, earlierHashes, nonce, wallet } = transaction;
      // Before the receipt: a newer block could show a receipt as deeper than it was.
      const head = await this.#client.getBlockNumber();
      for (const version of [hash, ...earlierHashes]) {
        const receipt = await this.#receiptOf(version as Hex);
        if (!receipt) continue;
        const depth = Number(head - BigInt(receipt.blockNumber));
        if (depth < this.confirmations) return { state: 'included', depth: Math.max(depth, 0) };
        return { state: 'executed', ...(await this.#executed(transaction, receipt)) };
      }
      const safe = head - BigInt(this.confirmations);
      if (safe < 0n) return { state: 'waiting' };
      const used = await this.#client.getTransactionCount({ address: wallet as Hex, blockNumber: safe });
      return used > nonce ? { state: 'superseded' } : { state: 'waiting' };
    });
  }

  withHigherFees({ raw, wallet }: WalletTransaction): Promise<SignedTransaction | undefined> {
    return this.#asked(async () => {
      if (wallet !== this.wallet) return undefined;
      const old = parseTransaction(raw as Hex);
      const fees = higherFees(old, await this.#fees());
      if (!fees || feePerGasOf(fees) > BigInt(this.#limits.feePerGas)) return undefined;
      const { to, data = '0x', gas = 0n, nonce = 0 } = old;
      return await this.sign({ to: String(to), data, gas, fees }, nonce);
    });
  }

  safeBlock(): Promise<bigint | undefined> {
    return this.#asked(async () => {
      const safe = (await this.#client.getBlockNumber()) - BigInt(this.confirmations);
      return safe < 0n ? undefined : safe;
    });
  }

  events(from: bigint, to: bigint): Promise<ChainEvent[]> {
    return this.#asked(async () => {
      const logs = await this.#client.getLogs({
        address: [this.#arena ?? [], this.#quest ?? []].flat(),
        events: [...ARENA_ABI, ...QUEST_ABI].filter((entry) => entry.type === 'event'),
        fromBlock: from,
        toBlock: to,
        strict: true,
      });
      return logs.flatMap((log): ChainEvent[] => {
        const place = {
          blockNumber: log.blockNumber,
          transactionHash: log.transactionHash,
          logIndex: log.logIndex,
        };
        const address = log.address.toLowerCase();
        if (log.eventName === 'DuelCreated' && address === this.#arena) {
          const { duelId, creator, opponent } = textsOf(log.args);
          if (creator !== this.wallet && opponent !== this.wallet) return [];
          return [{ kind: 'duel-created', ...place, values: { duelId, creator, opponent } }];
        }
        if (log.eventName !== 'QuestCompleted' || address !== this.#quest) return [];
        const { questId, player, reward } = textsOf(log.args);
        return [{ kind: 'quest-completed', ...place, values: { questId, player, reward } }];
      });
    });
  }

  report(): Promise<ChainReport> {
    return this.#asked(async () => {
      const problems: string[] = [];
      const contracts = { arena: this.#arena, quest: this.#quest };
      for (const [name, address] of Object.entries(contracts)) {
        if (address && !(await this.#client.getCode({ address }))) {
          problems.push(`There is no contract at the address of contracts.${name}.`);
        }
      }
      const tokens: ChainReport['tokens'] = [];
      for (const token of this.#settings.tokens) {
        const address = addressOf(token) as Hex;
        if (!(await this.#client.getCode({ address }))) {
          problems.push(`There is no contract at the address of the token ${address}.`);
          continue;
        }
        const allowances: { arena?: string; quest?: string } = {};
        for (const [name, spender] of Object.entries(contracts)) {
          if (spender)
            allowances[name as 'arena' | 'quest'] = String(await this.#allowance(address, spender));
        }
        tokens.push({ address, balance: String(await this.#balance(address)), allowances });
      }
      const balance = await this.#client.getBalance({ address: this.wallet });
      if (balance === 0n)
        problems.push('The wallet has nothing of the currency of the chain, which pays for gas.');
      const block = String(await this.#client.getBlockNumber());
      const { wallet, chainId } = this;
      return { wallet, chainId, block, balance: String(balance), tokens, problems };
    });
  }

  /** Runs requests on the right chain. */
  async #asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (!this.#isVerified) {
        const chainId = await this.#client.getChainId();
        if (chainId !== this.chainId) {
          throw new ChainSettingsError(say('chain.other-chain', { chain: chainId, set: this.chainId }));
        }
        this.#isVerified = true;
      }
      return await work();
    } catch (error) {
      const known = chainErrorOf(error);
      // The server may be another one after an outage.
      if (known instanceof ChainUnavailableError) this.#isVerified = false;
      throw known;
    }
  }

  #encoded(call: ChainCall) {
    const token = call.token as Hex;
    if (call.kind === 'duel') {
      const to = contractAt(this.#arena, 'duel');
      const args = [call.opponent as Hex, call.wager, token] as const;
      const request = { abi: ARENA_ABI, functionName: 'createDuel', args } as const;
      return {
        to,
        field: 'wager',
        amount: call.wager,
        data: encodeFunctionData(request),
        simulate: () => this.#client.simulateContract({ ...request, account: this.wallet, address: to }),
      };
    }
    const to = contractAt(this.#quest, 'quest');
    const args = [call.metadataUri, call.reward, token] as const;
    const request = { abi: QUEST_ABI, functionName: 'createQuest', args } as const;
    return {
      to,
      field: 'reward',
      amount: call.reward,
      data: encodeFunctionData(request),
      simulate: () => this.#client.simulateContract({ ...request, account: this.wallet, address: to }),
    };
  }

  async #refuseMissingTokens(token: Hex, spender: Hex, field: string, amount: bigint): Promise<void> {
    const balance = await this.#balance(token);
    if (balance < amount) {
      const reason = `The wallet of this NPC has ${balance} of the token ${token}, and needs ${amount}.`;
      throw new NpcError(RPC.insufficientFunds, { field, reason });
    }
    const allowance = await this.#allowance(token, spender);
    if (allowance < amount) {
      const reason = `The contract ${spender} may spend ${allowance} of the token ${token}, and needs ${amount}. The owner of the wallet must approve more.`;
      throw new NpcError(RPC.insufficientFunds, { field, reason });
    }
  }

  #balance(token: Hex): Promise<bigint> {
    return this.#client.readContract({
      abi: TOKEN_ABI,
      address: token,
      functionName: 'balanceOf',
      args: [this.wallet],
    });
  }

  #allowance(token: Hex, spender: Hex): Promise<bigint> {
    return this.#client.readContract({
      abi: TOKEN_ABI,
      address: token,
      functionName: 'allowance',
      args: [this.wallet, spender],
    });
  }

  /** Twice the fee of the newest block, so that a transaction stays good while the market rises. */
  async #fees(): Promise<TransactionFees> {
    const { baseFeePerGas } = await this.#client.getBlock({ blockTag: 'latest' });
    if (baseFeePerGas === null) return { gasPrice: await this.#client.getGasPrice() };
    const tip = await this.#client.estimateMaxPriorityFeePerGas();
    return { maxFee: 2n * baseFeePerGas + tip, tip };
  }

  async #receiptOf(hash: Hex): Promise<Receipt | undefined> {
    const receipt = await this.#client.request({ method: 'eth_getTransactionReceipt', params: [hash] });
    return (receipt as Receipt | null) ?? undefined;
  }

  async #executed({ raw }: WalletTransaction, receipt: Receipt): Promise<ExecutedTransaction> {
    const blockNumber = BigInt(receipt.blockNumber);
    const common = { hash: receipt.transactionHash, gasUsed: BigInt(receipt.gasUsed), blockNumber };
    const { to, data = '0x' } = parseTransaction(raw as Hex);
    const contract = addressOf(to ?? undefined);
    if (receipt.status !== '0x1') {
      const revertReason = contract && (await this.#revertReason(contract, data, blockNumber));
      return { ...common, isSuccess: false, ...(revertReason !== undefined && { revertReason }) };
    }
    const createdId =
      contract === this.#quest ? await this.#questId(receipt, contract as Hex, data) : this.#duelId(receipt);
    return { ...common, isSuccess: true, ...(createdId !== undefined && { createdId: String(createdId) }) };
  }

  #duelId({ logs }: Receipt): bigint | undefined {
    const own = logs.filter(({ address }) => address.toLowerCase() === this.#arena);
    const [created] = parseEventLogs({ abi: ARENA_ABI, logs: own as never, eventName: 'DuelCreated' });
    return created?.args.duelId;
  }

  /**
   * The specification has no event for a new quest, so the call is repeated on the state before its block. That is the same
   * call only when no earlier transaction of the block went to the contract.
   */
  async #questId(
    { blockNumber, transactionIndex }: Receipt,
    to: Hex,
    data: Hex,
  ): Promise<bigint | undefined> {
    try {
      const block = (await this.#client.request({
        method: 'eth_getBlockByNumber',
        params: [blockNumber, true],
      })) as { transactions: Array<{ to: Hex | null }> } | null;
      const earlier = block?.transactions.slice(0, Number(transactionIndex)) ?? [{ to }];
      if (earlier.some((other) => addressOf(other.to ?? undefined) === to)) return undefined;
      const before = numberToHex(BigInt(blockNumber) - 1n);
      const result = (await this.#client.request({
        method: 'eth_call',
        params: [{ from: this.wallet, to, data }, before],
      })) as Hex;
      return decodeFunctionResult({ abi: QUEST_ABI, functionName: 'createQuest', data: result });
    } catch {
      // A server without the state of older blocks: the quest exists, only its id is not known.
      return undefined;
    }
  }

  /** Of the same call on the state before the block; undefined: it would succeed there, or the server does not know. */
  async #revertReason(to: Hex, data: Hex, blockNumber: bigint): Promise<string | undefined> {
    const place = { address: to, account: this.wallet, blockNumber: blockNumber - 1n };
    try {
      if (to === this.#quest) {
        const call = decodeFunctionData({ abi: QUEST_ABI, data });
        await this.#client.simulateContract({ abi: QUEST_ABI, ...call, ...place });
      } else {
        const call = decodeFunctionData({ abi: ARENA_ABI, data });
        await this.#client.simulateContract({ abi: ARENA_ABI, ...call, ...place });
      }
      return undefined;
    } catch (error) {
      return revertReasonOf(error);
    }
  }
}

function contractAt(address: Hex | undefined, name: string): Hex {
  if (address) return address;
  throw new NpcError(RPC.invalidParams, { field: 'type', reason: `This NPC has no contract for a ${name}.` });
}

function failed(reason: string): NpcError {
  return new NpcError(RPC.contractFailed, { reason });
}

function addressOf(address: string | undefined): Hex | undefined {
  return address?.toLowerCase() as Hex | undefined;
}

/** Arguments of an event as texts: numbers as decimal digits, addresses in lower case. */
function textsOf<Name extends string>(args: Record<Name, string | bigint>): Record<Name, string> {
  const texts = Object.entries<string | bigint>(args).map(([name, value]) => [
    name,
    String(value).toLowerCase(),
  ]);
  return Object.fromEntries(texts) as Record<Name, string>;
}

/** The contracts of the NPC Engine's specification. */
export const ARENA_ABI = parseAbi([
  'function createDuel(address opponent, uint256 wager, address token) returns (uint256)',
  'event DuelCreated(uint256 indexed duelId, address indexed creator, address indexed opponent)',
]);

const QUEST_ABI = parseAbi([
  'function createQuest(string metadataUri, uint256 reward, address token) returns (uint256)',
  'event QuestCompleted(uint256 indexed questId, address indexed player, uint256 reward)',
]);

/** What is needed of a token (ERC-20). */
const TOKEN_ABI = parseAbi([
  'function balanceOf(address account) view returns (uint256)',
  'function allowance(address owner, address spender) view returns (uint256)',
]);

/** The most that a transaction pays for a unit of gas, in wei. */
export function feePerGasOf(fees: TransactionFees): bigint {
  return 'gasPrice' in fees ? fees.gasPrice : fees.maxFee;
}

/** The fees of a transaction that was signed. */
interface SignedFees {
  gasPrice?: bigint | undefined;
  maxFeePerGas?: bigint | undefined;
  maxPriorityFeePerGas?: bigint | undefined;
}

/**
 * Fees for another version of a transaction that waits: those of the market, and an eighth more than before, because servers
 * refuse a version that pays less than a tenth more.
 * @param market fees for a new transaction: `maxFee` is twice the fee of the newest block, and the tip
 * @returns undefined: the fees that it has are enough
 */
export function higherFees(signed: SignedFees, market: TransactionFees): TransactionFees | undefined {
  const { gasPrice, maxFeePerGas = 0n, maxPriorityFeePerGas: tip = 0n } = signed;
  if ('gasPrice' in market) {
    if (gasPrice === undefined || market.gasPrice <= gasPrice) return undefined;
    return { gasPrice: larger(market.gasPrice, more(gasPrice)) };
  }
  const blockFee = (market.maxFee - market.tip) / 2n;
  // A price was signed before the chain had a fee market.
  if (gasPrice !== undefined || blockFee + tip <= maxFeePerGas) return undefined;
  return { maxFee: larger(market.maxFee, more(maxFeePerGas)), tip: larger(market.tip, more(tip)) };
}

function more(fee: bigint): bigint {
  return (fee * 9n) / 8n + 1n;
}

function larger(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}

/** A larger answer is refused: events of 500 blocks fit. */
const MAX_BYTES = 16 * 1024 * 1024;

/** JSON-RPC 2.0; an error has its code, its sentence and sometimes the data of a revert. */
const rpcAnswer = z.union([
  z.object({ error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }) }),
  z.object({ result: z.unknown() }),
]);

interface RpcClientOptions {
  /** May contain a secret: no error contains it. */
  url: string;
  /** Of one request. */
  timeoutMs: number;
  transport: Pick<AgentTransport, 'fetch'>;
}

/** A failed call as the server answered it; viem reads these fields. */
class RpcAnswerError extends Error {
  readonly code: number;
  readonly data: unknown;

  constructor({ code, message, data }: { code: number; message: string; data?: unknown }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * viem over wa2ai's own HTTP requests, with their limits and the egress policy. It retries nothing.
 * A request that gets no answer of JSON-RPC fails with ChainUnavailableError as a cause.
 */
export function rpcClient(options: RpcClientOptions): PublicClient {
  let requests = 0;
  const request = async ({ method, params }: { method: string; params?: unknown }) => {
    requests += 1;
    const answer = await post(options, { jsonrpc: '2.0', id: requests, method, params: params ?? [] });
    if ('error' in answer) throw new RpcAnswerError(answer.error);
    return answer.result;
  };
  return createPublicClient({ transport: custom({ request }, { retryCount: 0 }), cacheTime: 0 });
}

async function post(
  { url, timeoutMs, transport }: RpcClientOptions,
  body: { method: string } & Record<string, unknown>,
): Promise<z.output<typeof rpcAnswer>> {
  const answer = await transport.fetch(url, {
    method: 'POST',
    headers: new Headers({ 'content-type': 'application/json', accept: 'application/json' }),
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(timeoutMs),
    maxBytes: MAX_BYTES,
  });
  const { method } = body;
  if (answer.kind === 'fault') {
    throw new ChainUnavailableError(
      answer.fault === 'aborted'
        ? say('chain.late', { method, ms: timeoutMs })
        : say('chain.silent', { method, why: answer.fault }),
    );
  }
  const parsed = rpcAnswer.safeParse(bodyJson(answer));
  if (!parsed.success)
    throw new ChainUnavailableError(say('chain.not-json-rpc', { method, status: answer.status }));
  return parsed.data;
}

const MAX_REASON_CHARS = 300;

/**
 * What a failed call of viem means: a revert is -32011 with the reason of the contract, missing money for gas is -32010, and
 * everything else is a chain that does not answer as one. viem's own texts are not passed on: they quote the request.
 */
export function chainErrorOf(error: unknown): Wa2aiError {
  const own = causeOf(error, (cause) => cause instanceof Wa2aiError);
  if (own instanceof Wa2aiError) return own;
  const reason = revertReasonOf(error);
  if (reason !== undefined) {
    return new NpcError(RPC.contractFailed, { reason: `The contract refused the call: ${reason}.` });
  }
  if (causeOf(error, (cause) => cause instanceof ContractFunctionZeroDataError)) {
    return new ChainSettingsError(say('chain.no-contract'));
  }
  const answer = answerOf(error);
  if (/insufficient (?:funds|balance)/i.test(answer ?? '')) return noGas();
  return new ChainUnavailableError(
    answer === undefined ? say('chain.unreadable') : say('chain.refused', { why: answer }),
  );
}

/** The wallet cannot pay for gas. */
function noGas(): NpcError {
  const reason = 'The wallet of this NPC has too little of the currency of the chain to pay for gas.';
  return new NpcError(RPC.insufficientFunds, { reason });
}

/** Why a contract reverted, in its own words, without a full stop; undefined: it did not. */
export function revertReasonOf(error: unknown): string | undefined {
  const reverted = causeOf(error, (cause) => cause instanceof ContractFunctionRevertedError);
  if (!(reverted instanceof ContractFunctionRevertedError)) return undefined;
  const { reason, data, signature } = reverted;
  return shortened(reason ?? data?.errorName ?? signature ?? 'it gives no reason');
}

/** The sentence of the RPC server, when it answered with an error. */
export function answerOf(error: unknown): string | undefined {
  const found = causeOf(error, (cause) => {
    const { code } = cause as { code?: unknown };
    return typeof code === 'number' && !(cause instanceof BaseError);
  });
  return found instanceof Error ? shortened(found.message) : undefined;
}

function shortened(text: string): string {
  // A contract chooses this text: one line of it, without control characters.
  const line = cleanText(text)
    .replaceAll(/\p{Cc}+/gu, ' ')
    .trim();
  return withoutTrailing(line.slice(0, MAX_REASON_CHARS), '.');
}

function causeOf(error: unknown, matches: (cause: unknown) => boolean): unknown {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 10; cause = cause.cause, depth += 1) {
    if (matches(cause)) return cause;
  }
  return undefined;
}
