import type { Task } from '@a2a-js/sdk';
import { isRetryable, Wa2aiError } from '../../../../core/errors.ts';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { Logger } from '../../../../core/ports/logger.ts';
import type { A2aConnection } from './a2a-connection.ts';
import { hasSettled, TaskView } from './a2a-task.ts';

/** Reason of an abort that needs no error. */
const ENDED = 'ended';
const FIRST_WAIT_MS = 500;
/** Between two looks at a task, and before a stream is opened again. */
const MAX_WAIT_MS = 15_000;
/** Likewise while the agent sends notifications, which may be lost. */
const MAX_PUSHED_WAIT_MS = 60_000;

/** Notifications of the agent about the task. */
export interface PushedUpdates {
  /** Where they arrive; undefined: the agent cannot reach wa2ai. @throws {StorageUnavailableError} */
  url(): Promise<string | undefined>;
  /** @returns ends it */
  listen(onPush: () => void): () => void;
}

/**
 * Every new state of a task, the last one being settled and complete: from its events, opened again when they break, and by
 * looking at it where the agent has no streams: from time to time, and when it sends a notification. Ends only with a
 * settled task.
 * @param options.question the state of a task that asked for input, before the message that answers it
 * @throws {Wa2aiError} the agent refuses to show the task; an error that a retry may end only delays
 * @throws the signal's reason when it aborts
 */
export async function* a2aUpdates(
  connection: A2aConnection,
  taskId: string,
  {
    signal,
    log,
    question,
    pushed,
  }: { signal: AbortSignal; log?: Logger; question?: Task; pushed?: PushedUpdates },
): AsyncGenerator<Task> {
  const { server, clock } = connection.peer;
  let canStream = server.canStream;
  let isAsked = !pushed || server.card.capabilities?.pushNotifications !== true;
  let maxWaitMs = MAX_WAIT_MS;
  const pause = new Pause(clock);
  const unlisten = pushed?.listen(() => pause.end());
  try {
    for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, maxWaitMs)) {
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
      if (!isAsked && !canStream) {
        isAsked = true;
        if (await asksForPushes(connection, taskId, pushed, { signal, log })) maxWaitMs = MAX_PUSHED_WAIT_MS;
        // It may have changed before the agent knew the address.
        continue;
      }
      if (!hasEnded) await pause.wait(waitMs, signal);
    }
  } finally {
    unlisten?.();
  }
}

/** @returns false: the agent sends no notifications */
async function asksForPushes(
  connection: A2aConnection,
  taskId: string,
  pushed: PushedUpdates | undefined,
  { signal, log }: { signal: AbortSignal; log: Logger | undefined },
): Promise<boolean> {
  try {
    const url = await pushed?.url();
    if (url === undefined) return false;
    await connection.pushTo(taskId, url, signal);
    return true;
  } catch (error) {
    signal.throwIfAborted();
    log?.warn({ err: error }, 'agent sends no notifications of a task, looking at it instead');
    return false;
  }
}

/** A wait that a notification ends; one that came before it ends the next wait. */
class Pause {
  readonly #clock: Clock;
  #isOver = false;
  #end: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  end(): void {
    this.#isOver = true;
    this.#end();
  }

  /** @throws the signal's reason when it aborts */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const ended = new AbortController();
    const end = () => ended.abort(ENDED);
    if (!this.#isOver) {
      this.#end = end;
      signal.addEventListener('abort', end, { once: true });
      await this.#clock.sleep(ms, ended.signal).catch(() => undefined);
      signal.removeEventListener('abort', end);
    }
    this.#isOver = false;
    signal.throwIfAborted();
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
