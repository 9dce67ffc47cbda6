import { isRetryable, Wa2aiError } from '../../../../core/errors.ts';
import type { Logger } from '../../../../core/logger.ts';
import { exchangeError } from '../../transport/agent-transport.ts';
import { readEvents, SseTooLargeError } from '../../transport/bounded-fetch.ts';
import { callRpc, type NpcTask, npcTaskOf, phaseOf, type RpcPeer } from './json-rpc.ts';

/** A stream without an event for so long is opened again, after a look at the status. */
const IDLE_MS = 60_000;
const FIRST_WAIT_MS = 500;
/** Between two looks at the status, and before a stream is opened again. */
const MAX_WAIT_MS = 15_000;
const MAX_EVENT_CHARS = 1_000_000;
/** Events of one connection; then it is opened again after a wait. */
const MAX_EVENTS = 10_000;

/**
 * The status of a task.
 * @throws {Wa2aiError} no answer, or an error of the agent, such as for a task that it does not know
 */
export async function taskStatus(
  peer: RpcPeer,
  taskId: string,
  signal: AbortSignal | undefined,
): Promise<NpcTask> {
  const answer = await callRpc(peer, 'task.status', { taskId }, { signal });
  if ('error' in answer) throw answer.asError();
  const task = npcTaskOf(withId(answer.result, taskId));
  if (task) return task;
  throw new Wa2aiError('AGENT_PROTOCOL', 'dead', 'The NPC agent answered task.status without a task.');
}

/**
 * Every new state of a task, the last one being its end: from its events, opened again when they break, and from its status
 * where the agent has no events. Ends only with the task.
 * @throws {Wa2aiError} the agent refuses to show the task; an error that a retry may end only delays
 * @throws the signal's reason when it aborts
 */
export async function* taskUpdates(
  peer: RpcPeer,
  taskId: string,
  { signal, log }: { signal: AbortSignal; log?: Logger },
): AsyncGenerator<NpcTask> {
  const state: StreamState = { lastEventId: undefined, isSupported: true };
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    signal.throwIfAborted();
    try {
      for await (const task of state.isSupported ? streamed(peer, taskId, state, signal) : []) {
        yield task;
        if (phaseOf(task) !== 'running') return;
        waitMs = FIRST_WAIT_MS;
      }
      if (!state.isSupported) {
        const task = await taskStatus(peer, taskId, signal);
        yield task;
        if (phaseOf(task) !== 'running') return;
      }
    } catch (error) {
      signal.throwIfAborted();
      if (!isRetryable(error) && !(error instanceof Wa2aiError && error.disposition === 'uncertain'))
        throw error;
      log?.warn({ err: error }, 'task of an agent cannot be read, retrying');
    }
    await peer.clock.sleep(waitMs, signal);
  }
}

interface StreamState {
  lastEventId: string | undefined;
  /** The server has events: it answered with them at least once, or was not asked yet. */
  isSupported: boolean;
}

/** One connection to the events of a task; the status comes first, because events of before may be lost. */
async function* streamed(
  peer: RpcPeer,
  taskId: string,
  state: StreamState,
  signal: AbortSignal,
): AsyncGenerator<NpcTask> {
  const { server, transport, clock } = peer;
  const url = server.streamUrl(taskId);
  const headers = server.headersFor(url);
  headers.set('accept', 'text/event-stream');
  // The agent chose it. Without it, the stream begins from the status.
  if (state.lastEventId !== undefined && /^[\t\x20-\x7e]*$/.test(state.lastEventId)) {
    headers.set('last-event-id', state.lastEventId);
  }
  const idle = new IdleLimit(clock, signal);
  try {
    const opened = await transport.open(url, { method: 'GET', headers, signal: idle.signal });
    if (opened.kind === 'fault') {
      const context = {
        agent: 'NPC agent',
        aborted: 'The NPC agent sent no events.',
        nowMs: clock.now(),
        redact: peer.redact,
      };
      throw exchangeError(opened, context);
    }
    const { response } = opened;
    const isStream = response.headers.get('content-type')?.includes('text/event-stream') ?? false;
    if (!response.ok || !isStream) {
      await response.body?.cancel();
      // A busy or a starting server has events later.
      if (response.status !== 429 && response.status < 500) state.isSupported = false;
      yield await taskStatus(peer, taskId, signal);
      return;
    }
    yield await taskStatus(peer, taskId, signal);
    let events = 0;
    for await (const { id, data } of readEvents(response, MAX_EVENT_CHARS)) {
      idle.restart();
      if (id !== undefined) state.lastEventId = id;
      const task = npcTaskOf(withId(parsed(data), taskId));
      if (task?.taskId === taskId) yield task;
      events += 1;
      if (events >= MAX_EVENTS) return;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof Wa2aiError) throw error;
    if (error instanceof SseTooLargeError) state.isSupported = false;
    // The connection broke or was idle: the caller opens it again.
  } finally {
    idle.end();
  }
}

/** Aborts its signal when `restart` was not called for a while, and when the outer signal aborts. */
class IdleLimit {
  readonly #limited = new AbortController();
  readonly #clock: RpcPeer['clock'];
  readonly #outer: AbortSignal;
  #timer = new AbortController();
  readonly #onAbort = () => this.#limited.abort(this.#outer.reason);

  constructor(clock: RpcPeer['clock'], outer: AbortSignal) {
    this.#clock = clock;
    this.#outer = outer;
    outer.addEventListener('abort', this.#onAbort, { once: true });
    this.restart();
  }

  get signal(): AbortSignal {
    return this.#limited.signal;
  }

  restart(): void {
    this.#timer.abort();
    const timer = new AbortController();
    this.#timer = timer;
    this.#clock.sleep(IDLE_MS, timer.signal).then(
      () => this.#limited.abort(),
      () => undefined,
    );
  }

  end(): void {
    this.#timer.abort();
    this.#outer.removeEventListener('abort', this.#onAbort);
    this.#limited.abort();
  }
}

function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Some servers leave the id out of what is asked for by id. */
function withId(json: unknown, taskId: string): unknown {
  return typeof json === 'object' && json !== null ? { taskId, ...json } : json;
}
