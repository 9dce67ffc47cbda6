import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { LRUCache } from 'lru-cache';
import type {
  AgentClient,
  AttemptOptions,
  FollowedTask,
  TaskNow,
  TaskReport,
} from '../../../core/agent-client.ts';
import { contractSessionId, contractUser } from '../../../core/chat-id.ts';
import { type Clock, withLimit } from '../../../core/clock.ts';
import {
  AgentProtocolError,
  AgentTaskError,
  AgentTimeoutError,
  AgentUnavailableError,
  AgentUncertainError,
  isRetryable,
  Wa2aiError,
} from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { AgentResponse, IncomingMessage } from '../../../core/models.ts';
import { say } from '../../../core/phrases.ts';
import { type SayInChat, sayInEnglish } from '../../../core/policies/texts.ts';
import { shortTaskId, taskNamed } from '../../../core/tasks.ts';
import { attemptLog } from '../attempt-log.ts';
import { type JsonTemplate, parseJsonTemplate } from '../json-template.ts';
import { type AgentTransport, exchangeError, type Redact, redactor } from '../transport/agent-transport.ts';
import { readEvents, SseTooLargeError } from '../transport/bounded-fetch.ts';
import { errorText } from '../transport/error-text.ts';
import { cardUrlOf, type NpcCard, type NpcCards, npcServer } from './card/npc-card.ts';
import {
  completedText,
  interpretNpc,
  type NpcMeaning,
  type OpenCall,
  statusText,
  taskListText,
} from './input/npc-command.ts';
import type { NpcSettings } from './npc-settings.ts';
import {
  callRpc,
  METHOD_NOT_FOUND,
  type NpcTask,
  npcTaskOf,
  npcTasksOf,
  phaseOf,
  type RpcPeer,
  sentenceForPerson,
} from './rpc/json-rpc.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_WAIT_MS = 20_000;
const MAX_STATE_CHARS = 50;
/** Between the clocks of WhatsApp and of an agent. */
const CLOCK_SKEW_MS = 600_000;
/** Tasks that may be opened twice when it cannot be seen whether the first one was opened: they move nothing of value. */
const HARMLESS = new Set(['social', 'emotion', 'memory']);

/** Settings of NpcAgentClient. */
interface NpcAgentClientConfig {
  npc: NpcSettings;
  /** Longest wait for one answer, in milliseconds, when `npc` names none. Default 30000. */
  timeoutMs?: number;
  log?: Logger;
  clock: Clock;
  transport: AgentTransport;
  /** Cache of cards. Clients that share one fetch a card once. */
  cards: NpcCards;
}

/** One message at one agent. */
interface Exchange {
  peer: RpcPeer;
  card: NpcCard | undefined;
  message: IncomingMessage;
  options: AttemptOptions;
  /** For texts that the person sees: hides the secrets of the route only. */
  forPerson: Redact;
  log: Logger | undefined;
}

/**
 * Calls agents of the NPC Engine: a task of JSON-RPC per message, opened with an `Idempotency-Key`, and followed by its
 * events or its status.
 *
 * The id of a task is stored before any wait. After a crash, and after an attempt whose answer was lost, the client first
 * looks for the task of the message: among the stored ones, then in `task.list`.
 */
export class NpcAgentClient implements AgentClient {
  readonly #npc: NpcSettings;
  readonly #timeoutMs: number;
  readonly #log: Logger | undefined;
  readonly #clock: Clock;
  readonly #transport: AgentTransport;
  readonly #cards: NpcCards;
  readonly #output: JsonTemplate | undefined;
  /** Messages whose task may have been opened by an attempt of this process. */
  readonly #attempted = new LRUCache<string, true>({ max: 10_000 });

  constructor(config: NpcAgentClientConfig) {
    this.#npc = config.npc;
    this.#timeoutMs = config.npc.timeoutMs ?? config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#log = config.log;
    this.#clock = config.clock;
    this.#transport = config.transport;
    this.#cards = config.cards;
    this.#output = config.npc.output === undefined ? undefined : parseJsonTemplate(config.npc.output);
  }

