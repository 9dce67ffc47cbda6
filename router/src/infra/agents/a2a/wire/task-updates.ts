import type {
  Artifact,
  Message,
  Part,
  Task,
  TaskArtifactUpdateEvent,
  TaskStatusUpdateEvent,
} from '@a2a-js/sdk';
import type { Clock } from '../../../../core/clock.ts';
import { isRetryable, Wa2aiError } from '../../../../core/errors.ts';
import type { Logger } from '../../../../core/logger.ts';
import type { A2aConnection } from './a2a-connection.ts';

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

/** States of a task, with the names of the protocol. */
export type A2aState =
  | 'submitted'
  | 'working'
  | 'completed'
  | 'failed'
  | 'canceled'
  | 'input-required'
  | 'rejected'
  | 'auth-required';

const STATES: Readonly<Record<number, A2aState>> = {
  1: 'submitted',
  2: 'working',
  3: 'completed',
  4: 'failed',
  5: 'canceled',
  6: 'input-required',
  7: 'rejected',
  8: 'auth-required',
};

/** The state of a task; one that this version does not know counts as working. */
export function stateOf({ status }: Pick<Task, 'status'>): A2aState {
  return STATES[status?.state ?? 0] ?? 'working';
}

/** Whether nothing more comes without another message. */
export function isSettled(state: A2aState): boolean {
  return state !== 'submitted' && state !== 'working';
}

/** Whether a task has settled, and not only still shows the question that the message answers. */
export function hasSettled(task: Task, question?: Task): boolean {
  if (!isSettled(stateOf(task))) return false;
  const [now, before] = [task.status, question?.status];
  if (!before || stateOf(task) !== 'input-required') return true;
  const isSame = now?.timestamp === before.timestamp && now?.message?.messageId === before.message?.messageId;
  return !isSame || (now?.timestamp === undefined && now?.message === undefined);
}

/** A task as the events of a stream build it. */
export class TaskView {
  task: Task;

  constructor(task: Pick<Task, 'id' | 'contextId'> & Partial<Task>) {
    this.task = { status: undefined, artifacts: [], history: [], metadata: undefined, ...task };
  }

  status({ status }: TaskStatusUpdateEvent): void {
    this.task = { ...this.task, status };
  }

  artifact({ artifact, append }: TaskArtifactUpdateEvent): void {
    if (!artifact) return;
    const known = this.task.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId);
    const parts = known && append ? [...known.parts, ...artifact.parts] : artifact.parts;
    const others = this.task.artifacts.filter((other) => other !== known);
    this.task = { ...this.task, artifacts: [...others, { ...artifact, parts }] };
  }
}

const FLAGS = { thought: ['adk_thought', 'thought'], tool: ['adk_type'], partial: ['adk_partial'] } as const;

function hasFlag(metadata: Part['metadata'], names: readonly string[]): boolean {
  return names.some((name) => metadata?.[name]);
}

/** What people may see of these parts: not thoughts, not the calls and results of tools. */
function visibleParts(parts: readonly Part[]): Part[] {
  return parts.filter(({ metadata }) => !hasFlag(metadata, FLAGS.thought) && !hasFlag(metadata, FLAGS.tool));
}

/** The parts that the answer of a task consists of, by the artifact or the message that has them. */
export function answerParts(task: Task): Part[][] {
  const state = stateOf(task);
  if (state !== 'completed') return task.status?.message ? [visibleParts(task.status.message.parts)] : [];
  const shown = resultParts(task);
  if (shown.length > 0) return shown;
  const said = task.status?.message ?? task.history.findLast(({ role }) => role === 2);
  return said ? [visibleParts(said.parts)] : [];
}

/** The text of the artifacts that a task has so far, as its answer will have it. */
export function artifactText(task: Pick<Task, 'artifacts'>): string {
  return resultParts(task)
    .map(textOf)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The artifacts for the person. */
function resultParts({ artifacts }: Pick<Task, 'artifacts'>): Part[][] {
  return artifacts
    .filter((artifact) => !isToolArtifact(artifact))
    .map(({ parts }) => visibleParts(parts))
    .filter((parts) => parts.length > 0);
}

/** An artifact that shows the work of a tool: interim text beside its call, or its result. */
function isToolArtifact({ parts }: Artifact): boolean {
  return parts.some(({ content, metadata }) => content?.$case === 'data' && hasFlag(metadata, FLAGS.tool));
}

/** The text of parts; chunks of a stream follow one another directly. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : []))
    .join('')
    .trim();
}

/** What a running task says about itself; undefined when it says nothing for people. */
export function progressText({ status }: Pick<Task, 'status'>): string | undefined {
  const message = status?.message;
  if (
    !message ||
    hasFlag(message.metadata, FLAGS.partial) ||
    message.parts.some((part) => hasFlag(part.metadata, FLAGS.tool))
  ) {
    return undefined;
  }
  return textOf(visibleParts(message.parts)) || undefined;
}

/** Whether a message of a task's history is this one. */
export function hasMessage({ history }: Pick<Task, 'history'>, messageId: string): boolean {
  return history.some((message: Message) => message.messageId === messageId);
}
