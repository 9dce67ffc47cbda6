import type { Clock } from '../../core/clock.ts';
import { type Logger, LogThrottle } from '../../core/logger.ts';
import { invalidParam, NpcError, RPC } from './json-rpc.ts';
import {
  type ChainCall,
  ChainSettingsError,
  ChainUnavailableError,
  DEFAULT_CHAIN_LIMITS,
  type ExecutedTransaction,
  type NpcChain,
  type NpcChainSettings,
  type NpcServerSettings,
  type NpcTransactions,
  type Spent,
  type TransactionSpending,
  type TransactionState,
  type WalletTransaction,
} from './npc-chain.ts';
import type { NpcTask, NpcTasks } from './npc-tasks.ts';

/** How often a transaction is looked at. */
const POLL_MS = 2_000;
/** Longest pause while the RPC server does not answer. */
const MAX_PAUSE_MS = 30_000;
/** As long as nothing is signed, a task waits no longer for an RPC server. */
const GIVE_UP_MS = 60_000;
/** A transaction that is in no block after this gets higher fees. */
const RAISE_AFTER_MS = 60_000;
const PERCENT = { signed: 25, included: 50, last: 95 };

export interface ChainTaskDeps {
  settings(): Promise<NpcServerSettings>;
  /** Of the settings of this moment; undefined: there are none. */
  chain(): Promise<NpcChain | undefined>;
  transactions: NpcTransactions;
  npcTasks: Pick<NpcTasks, 'progress'>;
  clock: Clock;
  log: Logger;
}

/**
 * Signs and stores the transaction of a task; a repeat finds it. Nothing is sent.
 * @throws {NpcError} -32602, -32010, -32011; -32603 when the chain does not answer
 * @throws {StorageUnavailableError} safe to repeat
 * @throws the reason of `stopping`
 */
export async function signForTask(
  deps: ChainTaskDeps,
  task: NpcTask,
  stopping: AbortSignal,
): Promise<WalletTransaction> {
  const { transactions, clock, log } = deps;
  const { taskId } = task;
  const startedMs = clock.monotonicMs();
  for (;;) {
    try {
      const known = await transactions.ofTask(taskId);
      if (known) return known;
      const signed = await sign(deps, task);
      log.info({ task: taskId, transaction: signed.hash, nonce: signed.nonce }, 'transaction signed');
      return signed;
    } catch (error) {
      if (error instanceof ChainSettingsError) {
        log.error({ err: error, task: taskId }, 'chain settings of the npc are wrong');
        throw new NpcError(RPC.internal, {
          reason: 'The chain settings of this NPC are wrong. Nothing was sent.',
        });
      }
      if (!(error instanceof ChainUnavailableError)) throw error;
      if (clock.monotonicMs() - startedMs >= GIVE_UP_MS) {
        log.error({ err: error, task: taskId }, 'chain of the npc does not answer');
        throw new NpcError(RPC.internal, { reason: 'The chain did not answer. Nothing was sent.' });
      }
      await clock.sleep(POLL_MS, stopping);
    }
  }
}

async function sign(deps: ChainTaskDeps, task: NpcTask): Promise<WalletTransaction> {
  const chain = await chainOf(deps);
  const settings = (await deps.settings()).chain;
  if (!settings) throw noChain();
  const call = chainCallOf(task, settings);
  const { chainId, wallet } = chain;
  if (call.kind === 'duel' && call.opponent === wallet) {
    throw invalidParam('opponent', 'opponent must not be the wallet of this NPC.');
  }
  const prepared = await chain.prepare(call);
  const { kind: type } = call;
  const amount = call.kind === 'duel' ? call.wager : call.reward;
  const spends = { owner: task.owner, type, amount, gas: prepared.gas };
  const given = { taskId: task.taskId, chainId, wallet, minNonce: await chain.pendingNonce(), spends };
  return await deps.transactions.addOnce(given, async (nonce, spent) => {
    refuseMoreThanPerDay(settings.limits, spends, spent);
    return await chain.sign(prepared, nonce);
  });
}

/** @throws {NpcError} -32010: with this transaction the owner would spend more than in 24 hours is allowed */
function refuseMoreThanPerDay(
  limits: NpcChainSettings['limits'],
  spends: TransactionSpending,
  spent: Spent,
): void {
  const { gas, perDay, wager, reward } = { ...DEFAULT_CHAIN_LIMITS, ...limits };
  const most = (limit: string | number = 0) => BigInt(limit) * BigInt(perDay);
  const isAllowed =
    spent.amount + spends.amount <= most(spends.type === 'duel' ? wager : reward) &&
    spent.gas + spends.gas <= most(gas);
  if (isAllowed) return;
  throw new NpcError(RPC.insufficientFunds, {
    reason:
      'The tasks of this caller have spent what they may in 24 hours (limits.perDay). Nothing was sent.',
  });
}

