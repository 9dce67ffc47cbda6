import type { SendMessageInput } from '../../core/delivery/send-message.ts';
import type { TaskInput, TaskResult, TaskSteps } from '../../core/ports/durable-tasks.ts';
import { type AskNpcAgentDeps, askNpcAgent } from './ask-npc-agent.ts';
import { isChainTask } from './chain-task.ts';
import { emotionsAt } from './emotions.ts';
import { rankMemories } from './memories.ts';
import type { NpcEmotions } from './npc-emotions.ts';
import { NpcError, type NpcErrorBody, RPC } from './npc-error.ts';
import type { NpcMemories } from './npc-memories.ts';
import { NOT_PERFORMED, type NpcTask, type NpcTaskEnd, peerOf } from './npc-task.ts';
import type { NpcTasks } from './npc-tasks.ts';
import { type ChainTaskDeps, confirmForTask, signForTask } from './perform-chain-task.ts';

/** Memories that an agent gets as context. */
const MAX_CONTEXT_MEMORIES = 5;
const MAX_CONTEXT_EMOTIONS = 3;

export interface RunNpcTaskDeps extends AskNpcAgentDeps, ChainTaskDeps {
  emotions: Pick<NpcEmotions, 'events'>;
  memories: Pick<NpcMemories, 'recall'>;
  clock: AskNpcAgentDeps['clock'];
  npcTasks: NpcTasks;
  /** Stores a message to a chat and starts its delivery; the same idempotencyKey stores nothing new. */
  sendMessage(input: SendMessageInput): Promise<{ row: { id: string } }>;
}

/** The end of a step, as it is stored. */
type Outcome = { result: Record<string, unknown> } | { error: NpcErrorBody };

/**
 * Performs a task that a caller of the NPC face opened, with one durable step for each effect: after a crash the steps that
 * ended are not repeated, and the one that ran is safe to repeat.
 */
export async function runNpcTask(
  deps: RunNpcTaskDeps,
  steps: TaskSteps,
  { taskId }: TaskInput<'npc-task'>,
): Promise<TaskResult<'npc-task'>> {
  const log = deps.log.child({ task: taskId });
  if (!(await steps.run('begin', () => deps.npcTasks.begin(taskId)))) return { outcome: 'ended before' };
  const end = await performed({ ...deps, log }, steps, taskId).catch((error: unknown): NpcTaskEnd => {
    log.error({ err: error }, 'npc task failed');
    return NOT_PERFORMED;
  });
  await steps.run('finish', () => deps.npcTasks.finish(taskId, end));
  log.info({ status: end.status }, 'npc task ended');
  return { outcome: end.status };
}

async function performed(deps: RunNpcTaskDeps, steps: TaskSteps, taskId: string): Promise<NpcTaskEnd> {
  const step = async (name: string, work: (task: NpcTask) => Promise<Record<string, unknown>>) =>
    JSON.parse(
      await steps.run(name, () => outcomeOf(async () => work(await storedTask(deps, taskId)))),
    ) as Outcome;
  const type = await steps.run('type', async () => {
    const task = await storedTask(deps, taskId);
    return isChainTask(task) ? 'transaction' : task.type;
  });
  const outcome =
    type === 'transaction' ? await transact(deps, steps, step) : await social(deps, steps, step);
  return 'error' in outcome
    ? { status: 'failed', error: outcome.error }
    : { status: 'completed', result: outcome.result };
}

/** Calls a contract: the signed transaction is stored before it is sent. */
async function transact(
  deps: RunNpcTaskDeps,
  { stopping }: TaskSteps,
  step: (name: string, work: (task: NpcTask) => Promise<Record<string, unknown>>) => Promise<Outcome>,
): Promise<Outcome> {
  const signed = await step('sign', async (task) => {
    const { hash } = await signForTask(deps, task, stopping);
    return { transactionHash: hash };
  });
  if ('error' in signed) return signed;
  return await step('confirm', (task) => confirmForTask(deps, task, stopping));
}

/** Asks the agent; with `to`, its answer is said in that chat. */
async function social(
  deps: RunNpcTaskDeps,
  steps: TaskSteps,
  step: (name: string, work: (task: NpcTask) => Promise<Record<string, unknown>>) => Promise<Outcome>,
): Promise<Outcome> {
  const asked = await step('ask', async (task) => {
    const { routeId, name } = await deps.settings();
    if (routeId === undefined) throw new NpcError(RPC.internal, { reason: 'This NPC has no agent.' });
    const context = await contextOf(deps, task, name);
    const message = await askNpcAgent(deps, task, routeId, context, steps.stopping);
    const accountId = (await deps.routes.get(routeId))?.accountId;
    const { to = null } = task.params;
    return { success: true, message, to, ...(accountId !== undefined && { accountId }) };
  });
  if ('error' in asked) return asked;
  const { accountId, to: chat, ...result } = asked.result;
  // A step without an effect would only cost its statements. Tasks of earlier versions stored no `to` here.
  if (chat === null) return { result };
  const said = await step('say', async ({ taskId, params: { to } }) => {
    if (typeof to !== 'string' || typeof accountId !== 'string' || result.message === '') return {};
    const text = String(result.message);
    const { row } = await deps.sendMessage({ accountId, to, text, idempotencyKey: `npc:${taskId}` });
    return { to, messageId: row.id };
  });
  return 'error' in said ? said : { result: { ...result, ...said.result } };
}

async function contextOf(deps: RunNpcTaskDeps, task: NpcTask, npc: string) {
  const scope = { npc, peer: peerOf(task) };
  const nowMs = deps.clock.now();
  const { message } = task.params;
  const query = typeof message === 'string' ? message : undefined;
  const emotions = emotionsAt(await deps.emotions.events(scope), nowMs).slice(0, MAX_CONTEXT_EMOTIONS);
  const found = await deps.memories.recall(scope, query, { isMatchOnly: false });
  return { npc, emotions, memories: rankMemories(found, { nowMs, limit: MAX_CONTEXT_MEMORIES }) };
}

async function storedTask(deps: RunNpcTaskDeps, taskId: string): Promise<NpcTask> {
  const task = await deps.npcTasks.find(taskId);
  if (!task) throw new NpcError(RPC.internal, { reason: 'The task is gone.' });
  return task;
}

/** An error that the caller may see is the end of the step; every other one makes the step fail, or be retried. */
async function outcomeOf(work: () => Promise<Record<string, unknown>>): Promise<string> {
  try {
    return JSON.stringify({ result: await work() } satisfies Outcome);
  } catch (error) {
    if (error instanceof NpcError) return JSON.stringify({ error: error.body } satisfies Outcome);
    throw error;
  }
}
