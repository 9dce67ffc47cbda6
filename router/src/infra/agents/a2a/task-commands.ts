import type { AttemptOptions, AttemptStore } from '../../../core/agent-client.ts';
import { Wa2aiError } from '../../../core/errors.ts';
import type { AgentResponse } from '../../../core/models.ts';
import { shortTaskId, taskNamed } from '../../../core/tasks/short-task-id.ts';
import type { A2aConnection } from './wire/a2a-connection.ts';
import { stateOf } from './wire/a2a-task.ts';

const MAX_LISTED = 20;

/** What a person asks about the tasks of the chat. */
export type TaskCommand = { kind: 'list' } | { kind: 'status' | 'cancel'; written: string };

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
