import type { Task } from '@a2a-js/sdk';
import { isRetryable, Wa2aiError } from '../../../../core/errors.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import type { A2aConnection } from './a2a-connection.ts';
import { hasSettled, TaskView } from './a2a-task.ts';

const FIRST_WAIT_MS = 500;
/** Between two looks at a task, and before a stream is opened again. */
const MAX_WAIT_MS = 15_000;

/**
 * Every new state of a task, the last one being settled and complete: from its events, opened again when they break, and by
 * looking at it where the agent has no streams. Ends only with a settled task.
 * @param options.question the state of a task that asked for input, before the message that answers it
 * @throws {Wa2aiError} the agent refuses to show the task; an error that a retry may end only delays
 * @throws the signal's reason when it aborts
 */
export async function* a2aUpdates(
  connection: A2aConnection,
  taskId: string,
  { signal, log, question }: { signal: AbortSignal; log?: Logger; question?: Task },
): AsyncGenerator<Task> {
  const { server, clock } = connection.peer;
  let canStream = server.canStream;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      const task = await connection.task(taskId, signal);
      yield task;
      if (hasSettled(task, question)) return;
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransient(error)) throw error;
      log?.warn({ err: error }, 'task of an agent cannot be read, retrying');
    }
    let hasEnded = false;
    if (canStream) {
      try {
        for await (const task of events(connection, taskId, signal)) {
          waitMs = FIRST_WAIT_MS;
          // The stream began after the task: the complete one is read above.
          hasEnded = hasSettled(task, question);
          if (hasEnded) break;
          yield task;
        }
        waitMs = FIRST_WAIT_MS;
      } catch (error) {
        signal.throwIfAborted();
        // An agent that cannot resubscribe to a running task shows it nevertheless.
        if (!isTransient(error)) canStream = false;
      }
    }
    if (!hasEnded) await clock.sleep(waitMs, signal);
  }
}

/** A status can be asked for again whatever happened to the last request. */
function isTransient(error: unknown): boolean {
  return isRetryable(error) || (error instanceof Wa2aiError && error.disposition === 'uncertain');
}

async function* events(connection: A2aConnection, id: string, signal: AbortSignal): AsyncGenerator<Task> {
  const view = new TaskView({ id, contextId: '' });
  for await (const { payload } of connection.resubscribe(id, signal)) {
    if (payload?.$case === 'task') view.task = payload.value;
    else if (payload?.$case === 'statusUpdate') view.status(payload.value);
    else continue;
    yield view.task;
  }
}
