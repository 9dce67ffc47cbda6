import type { AgentClients } from '../../core/agent-client.ts';
import { backoffMs, type Clock } from '../../core/clock.ts';
import type { SendMessageInput } from '../../core/delivery/send-message.ts';
import { isRetryable, StorageUnavailableError, Wa2aiError } from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { IncomingMessage, Route } from '../../core/models.ts';
import type { RouteStore } from '../../core/ports/route-store.ts';
import type { TaskInput, TaskResult, TaskSteps } from '../../core/tasks.ts';
import { NpcError, type NpcErrorBody, RPC } from './json-rpc.ts';
import {
  type Emotion,
  emotionsAt,
  type Memory,
  memoryText,
  type NpcEmotions,
  type NpcMemories,
  rankMemories,
} from './memories.ts';
import { NOT_PERFORMED, type NpcTask, type NpcTaskEnd, type NpcTasks, peerOf } from './npc-tasks.ts';
import { type ChainTaskDeps, confirmForTask, isChainTask, signForTask } from './perform-chain-task.ts';

/** Memories that an agent gets as context. */
const MAX_CONTEXT_MEMORIES = 5;
const MAX_CONTEXT_EMOTIONS = 3;

interface RunNpcTaskDeps extends AskNpcAgentDeps, ChainTaskDeps {
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
 * Performs a task that a caller of the NPC server opened, with one durable step for each effect: after a crash the steps that
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

/** Attempts while the agent does not accept the request. */
const MAX_ATTEMPTS = 3;
/** Longest answer that a task returns. */
const MAX_ANSWER_CHARS = 60_000;
const MAX_MEMORY_CHARS = 300;

interface AskNpcAgentDeps {
  routes: Pick<RouteStore, 'get'>;
  agents: AgentClients;
  npcTasks: Pick<NpcTasks, 'countAttempt'>;
  clock: Clock;
  /** Uniform in [0, 1). */
  random(): number;
  log: Logger;
}

/** What the agent learns beside the words of the peer. */
interface NpcContext {
  npc: string;
  emotions: readonly Emotion[];
  memories: readonly Memory[];
}

/**
 * Asks the agent behind the route for an answer to the task, as a message of the peer.
 * @returns its text; empty when the agent chose to say nothing
 * @throws {NpcError} the agent has no answer; the log says why
 * @throws {StorageUnavailableError} safe to repeat
 * @throws the reason of `stopping`
 */
async function askNpcAgent(
  deps: AskNpcAgentDeps,
  task: NpcTask,
  routeId: string,
  context: NpcContext,
  stopping: AbortSignal,
): Promise<string> {
  const route = await deps.routes.get(routeId);
  if (!route || route.damage !== undefined) {
    deps.log.warn({ taskId: task.taskId, routeId }, 'npc route cannot be used');
    throw new NpcError(RPC.internal, { reason: 'The agent of this NPC is not configured.' });
  }
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await askOnce(deps, task, route, context, {
        isRepeat: attempt > 1 || task.attempts > 0,
        stopping,
      });
    } catch (error) {
      stopping.throwIfAborted();
      if (!(error instanceof Wa2aiError) || error instanceof StorageUnavailableError) throw error;
      deps.log.warn({ err: error, taskId: task.taskId, attempt }, 'agent of an npc task failed');
      if (!isRetryable(error) || attempt === MAX_ATTEMPTS) {
        throw new NpcError(
          RPC.internal,
          { reason: 'The agent of this NPC did not answer.' },
          { cause: error },
        );
      }
      await deps.clock.sleep(backoffMs({ attempt, random: deps.random }), stopping);
    }
  }
}

async function askOnce(
  { agents, npcTasks, log }: AskNpcAgentDeps,
  task: NpcTask,
  route: Route,
  context: NpcContext,
  { isRepeat, stopping }: { isRepeat: boolean; stopping: AbortSignal },
): Promise<string> {
  const message = messageOf(task, route, context);
  const { uncertain } = route.config.failure ?? {};
  const answer = await agents.clientFor(route).sendMessage(route.agentEndpoint, message, {
    signal: stopping,
    isRepeat,
    ...(uncertain && { uncertain }),
    beforeRequest: () => npcTasks.countAttempt(task.taskId),
    log,
  });
  if (!answer.success) throw new NpcError(RPC.internal, { reason: 'The agent of this NPC failed.' });
  return (answer.response ?? '').slice(0, MAX_ANSWER_CHARS);
}

/** The task as a message: its session at the agent is that of the peer. */
function messageOf(task: NpcTask, { accountId }: Route, context: NpcContext): IncomingMessage {
  const peer = peerOf(task);
  const sessionName = `npc-${nameOf(peer)}`;
  return {
    id: task.taskId,
    from: sessionName,
    channelId: sessionName,
    text: promptOf(task, context),
    timestamp: new Date(task.createdAtMs),
    accountId,
    kind: 'text',
    pushName: peer,
  };
}

/** A name of letters, digits and dashes, different for different peers. */
function nameOf(peer: string): string {
  return peer.replace(/[^A-Za-z0-9]/gu, (char) => `-${char.codePointAt(0)?.toString(16)}-`);
}

/** What the agent reads: the context in brackets, then the words of the peer. */
export function promptOf(task: NpcTask, { npc, emotions, memories }: NpcContext): string {
  const { action, message, emotion, peer: _peer, to: _to, ...others } = task.params;
  const isSocial = task.type === 'social';
  const lines = [
    `You are ${npc}. You talk to the agent ${peerOf(task)}.`,
    `It asks for: ${isSocial ? String(action) : task.type}.`,
    ...(isSocial && emotion !== undefined ? [`It feels: ${String(emotion)}.`] : []),
    ...(emotions.length > 0
      ? [
          `You feel: ${emotions.map(({ trigger, intensity }) => `${trigger} ${intensity} of 100`).join(', ')}.`,
        ]
      : []),
    ...memories.map(
      ({ memoryType, content }) =>
        `You remember (${memoryType}): ${memoryText(content).slice(0, MAX_MEMORY_CHARS)}`,
    ),
  ];
  const words = isSocial ? (message ?? action) : JSON.stringify({ action, message, emotion, ...others });
  return `[${lines.join('\n')}]\n\n${String(words)}`;
}