  /** The help is the agent's own, with its capabilities. */
  async ownsCommand(name: string): Promise<boolean> {
    return name === 'help';
  }

  /**
   * Opens the task that the message means, once, and waits for its end for `waitMs`.
   * @returns the text of the result; a line and `task` when the task continues; the sentence that replaces a call.
   *   `metadata.npc` contains `type` and `taskId`, or `answeredBy: 'wa2ai'`
   * @throws {AgentUnavailableError} no connection, 429, 502, 503, a rate limit (-32002)
   * @throws {AgentTimeoutError} no answer in time, or a connection lost during the call: the task may be open
   * @throws {AgentUncertainError} an earlier attempt may have opened a task, and nothing shows whether it did
   * @throws {AgentProtocolError} any other error, and a task that failed (`AGENT_TASK_FAILED`)
   * @throws the signal's reason when `options.signal` aborts
   */
  async sendMessage(
    endpoint: string,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const log = attemptLog(this.#log, message, options);
    const exchange = { ...(await this.#peerFor(endpoint, message, options.signal)), message, options, log };
    const meant = this.#meaningOf(exchange.card, message);
    if (meant.kind === 'say') {
      log?.info({ why: meant.why }, 'NPC message answered without the agent');
      return answered(meant.text, { answeredBy: 'wa2ai', why: meant.why });
    }
    if (meant.kind === 'open') return await this.#openTask(exchange, meant);
    await options.beforeRequest?.();
    if (meant.kind === 'list') return await this.#listTasks(exchange);
    const stored = await options.store?.chatTasks();
    const id = stored ? taskNamed(stored, meant.id)?.remoteId : meant.id;
    // A task of another chat is none of this chat's business, although the agent shows it to the same key.
    if (id === undefined) {
      const { sayInChat = sayInEnglish } = options;
      const text = sayInChat('taskUnknown', { task: meant.id.slice(0, 40) });
      return answered(text, { answeredBy: 'wa2ai', why: 'unknown-task' });
    }
    return meant.kind === 'cancel'
      ? await this.#cancelTask(exchange, id)
      : await this.#showTask(exchange, id);
  }

  async followTask(
    endpoint: string,
    { remoteId, message, position }: FollowedTask,
    { signal, log, sayInChat = sayInEnglish }: { signal: AbortSignal; log: Logger; sayInChat?: SayInChat },
  ): Promise<TaskReport> {
    const options = { sayInChat };
    const exchange = { ...(await this.#peerFor(endpoint, message, signal)), message, options, log };
    const task = shortTaskId(remoteId);
    for await (const now of taskUpdates(exchange.peer, remoteId, { signal, log })) {
      if (phaseOf(now) !== 'running') {
        const { response, ...end } = this.#endOf(exchange, now);
        const isOwn = this.#output !== undefined || phaseOf(now) === 'canceled';
        const text = isOwn ? response : sayInChat('taskSays', { task, text: response });
        return { kind: 'end', response: { ...end, response: text } };
      }
      const quarter = Math.floor(Math.min(now.progress ?? 0, 99) / 25) * 25;
      if (this.#npc.progress && quarter > Number(position ?? 0)) {
        const text = sayInChat('taskSays', { task, text: `${quarter} %.` });
        return { kind: 'progress', text, position: String(quarter) };
      }
    }
    throw new AgentUnavailableError(say('npc.no-end', { task }));
  }

  async taskNow(
    endpoint: string,
    { remoteId, message }: FollowedTask,
    signal: AbortSignal,
  ): Promise<TaskNow> {
    const { peer } = await this.#peerFor(endpoint, message, signal);
    const { status, progress } = await taskStatus(peer, remoteId, signal);
    const isKnown = typeof progress === 'number' && progress >= 0 && progress <= 100;
    return { state: status.slice(0, MAX_STATE_CHARS), ...(isKnown && { percent: progress }) };
  }

  async cancelTask(
    endpoint: string,
    { remoteId, message }: FollowedTask,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { peer } = await this.#peerFor(endpoint, message, signal);
    const answer = await callRpc(peer, 'task.cancel', { taskId: remoteId }, { signal });
    if (!('error' in answer)) return true;
    if (answer.error.code === METHOD_NOT_FOUND) return false;
    throw answer.asError();
  }

  /** The request that a message would make, or the text that would replace it. Fetches the card. */
  async preview(message: IncomingMessage, endpoint: string): Promise<Record<string, unknown>> {
    const { card, peer } = await this.#peerFor(endpoint, message, undefined);
    const meant = this.#meaningOf(card, message);
    if (meant.kind === 'say') return { kind: 'answer', why: meant.why, text: meant.text };
    const call = { kind: 'call', url: peer.server.rpcUrl };
    if (meant.kind === 'open') {
      return { ...call, method: 'task.open', params: { type: meant.type, params: meant.params } };
    }
    if (meant.kind === 'list') return { ...call, method: 'task.list' };
    return { ...call, method: `task.${meant.kind}`, params: { taskId: meant.id } };
  }

  #meaningOf(card: NpcCard | undefined, message: IncomingMessage): NpcMeaning {
    return interpretNpc({ settings: this.#npc, ...(card && { capabilities: card.capabilities }) }, message);
  }

  async #peerFor(
    endpoint: string,
    { text, from, channelId }: IncomingMessage,
    signal: AbortSignal | undefined,
  ): Promise<Pick<Exchange, 'peer' | 'card' | 'forPerson'>> {
    const cardUrl = cardUrlOf(endpoint, this.#npc);
    const known = npcServer(endpoint, this.#npc, undefined);
    const card = await withLimit(this.#clock, this.#timeoutMs, signal, (limited) =>
      this.#cards.cardAt(cardUrl, known.headersFor(cardUrl), limited).catch(() => {
        signal?.throwIfAborted();
        // It takes too long: the standard commands and addresses are used.
        return undefined;
      }),
    );
    const server = npcServer(endpoint, this.#npc, card);
    const { secrets } = server;
    const person = { userId: contractUser(from), sessionId: contractSessionId(from, channelId) };
    const peer = {
      server,
      transport: this.#transport,
      clock: this.#clock,
      timeoutMs: this.#timeoutMs,
      redact: redactor({ text, ...person, secrets }),
    };
    return { peer, card, forPerson: redactor({ text: '', userId: '', sessionId: '', secrets }) };
  }

  async #openTask(exchange: Exchange, call: OpenCall): Promise<AgentResponse> {
    const { message, options, peer, log } = exchange;
    const key = [message.accountId, message.channelId, message.from, message.id].join(' ');
    const isAgain = options.isRepeat || this.#attempted.has(key);
    const stored = isAgain && options.store ? await options.store.tasks() : [];
    const idempotencyKey = idempotencyKeyOf(key, stored.length);
    const earlier = await this.#earlierTask(exchange, call, { isAgain, stored, idempotencyKey });
    if (earlier) {
      log?.info({ taskId: earlier.taskId }, 'task of an earlier attempt found');
      return await this.#waitForEnd(exchange, earlier);
    }
    await options.beforeRequest?.();
    this.#attempted.set(key, true);
    const params = { type: call.type, params: call.params };
    const answer = await callRpc(peer, 'task.open', params, { signal: options.signal, idempotencyKey });
    this.#attempted.delete(key);
    if ('error' in answer) {
      const sentence = sentenceForPerson(answer.error, exchange.forPerson);
      if (sentence === undefined) throw answer.asError();
      log?.info({ code: answer.error.code }, 'NPC agent refused the parameters');
      return answered(sentence, { type: call.type, code: answer.error.code });
    }
    const task = npcTaskOf(answer.result);
    if (!task) throw new AgentProtocolError(say('npc.no-task-id'));
    await options.store?.addTask(task.taskId);
    return await this.#waitForEnd(exchange, { ...task, type: call.type });
  }

  /**
   * The task that an earlier attempt of this message opened; undefined when there is none, and one may be opened.
   * @throws {AgentUncertainError} nothing shows whether there is one
   */
  async #earlierTask(
    { peer, message, options }: Exchange,
    call: OpenCall,
    known: { isAgain: boolean; stored: Array<{ remoteId: string; isOpen: boolean }>; idempotencyKey: string },
  ): Promise<NpcTask | undefined> {
    if (!known.isAgain) return undefined;
    const open = known.stored.findLast(({ isOpen }) => isOpen);
    if (open) {
      const task = await taskStatus(peer, open.remoteId, options.signal);
      // An operator replayed a message whose task had failed.
      return options.isCleared && phaseOf(task) === 'failed' ? undefined : task;
    }
    if (options.isCleared) return undefined;
    const isExplicit = options.uncertain === 'retry';
    const found = await this.#findTask(peer, message, options, { ...known, call });
    if (found.kind === 'found') {
      await options.store?.addTask(found.task.taskId);
      return found.task;
    }
    const mayOpen =
      found.kind === 'absent' ||
      isExplicit ||
      (options.uncertain !== 'dead-letter' && HARMLESS.has(call.type));
    if (mayOpen) return undefined;
    throw new AgentUncertainError(say('npc.uncertain', { type: call.type }));
  }

  /** Looks in `task.list`: a task counts as ours by the key or by its parameters, never by its time alone. */
  async #findTask(
    peer: RpcPeer,
    message: IncomingMessage,
    { store, signal }: AttemptOptions,
    { call, idempotencyKey }: { call: OpenCall; idempotencyKey: string },
  ): Promise<{ kind: 'found'; task: NpcTask } | { kind: 'absent' | 'unclear' }> {
    const answer = await callRpc(peer, 'task.list', {}, { signal });
    const tasks = 'error' in answer ? undefined : npcTasksOf(answer.result);
    if (!tasks) return { kind: 'unclear' };
    const sinceMs = message.timestamp.getTime() - CLOCK_SKEW_MS;
    const recent = tasks.filter(({ type, createdAt }) => {
      const atMs = typeof createdAt === 'string' ? Date.parse(createdAt) : (createdAt ?? sinceMs);
      return (type ?? call.type) === call.type && !(atMs < sinceMs);
    });
    const others = new Set((await store?.knownTasks(recent.map(({ taskId }) => taskId))) ?? []);
    const unknown = recent.filter(({ taskId }) => !others.has(taskId));
    const ours = unknown.filter(
      (task) => task.idempotencyKey === idempotencyKey || isDeepStrictEqual(task.params, call.params),
    );
    const [task] = ours;
    if (task && ours.length === 1) return { kind: 'found', task };
    return { kind: unknown.length === 0 ? 'absent' : 'unclear' };
  }

  /** The end of a task that comes within `waitMs`; else the line of a task that continues. */
  async #waitForEnd(exchange: Exchange, task: NpcTask): Promise<AgentResponse> {
    const { peer, options, log } = exchange;
    const { taskId, type } = task;
    if (phaseOf(task) !== 'running') {
      const isWhole = task.result !== undefined || task.error !== undefined;
      const whole = isWhole ? task : await taskStatus(peer, taskId, options.signal);
      return this.#endOf(exchange, { ...whole, type });
    }
    const waitMs = this.#npc.waitMs ?? DEFAULT_WAIT_MS;
    const end = await withLimit(this.#clock, waitMs, options.signal, async (signal) => {
      try {
        for await (const update of taskUpdates(peer, taskId, { signal, ...(log && { log }) })) {
          if (phaseOf(update) !== 'running') return update;
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!signal.aborted) throw error;
      }
      return undefined;
    });
    if (end) return this.#endOf(exchange, { ...end, type });
    if (!options.store) throw new AgentTimeoutError(say('a2a.task-not-ended', { task: taskId, ms: waitMs }));
    const npc = { type, taskId, status: 'running' };
    const { sayInChat = sayInEnglish } = options;
    const text = sayInChat('taskStarted', { task: shortTaskId(taskId) });
    return { ...answered(text, npc), task: { remoteId: taskId } };
  }

  /** @throws {AgentProtocolError} the task failed, and not because of what the person asked for */
  #endOf({ peer, forPerson, options }: Exchange, task: NpcTask): AgentResponse & { response: string } {
    const { sayInChat = sayInEnglish } = options;
    const { taskId, type, status, error, result } = task;
    const npc = { type, taskId, status, result };
    const phase = phaseOf(task);
    if (phase === 'canceled') return answered(sayInChat('taskCanceled', { task: shortTaskId(taskId) }), npc);
    if (phase === 'completed') return answered(completedText(task, this.#output, sayInChat), npc);
    const details = typeof error === 'string' ? { message: error } : (error ?? {});
    const sentence = sentenceForPerson({ data: undefined, ...details }, forPerson);
    if (sentence !== undefined) return answered(sentence, npc);
    const why = peer.redact(errorText(details.message ?? ''));
    const said = say('npc.task-failed', { task: taskId, details: why && `: ${why}` });
    throw new AgentTaskError('AGENT_TASK_FAILED', said).withDetail({ npc });
  }

  async #listTasks({ peer, options }: Exchange): Promise<AgentResponse> {
    const answer = await callRpc(peer, 'task.list', {}, { signal: options.signal });
    if ('error' in answer) throw answer.asError();
    const tasks = npcTasksOf(answer.result);
    if (!tasks) throw new AgentProtocolError(say('npc.no-tasks'));
    const stored = await options.store?.chatTasks();
    const byId = new Map(tasks.map((task) => [task.taskId, task]));
    const shown = stored ? stored.flatMap(({ remoteId }) => byId.get(remoteId) ?? []) : tasks;
    return answered(taskListText(shown, options.sayInChat), { method: 'task.list', tasks: shown.length });
  }

  async #showTask({ peer, options }: Exchange, taskId: string): Promise<AgentResponse> {
    const task = await taskStatus(peer, taskId, options.signal);
    return answered(statusText(task, this.#output, options.sayInChat), {
      method: 'task.status',
      taskId,
      status: task.status,
    });
  }

