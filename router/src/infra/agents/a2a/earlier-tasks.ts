import type { Task } from '@a2a-js/sdk';
import type { AttemptOptions, AttemptStore } from '../../../core/agent-client.ts';
import { AgentUncertainError, Wa2aiError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { AgentResponse } from '../../../core/models.ts';
import { type AgentSession, shortTaskId, taskNamed } from '../../../core/tasks.ts';
import type { A2aConnection } from './wire/a2a-connection.ts';
import { hasMessage, stateOf } from './wire/task-updates.ts';

/** Where earlier tasks of a message are looked for. */
export interface TaskSearch {
  connection: A2aConnection;
  options: AttemptOptions;
  session: AgentSession;
  log: Logger | undefined;
}

/**
 * The task that an earlier attempt of this message opened; undefined when the message may be sent.
 * @param stored the tasks of this message that are stored, oldest first
 * @throws {AgentUncertainError}
 */
export async function earlierTask(
  { connection, options, session }: TaskSearch,
  stored: Array<{ remoteId: string; isOpen: boolean }>,
  messageId: string,
): Promise<Task | undefined> {
  const { signal, isCleared, uncertain } = options;
  const open = stored.findLast(({ isOpen }) => isOpen);
  if (open) {
    const task = await connection.task(open.remoteId, signal);
    // An operator replayed a message whose task had failed.
    const isOver = ['failed', 'rejected', 'auth-required', 'canceled'].includes(stateOf(task));
    return isCleared && isOver ? undefined : task;
  }
  if (isCleared) return undefined;
  const tasks = await listed(connection, session.contextId, signal);
  const found = tasks?.find((task) => hasMessage(task, messageId));
  // Without a list it cannot be seen; the agent knows the message by its id.
  if (!tasks && uncertain === 'dead-letter') throw new AgentUncertainError();
  if (!found) return undefined;
  await options.store?.addTask(found.id);
  // A list does not have the results.
  return await connection.task(found.id, signal);
}

/** The tasks of a conversation; undefined: the agent does not list them. */
async function listed(connection: A2aConnection, contextId: string, signal: AbortSignal | undefined) {
  try {
    return await connection.tasksOf(contextId, signal);
  } catch (error) {
    if (error instanceof Wa2aiError && error.disposition === 'dead') return undefined;
    throw error;
  }
}

/** The task that waits for this message; undefined when none does any more, and a new one is opened. */
export async function waitingTask({
  connection,
  session,
  options,
  log,
}: TaskSearch): Promise<Task | undefined> {
  const { taskId } = session;
  if (taskId === undefined) return undefined;
  try {
    const task = await connection.task(taskId, options.signal);
    if (stateOf(task) === 'input-required') return task;
    log?.info({ taskId }, 'task of the agent waits for no input, opening a new one');
  } catch (error) {
    if (!(error instanceof Wa2aiError) || error.code !== 'AGENT_REPORTED_ERROR') throw error;
    log?.info({ taskId }, 'task is unknown to the agent, opening a new one');
  }
  return undefined;
}

const MAX_LISTED = 20;

/** What a person asks about the tasks of the chat. */
type TaskCommand = { kind: 'list' } | { kind: 'status' | 'cancel'; written: string };

/** The command `/tasks`, `/task ID` or `/task ID cancel`; undefined: the text is for the agent. */
export function taskCommandOf(text: string): TaskCommand | undefined {
  const [found, command = '', written = '', action = 'status'] =
    /^\s*\/(tasks|task)(?:\s+(\S+))?(?:\s+(cancel|status))?\s*$/i.exec(text) ?? [];
  if (found === undefined) return undefined;
  if (command.toLowerCase() === 'tasks') return { kind: 'list' };
  return { kind: action.toLowerCase() === 'cancel' ? 'cancel' : 'status', written };
}

/**
 * Answers a command, for tasks of this chat only.
 * @throws what a call of the agent throws
 */
export async function answerTaskCommand(
  connection: A2aConnection,
  command: TaskCommand,
  { signal, store, beforeRequest }: AttemptOptions & { store: AttemptStore },
): Promise<AgentResponse> {
  const stored = await store.chatTasks();
  if (command.kind === 'list') {
    const lines = stored
      .slice(0, MAX_LISTED)
      .map(({ remoteId, isOpen }) => `• ${shortTaskId(remoteId)}: ${isOpen ? 'running' : 'ended'}`);
    return said(lines.join('\n') || 'This chat has no tasks.');
  }
  const { written } = command;
  if (written === '')
    return said('Write /task and the id of the task, and cancel to stop it: /task ID cancel.');
  const task = taskNamed(stored, written);
  if (!task) return said(`This chat has no task ${written.slice(0, 40)}. /tasks lists its tasks.`);
  await beforeRequest?.();
  const id = shortTaskId(task.remoteId);
  if (command.kind === 'status') {
    return said(`Task ${id}: ${stateOf(await connection.task(task.remoteId, signal))}`);
  }
  try {
    await connection.cancel(task.remoteId, signal);
    return said(`Task ${id} will be cancelled.`);
  } catch (error) {
    if (!(error instanceof Wa2aiError) || error.code !== 'AGENT_REPORTED_ERROR') throw error;
    return said(`The agent does not cancel task ${id}; it may have ended.`);
  }
}

function said(response: string): AgentResponse {
  const a2a = { answeredBy: 'wa2ai' };
  return { success: true, response, metadata: { a2a }, detail: { a2a } };
}