/**
 * Sends the stored transaction of a task until it is in a block that is deep enough, for as long as that takes. A repeat
 * sends the same bytes, so a crash pays nothing twice.
 * @returns the result of the task
 * @throws {NpcError} -32011 the contract reverted it, or it can never be executed
 * @throws {StorageUnavailableError} safe to repeat
 * @throws the reason of `stopping`
 */
export async function confirmForTask(
  deps: ChainTaskDeps,
  { taskId, type }: Pick<NpcTask, 'taskId' | 'type'>,
  stopping: AbortSignal,
): Promise<Record<string, unknown>> {
  const { transactions, npcTasks, clock, log } = deps;
  let transaction = await transactions.ofTask(taskId);
  if (!transaction) throw new NpcError(RPC.internal, { reason: 'The transaction of the task is gone.' });
  await npcTasks.progress(taskId, PERCENT.signed);
  const throttle = new LogThrottle(() => clock.monotonicMs());
  let raisedMs = clock.monotonicMs();
  const looks = new Map<string, number>();
  let pauseMs = POLL_MS;
  for (;;) {
    try {
      const chain = await chainOf(deps, transaction);
      const mayRaise = clock.monotonicMs() - raisedMs >= RAISE_AFTER_MS;
      if (mayRaise) raisedMs = clock.monotonicMs();
      const settled = await settleTransaction(deps, chain, transaction, { mayRaise, looks });
      transaction = settled.transaction;
      const { now } = settled;
      pauseMs = POLL_MS;
      if (now.state === 'executed') return resultOf(type, now);
      if (now.state === 'superseded') throw supersededError(transaction);
      if (now.state === 'included') {
        await npcTasks.progress(taskId, progressOf(now.depth, chain.confirmations));
      }
    } catch (error) {
      if (!(error instanceof ChainUnavailableError || error instanceof ChainSettingsError)) throw error;
      if (throttle.count('failed') !== undefined) {
        log.warn({ err: error, task: taskId }, 'transaction cannot be followed, retrying');
      }
      pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS);
    }
    await clock.sleep(pauseMs, stopping);
  }
}

/** @throws {ChainSettingsError} there are no settings, or those of another chain than the transaction's */
async function chainOf({ chain }: ChainTaskDeps, transaction?: WalletTransaction): Promise<NpcChain> {
  const current = await chain();
  if (!current) throw noChain();
  if (transaction && current.chainId !== transaction.chainId) {
    throw new ChainSettingsError({
      sentence: `The transaction ${transaction.hash} is of chain ${transaction.chainId}, and the settings are of chain ${current.chainId}. Restore the settings until it has ended.`,
    });
  }
  return current;
}

function noChain(): ChainSettingsError {
  return new ChainSettingsError({
    sentence:
      'There are no chain settings, or this node has no key of the wallet. Set both, the key on every node.',
  });
}

function progressOf(depth: number, confirmations: number): number {
  const { included, last } = PERCENT;
  return (
    included + Math.floor(((last - included) * Math.min(depth, confirmations)) / Math.max(confirmations, 1))
  );
}

function resultOf(type: string, executed: ExecutedTransaction): Record<string, unknown> {
  const { hash, isSuccess, revertReason, gasUsed, blockNumber, createdId } = executed;
  if (!isSuccess) {
    const why = revertReason === undefined ? '' : `: ${revertReason}`;
    throw new NpcError(RPC.contractFailed, { reason: `The transaction ${hash} was reverted${why}.` });
  }
  return {
    success: true,
    transactionHash: hash,
    gasUsed: Number(gasUsed),
    blockNumber: Number(blockNumber),
    ...(createdId !== undefined && { [type === 'duel' ? 'duelId' : 'onChainQuestId']: createdId }),
  };
}

function supersededError({ hash }: WalletTransaction): NpcError {
  const reason = `The transaction ${hash} cannot be executed: another transaction of the wallet has its nonce.`;
  return new NpcError(RPC.contractFailed, { reason });
}

const ZERO_ADDRESS = /^0x0{40}$/;