  /** The specification has no such method; an agent may have it nevertheless. */
  async #cancelTask({ peer, options }: Exchange, taskId: string): Promise<AgentResponse> {
    const answer = await callRpc(peer, 'task.cancel', { taskId }, { signal: options.signal });
    const npc = { method: 'task.cancel', taskId };
    const { sayInChat = sayInEnglish } = options;
    const task = shortTaskId(taskId);
    if (!('error' in answer)) return answered(sayInChat('taskCanceling', { task }), npc);
    if (answer.error.code !== METHOD_NOT_FOUND) throw answer.asError();
    return answered(sayInChat('taskNotCanceled', { task }), npc);
  }
}

function answered(text: string, npc: Record<string, unknown>): AgentResponse & { response: string } {
  return { success: true, response: text, isPlain: true, metadata: { npc }, detail: { npc } };
}

/** The same for each attempt of a message; another one for the task that a replay opens after `tasks` earlier ones. */
function idempotencyKeyOf(key: string, tasks: number): string {
  return `wa2ai-${createHash('sha256').update(`${key} ${tasks}`).digest('hex').slice(0, 40)}`;
}

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
async function taskStatus(peer: RpcPeer, taskId: string, signal: AbortSignal | undefined): Promise<NpcTask> {
  const answer = await callRpc(peer, 'task.status', { taskId }, { signal });
  if ('error' in answer) throw answer.asError();
  const task = npcTaskOf(withId(answer.result, taskId));
  if (task) return task;
  throw new Wa2aiError('AGENT_PROTOCOL', 'dead', say('npc.no-task'));
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
        agent: say('agent-name.npc'),
        aborted: say('npc.no-events'),
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
