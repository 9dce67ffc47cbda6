import { canonicalChannelId } from '../../core/chat-id.ts';
import type { TaskStart } from '../../core/tasks.ts';
import type { App } from '../../feature.ts';
import { checkedParams, NpcInputError } from '../../infra/agents/npc/input/capabilities.ts';
import { invalidParam } from './json-rpc.ts';
import { capabilitiesOf, type NpcServerSettings } from './npc-chain.ts';
import { actionNames, actionOf, type NpcTask } from './npc-tasks.ts';
import { chainCallOf, isChainTask } from './perform-chain-task.ts';
import { isShortTask } from './short-tasks.ts';

const MAX_PEER_CHARS = 64;
const MAX_STARTED = 100;

/**
 * A task with its parameters in the types of the specification; `to` is a canonical channelId.
 * @throws {NpcError} -32602 with the field and the reason
 */
export function checkedTask(
  settings: NpcServerSettings,
  { type, params }: { type: string; params: Record<string, unknown> },
): Pick<NpcTask, 'type' | 'params'> {
  const offered = capabilitiesOf(settings);
  if (!offered.includes(type)) {
    throw invalidParam(
      'type',
      `This NPC does not offer "${type.slice(0, 100)}". It offers: ${offered.join(', ')}.`,
    );
  }
  const action = actionOf(type, params);
  if (!action)
    throw invalidParam('action', `The action must be one of ${actionNames(type).join(', ')}, or absent.`);
  const checked = checked32602(() => checkedParams(action, params, true));
  if (typeof checked.peer === 'string' && checked.peer.length > MAX_PEER_CHARS) {
    throw invalidParam('peer', `peer must have at most ${MAX_PEER_CHARS} characters.`);
  }
  // Throws when a limit or a token is not allowed.
  if (settings.chain && isChainTask({ type, params: checked }))
    chainCallOf({ type, params: checked }, settings.chain);
  if (type !== 'social' || checked.to === undefined) return { type, params: checked };
  const to = canonicalChannelId(String(checked.to));
  if (to === undefined || to === '*') {
    throw invalidParam('to', 'to must be a phone number with its country code, a JID or a group id.');
  }
  return { type, params: { ...checked, to } };
}

function checked32602<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof NpcInputError)) throw error;
    throw invalidParam(error.field ?? 'params', error.message);
  }
}

/**
 * Stores a checked task and starts it in the background. A repeat with the same idempotency key returns the first task.
 * @throws {NpcError} the key was used for another task
 * @throws {StorageUnavailableError} the task may be open; safe to repeat with the same key
 */
export async function openNpcTask(
  app: Pick<App, 'npcTasks' | 'tasks' | 'shortTasks' | 'mintTaskId' | 'log'>,
  task: Pick<NpcTask, 'owner' | 'type' | 'params' | 'idempotencyKey'>,
): Promise<NpcTask> {
  const { npcTasks, mintTaskId, log } = app;
  const stored = await npcTasks.open({ ...task, taskId: mintTaskId() });
  if (stored.outcome === 'conflict') {
    throw invalidParam(
      'Idempotency-Key',
      'This Idempotency-Key was used for another task. Nothing was opened.',
    );
  }
  if (stored.outcome === 'opened') {
    const { taskId, type } = stored.task;
    log.info({ task: taskId, type }, 'npc task opened');
    // The first start loads the engine, for which no caller waits. One that is not started now is by `openNpcTasks`.
    startTask(app, stored.task).catch((error: unknown) => {
      log.warn({ err: error, task: taskId }, 'npc task not started, retrying');
    });
  }
  return stored.task;
}

async function startTask(
  { tasks, shortTasks }: Pick<App, 'tasks' | 'shortTasks'>,
  task: NpcTask,
): Promise<void> {
  if (isShortTask(task)) shortTasks.add(task);
  else await tasks.start(npcTaskStart(task));
}

function npcTaskStart({ taskId }: NpcTask): TaskStart {
  return { kind: 'npc-task', id: taskId, input: { taskId } };
}

/** The durable tasks that nobody has started; short ones start here. */
export async function openNpcTasks(
  { npcTasks, shortTasks }: Pick<App, 'npcTasks' | 'shortTasks'>,
  waitedMs: number,
): Promise<TaskStart[]> {
  const open = await npcTasks.notBegun(waitedMs, MAX_STARTED);
  for (const task of open.filter(isShortTask)) shortTasks.add(task);
  return open.filter((task) => !isShortTask(task)).map(npcTaskStart);
}