/** Tasks that call a contract. */
export function isChainTask({ type, params }: Pick<NpcTask, 'type' | 'params'>): boolean {
  return (type === 'duel' || type === 'quest') && params.action === undefined;
}

/**
 * The contract call of a task with checked parameters.
 * @throws {NpcError} -32602 an address, the token or an amount is not allowed
 */
export function chainCallOf(
  { type, params }: Pick<NpcTask, 'type' | 'params'>,
  { tokens, limits }: Pick<NpcChainSettings, 'tokens' | 'limits'>,
): ChainCall {
  const given = params as Record<string, string | number | undefined>;
  const token = String(given.tokenAddress ?? tokens[0]).toLowerCase();
  if (!tokens.some((allowed) => allowed.toLowerCase() === token)) {
    throw invalidParam('tokenAddress', `This NPC pays with these tokens only: ${tokens.join(', ')}.`);
  }
  if (type === 'duel') {
    const opponent = String(given.opponent).toLowerCase();
    if (ZERO_ADDRESS.test(opponent)) throw invalidParam('opponent', 'opponent must not be the zero address.');
    return { kind: 'duel', opponent, wager: amountOf('wager', given.wager, limits.wager), token };
  }
  const { questId, difficulty, timeLimit } = given;
  const metadata = JSON.stringify({ questId, difficulty, timeLimit });
  return {
    kind: 'quest',
    metadataUri: `data:application/json,${encodeURIComponent(metadata)}`,
    reward: amountOf('reward', given.reward, limits.reward),
    token,
  };
}

function amountOf(field: string, value: unknown, limit = '0'): bigint {
  const amount = BigInt(String(value));
  if (amount > BigInt(limit)) throw invalidParam(field, `${field} must be at most ${limit}.`);
  return amount;
}

/** An RPC server may show a used nonce before the receipt that belongs to it: it is asked so often. */
const SUPERSEDED_LOOKS = 3;

interface SettleOptions {
  /** Whether the transaction may get higher fees now, under the same nonce. */
  mayRaise: boolean;
  /** How often a transaction was seen superseded, by its hash; kept between calls. */
  looks: Map<string, number>;
}

/** A transaction with what became of it. */
interface Settling {
  transaction: WalletTransaction;
  now: TransactionState;
}

/**
 * Looks at a stored transaction once, and sends it when it is in no block: the RPC server may have forgotten it, a
 * reorganisation may have removed its block, or nobody has sent it. Its end is stored. Safe to repeat, on any node.
 * @throws {ChainUnavailableError} {ChainSettingsError} {StorageUnavailableError}
 */
export async function settleTransaction(
  { transactions, log }: { transactions: NpcTransactions; log: Logger },
  chain: NpcChain,
  transaction: WalletTransaction,
  { mayRaise, looks }: SettleOptions,
): Promise<Settling> {
  const { taskId, hash } = transaction;
  const now = await chain.stateOf(transaction);
  switch (now.state) {
    case 'executed':
      await transactions.settle(taskId, now.isSuccess ? 'succeeded' : 'reverted');
      log.info({ task: taskId, transaction: now.hash, isSuccess: now.isSuccess }, 'transaction executed');
      return { transaction, now };
    case 'superseded': {
      const count = (looks.get(hash) ?? 0) + 1;
      looks.set(hash, count);
      if (count < SUPERSEDED_LOOKS) return { transaction, now: { state: 'waiting' } };
      looks.delete(hash);
      await transactions.settle(taskId, 'superseded');
      log.error({ task: taskId, transaction: hash }, 'nonce of a transaction was used by another one');
      return { transaction, now };
    }
    case 'included':
      return { transaction, now };
    case 'waiting': {
      const newest = mayRaise ? await raised({ transactions, log }, chain, transaction) : transaction;
      const refusal = await chain.broadcast(newest);
      if (refusal !== undefined) {
        log.debug({ task: taskId, transaction: newest.hash, refusal }, 'transaction not taken, retrying');
      }
      return { transaction: newest, now };
    }
  }
}

async function raised(
  { transactions, log }: { transactions: NpcTransactions; log: Logger },
  chain: NpcChain,
  transaction: WalletTransaction,
): Promise<WalletTransaction> {
  const version = await chain.withHigherFees(transaction);
  if (!version) return transaction;
  const stored = await transactions.replace(transaction.taskId, transaction.hash, version);
  log.info({ task: transaction.taskId, transaction: version.hash }, 'transaction got higher fees');
  return stored ?? transaction;
}
