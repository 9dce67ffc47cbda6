import type { Task } from '@a2a-js/sdk';
import type { AttemptOptions } from '../../../core/agent-client.ts';
import { AgentUncertainError, Wa2aiError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import type { AgentSession } from '../../../core/ports/remote-tasks.ts';
import type { A2aConnection } from './wire/a2a-connection.ts';
import { hasMessage, stateOf } from './wire/a2a-task.ts';

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
