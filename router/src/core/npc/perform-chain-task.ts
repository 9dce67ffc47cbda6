import type { Clock } from '../ports/clock.ts';
import type { TaskSteps } from '../ports/durable-tasks.ts';
import type { ChainCall, NpcChain } from '../ports/npc-chain.ts';
import type { NpcTransactions } from '../ports/npc-transactions.ts';
import { NpcError, RPC } from './npc-error.ts';
import type { NpcTask } from './npc-task.ts';

const POLL_MS = 2_000;

export interface ChainTaskDeps {
  chain: NpcChain;
  transactions: NpcTransactions;
  /** Token of a duel or a quest whose parameters name none. */
  token: string;
  clock: Clock;
}

/** The contract call of a task with checked parameters. */
export function chainCallOf({ type, params }: Pick<NpcTask, 'type' | 'params'>, token: string): ChainCall {
  if (type === 'duel') {
    const { opponent, wager, tokenAddress = token } = params as Record<string, string | undefined>;
    return { kind: 'duel', opponent: opponent ?? '', wager: BigInt(wager ?? 0), token: tokenAddress };
  }
  const { questId, difficulty, timeLimit, reward } = params as Record<string, string | number>;
  const metadata = JSON.stringify({ questId, difficulty, timeLimit });
  const metadataUri = `data:application/json,${encodeURIComponent(metadata)}`;
  return { kind: 'quest', metadataUri, reward: BigInt(reward ?? 0), token };
}

/**
 * Performs a duel or a quest in steps: the transaction is stored with its hash before it is sent, and a repeat sends the same
 * bytes, so a crash pays nothing twice.
 * @throws {NpcError} -32602, -32010, -32011
 * @throws the reason of `stopping`
 */
export async function performChainTask(
  { chain, transactions, token, clock }: ChainTaskDeps,
  steps: Pick<TaskSteps, 'stopping'>,
  task: NpcTask,
): Promise<Record<string, unknown>> {
  const call = chainCallOf(task, token);
  const known = await transactions.ofTask(task.taskId);
  const signed = known ?? (await signOnce({ chain, transactions }, task.taskId, call));
  for (;;) {
    // Sent again until it is deep enough: a node may forget it, and a reorganisation may remove its block.
    await chain.broadcast(signed);
    const done = await chain.confirmed(signed.hash);
    if (done) return resultOf(call, signed.hash, done);
    await clock.sleep(POLL_MS, steps.stopping);
  }
}

async function signOnce(
  { chain, transactions }: Pick<ChainTaskDeps, 'chain' | 'transactions'>,
  taskId: string,
  call: ChainCall,
) {
  const { gas } = await chain.check(call);
  const given = { taskId, wallet: chain.wallet, minNonce: await chain.pendingNonce() };
  return await transactions.addOnce(given, (nonce) => chain.sign(call, { nonce, gas }));
}

function resultOf(
  { kind }: ChainCall,
  transactionHash: string,
  { isSuccess, gasUsed, blockNumber, createdId }: { isSuccess: boolean; gasUsed: bigint; blockNumber: bigint; createdId?: string },
): Record<string, unknown> {
  if (!isSuccess) {
    const reason = `The transaction ${transactionHash} was reverted.`;
    throw new NpcError(RPC.contractFailed, { reason });
  }
  return {
    success: true,
    transactionHash,
    gasUsed: Number(gasUsed),
    blockNumber: Number(blockNumber),
    ...(createdId !== undefined && { [kind === 'duel' ? 'duelId' : 'onChainQuestId']: createdId }),
  };
}
