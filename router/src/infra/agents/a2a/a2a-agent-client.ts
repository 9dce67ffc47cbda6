import { createHash } from 'node:crypto';
import type { Message, Part, Task } from '@a2a-js/sdk';
import { LRUCache } from 'lru-cache';
import type {
  AgentClient,
  AttemptOptions,
  AttemptStore,
  FollowedTask,
  TaskNow,
  TaskReport,
} from '../../../core/agent-client.ts';
import { contractSessionId, contractUser, sessionOf } from '../../../core/chat-id.ts';
import { type Clock, withLimit } from '../../../core/clock.ts';
import {
  AgentTimeoutError,
  AgentUnavailableError,
  AgentUncertainError,
  MediaError,
  Wa2aiError,
} from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { factsOf } from '../../../core/messages/message-facts.ts';
import type { AgentResponse, IncomingMessage } from '../../../core/models.ts';
import { say } from '../../../core/phrases.ts';
import { type SayInChat, sayInEnglish } from '../../../core/policies/texts.ts';
import {
  type AgentSession,
  type PushedTask,
  shortTaskId,
  type TaskPushes,
  taskNamed,
} from '../../../core/tasks.ts';
import { attemptLog } from '../attempt-log.ts';
import { type JsonTemplate, parseJsonTemplate } from '../json-template.ts';
import { contextText } from '../message-template.ts';
import { type AgentTransport, exchangeError, redactor } from '../transport/agent-transport.ts';
import type { A2aSettings } from './a2a-settings.ts';
import {
  type A2aCardAnswer,
  type A2aCards,
  type A2aServer,
  a2aServer,
  takesMedia,
} from './card/a2a-cards.ts';
import { type AnswerContext, answerOfMessage, answerOfTask, partOfFile } from './output/answer.ts';
import { A2aConnection } from './wire/a2a-connection.ts';
import {
  a2aUpdates,
  artifactText,
  hasMessage,
  hasSettled,
  isSettled,
  type PushedUpdates,
  progressText,
  stateOf,
  TaskView,
} from './wire/task-updates.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_WAIT_MS = 20_000;
/** Of what an agent says about a running task. */
const MAX_SAID_CHARS = 1_000;
/** Between two reports of progress. */
const PROGRESS_EVERY_MS = 15_000;
/** Role of a message, in the enumeration of the protocol. */
const ROLE_USER = 1;

/** Settings of A2aAgentClient. */
interface A2aAgentClientConfig {
  a2a: A2aSettings;
  /** Longest wait for one answer, in milliseconds, when `a2a` names none. Default 30000. */
  timeoutMs?: number;
  log?: Logger;
  clock: Clock;
  transport: AgentTransport;
  /** Cache of cards. Clients that share one fetch a card once. */
  cards: A2aCards;
  /** Messages that an attempt of this process may have delivered. Clients of one route share it. Default: an own one. */
  attempted?: Attempted;
  /** The route; its clients have the same messages. Default: none. */
  routeId?: string;
  /** Notifications of agents about tasks that are followed. Default: none. */
  taskPushes?: TaskPushes | undefined;
  /** wa2ai runs the agent: a loopback address in its card is the agent itself. Default false. */
  isHosted?: boolean;
}

/** Keys of messages, each of a route, a chat and an id. */
type Attempted = LRUCache<string, true>;

/** An empty one; the least recently used message of 10,000 is removed first. */
export function noneAttempted(): Attempted {
  return new LRUCache({ max: 10_000 });
}

/** One message at one agent. */
interface Exchange extends TaskSearch {
  message: IncomingMessage;
  /** What is stored of the conversation; before the first answer, a context id made from the chat. */
  session: AgentSession;
  isStored: boolean;
  /** The task that asked for this message, as it was before. */
  question?: Task;
}

/** What an attempt brought: a message, or a task in the state that it has now. */
type Outcome = { kind: 'message'; message: Message } | { kind: 'task'; task: Task };

/**
 * Calls agents that speak A2A, version 1.0 or 0.3, over JSON-RPC or HTTP. Each person has one conversation (context) in
 * each chat. A task that asks for input gets the person's next message.
 *
 * The id of a task is stored before any wait. After a crash, and after an attempt whose answer was lost, the client first
 * looks for the task of the message: among the stored ones, then in the list of the conversation (1.0) by the message's id.
 */
export class A2aAgentClient implements AgentClient {
  readonly #a2a: A2aSettings;
  readonly #timeoutMs: number;
  readonly #log: Logger | undefined;
  readonly #clock: Clock;
  readonly #transport: AgentTransport;
  readonly #cards: A2aCards;
  readonly #output: JsonTemplate | undefined;
  /** The interface of each card, as long as the card is used. */
  readonly #servers = new WeakMap<A2aCardAnswer, A2aServer>();
  readonly #attempted: Attempted;
  readonly #routeId: string;
  readonly #isHosted: boolean;
  readonly #taskPushes: TaskPushes | undefined;

  constructor(config: A2aAgentClientConfig) {
    this.#a2a = config.a2a;
    this.#timeoutMs = config.a2a.timeoutMs ?? config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#log = config.log;
    this.#clock = config.clock;
    this.#transport = config.transport;
    this.#cards = config.cards;
    this.#attempted = config.attempted ?? noneAttempted();
    this.#routeId = config.routeId ?? '';
    this.#isHosted = config.isHosted ?? false;
    this.#taskPushes = config.taskPushes;
    this.#output = config.a2a.output === undefined ? undefined : parseJsonTemplate(config.a2a.output);
  }

  /**
   * Sends the message once, and waits for the end of its task for `waitMs`.
   * @returns the answer; a line and `task` when the task continues. `metadata.a2a` contains `contextId`, `taskId` and `state`
   * @throws {AgentUnavailableError} no connection, connection lost before an answer, 429, 502, 503
   * @throws {AgentTimeoutError} no answer in time, 504, or a connection lost during the answer: the task may be running
   * @throws {AgentUncertainError} an earlier attempt may have been delivered, this cannot be seen, and the route forbids
   *   another one
   * @throws {AgentTaskError} the task failed, was rejected, or needs a login
   * @throws {AgentProtocolError} any other error
   * @throws {MediaError} the file of the message could not be loaded
   * @throws the signal's reason when `options.signal` aborts
   */
  async sendMessage(
    endpoint: string,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const log = attemptLog(this.#log, message, options);
    const connection = await this.#connect(endpoint, message, options.signal);
    const command = taskCommandOf(message.text);
    if (command && options.store)
      return await answerTaskCommand(connection, command, { ...options, store: options.store });
    const known = await options.store?.session();
    const session = known ?? { contextId: contextIdOf(endpoint, message) };
    const exchange = { connection, message, options, session, isStored: known !== undefined, log };
    return await this.#ask(exchange);
  }

  async takesFile({ media }: IncomingMessage, endpoint: string): Promise<boolean> {
    if (!media) return false;
    try {
      const { server } = (await this.#connect(endpoint, undefined, undefined)).peer;
      return takesMedia(server.card, media.mimeType);
    } catch (error) {
      // The attempt throws the same error, and the route's failure settings apply to it.
      if (error instanceof Wa2aiError) return true;
      throw error;
    }
  }

  async followTask(
    endpoint: string,
    { remoteId, message, position }: FollowedTask,
    options: FollowOptions,
  ): Promise<TaskReport> {
    const { signal, log } = options;
    const connection = await this.#connect(endpoint, message, signal);
    const pushed = this.#taskPushes && pushesOf(this.#taskPushes, { routeId: this.#routeId, remoteId });
    for await (const task of a2aUpdates(connection, remoteId, { signal, log, ...(pushed && { pushed }) })) {
      if (isSettled(stateOf(task))) return await this.#endOf(connection, task, options);
      const said = this.#a2a.progress ? progressText(task) : undefined;
      if (said === undefined || positionOf(said) === position) continue;
      await this.#clock.sleep(PROGRESS_EVERY_MS, signal);
      const now = await connection.task(remoteId, signal);
      if (isSettled(stateOf(now))) return await this.#endOf(connection, now, options);
      const text = progressText(now) ?? said;
      return { kind: 'progress', text, position: positionOf(text) };
    }
    throw new AgentUnavailableError(say('a2a.no-end', { task: shortTaskId(remoteId) }));
  }

  async taskNow(
    endpoint: string,
    { remoteId, message }: FollowedTask,
    signal: AbortSignal,
  ): Promise<TaskNow> {
    const connection = await this.#connect(endpoint, message, signal);
    const task = await connection.task(remoteId, signal);
    const text = progressText(task)?.slice(0, MAX_SAID_CHARS);
    return { state: stateOf(task), ...(text !== undefined && { text }) };
  }

  async cancelTask(
    endpoint: string,
    { remoteId, message }: FollowedTask,
    signal: AbortSignal,
  ): Promise<boolean> {
    const connection = await this.#connect(endpoint, message, signal);
    try {
      await connection.cancel(remoteId, signal);
      return true;
    } catch (error) {
      if (!(error instanceof Wa2aiError) || error.code !== 'AGENT_REPORTED_ERROR') throw error;
      return false;
    }
  }

  /** The request that a message would make. Fetches the card. */
  async preview(message: IncomingMessage, endpoint: string): Promise<Record<string, unknown>> {
    const { peer } = await this.#connect(endpoint, message, undefined);
    const { url, version, canStream } = peer.server;
    return {
      kind: 'call',
      url,
      version,
      method: canStream ? 'SendStreamingMessage' : 'SendMessage',
      contextId: contextIdOf(endpoint, message),
      text: message.text,
    };
  }

  async #connect(
    endpoint: string,
    message: IncomingMessage | undefined,
    signal: AbortSignal | undefined,
  ): Promise<A2aConnection> {
    const found = await withLimit(this.#clock, this.#timeoutMs, signal, (limited) =>
      this.#cards.cardOf(endpoint, this.#a2a, limited, this.#transport).catch((error: unknown) => {
        signal?.throwIfAborted();
        if (!limited.aborted) throw error;
        throw new AgentUnavailableError(say('a2a.no-card-in-time', { ms: this.#timeoutMs }));
      }),
    );
    const { fetched } = found;
    if (!found.card && fetched?.kind === 'fault') {
      const aborted = say('a2a.no-card-in-time', { ms: this.#timeoutMs });
      const redact = (written: string) => written;
      throw exchangeError(fetched, {
        agent: say('agent-name.a2a'),
        aborted,
        nowMs: this.#clock.now(),
        redact,
      });
    }
    const server = this.#serverOf(endpoint, found);
    const { text = '', from = '', channelId = '' } = message ?? {};
    const person = { userId: contractUser(from), sessionId: contractSessionId(from, channelId) };
    const redact = redactor({ text, ...person, secrets: server.secrets });
    return new A2aConnection({
      server,
      redact,
      transport: this.#transport,
      clock: this.#clock,
      timeoutMs: this.#timeoutMs,
    });
  }

  /** @throws {AgentProtocolError} the card has no interface that the settings allow */
  #serverOf(endpoint: string, found: A2aCardAnswer): A2aServer {
    const known = this.#servers.get(found);
    if (known) return known;
    const server = a2aServer(endpoint, this.#a2a, found, this.#isHosted);
    this.#servers.set(found, server);
    return server;
  }

  async #ask(exchange: Exchange): Promise<AgentResponse> {
    const { message, options, log } = exchange;
    const own = [message.accountId, message.channelId, message.from, message.id].join(' ');
    const key = `${this.#routeId} ${own}`;
    const isAgain = options.isRepeat || this.#attempted.has(key);
    const stored = isAgain && options.store ? await options.store.tasks() : [];
    const messageId = uuidOf(`message ${own} ${stored.length}`);
    if (isAgain) {
      const earlier = await earlierTask(exchange, stored, messageId);
      if (earlier) {
        log?.info({ taskId: earlier.id }, 'task of an earlier attempt found');
        return await this.#waitForEnd(exchange, earlier);
      }
    }
    const parts = await this.#partsOf(exchange);
    await options.beforeRequest?.();
    const question = await waitingTask(exchange);
    const asked = question ? { ...exchange, question } : exchange;
    this.#attempted.set(key, true);
    const outcome = await this.#deliver(asked, parts, messageId);
    this.#attempted.delete(key);
    if (outcome.kind === 'task') return await this.#waitForEnd(asked, outcome.task);
    await this.#remember(exchange, { contextId: outcome.message.contextId });
    return await answerOfMessage(outcome.message.parts, outcome.message.contextId, this.#context(exchange));
  }

  /** @throws {MediaError} */
  async #partsOf({ message, options, connection }: Exchange): Promise<Part[]> {
    const { text, media } = message;
    const earlier = contextText(message.context);
    const said = [...(earlier === undefined ? [] : [earlier]), ...(text === '' ? [] : [text])];
    const parts: Part[] = said.map(partOfText);
    if (!media || !takesMedia(connection.peer.server.card, media.mimeType))
      return parts.length > 0 ? parts : [partOfText(text)];
    if (!options.loadMedia) throw new MediaError('MEDIA_GONE', say('media.no-file'));
    return [...parts, partOfFile(media, await options.loadMedia())];
  }

  /** Sends the message. An agent that accepts only contexts that it made gets it without one, once. */
  async #deliver(exchange: Exchange, parts: Part[], messageId: string): Promise<Outcome> {
    const { session, question, isStored } = exchange;
    const message: Message = {
      messageId,
      contextId: session.contextId,
      taskId: question?.id ?? '',
      role: ROLE_USER,
      parts,
      metadata: { wa2ai: factsOf(exchange.message) },
      extensions: [],
      referenceTaskIds: [],
    };
    try {
      return await this.#send(exchange, message);
    } catch (error) {
      const isRefused = error instanceof Wa2aiError && error.code === 'AGENT_REPORTED_ERROR';
      if (!isRefused || isStored || !/context/i.test(error.message)) throw error;
      return await this.#send(exchange, { ...message, contextId: '' });
    }
  }

  async #send(exchange: Exchange, message: Message): Promise<Outcome> {
    const { connection, options } = exchange;
    if (connection.peer.server.canStream) return await this.#sendStreaming(exchange, message);
    const answer = await connection.send(message, options.signal);
    if (!('id' in answer)) return { kind: 'message', message: answer };
    await options.store?.addTask(answer.id);
    return { kind: 'task', task: answer };
  }

  /** Reads the events of a new task until it settles or `waitMs` is over. */
  async #sendStreaming(
    { connection, options: { signal, store, onText }, question, log }: Exchange,
    message: Message,
  ): Promise<Outcome> {
    const found: { view?: TaskView; message?: Message; isShown?: boolean } = {};
    await withLimit(this.#clock, this.#waitMs + this.#timeoutMs, signal, async (limited) => {
      const waiting = new AbortController();
      limited.addEventListener('abort', () => waiting.abort(), { once: true });
      try {
        for await (const { payload } of connection.stream(message, waiting.signal)) {
          if (payload?.$case === 'message') {
            found.message = payload.value;
            return;
          }
          if (!payload) continue;
          const isNew = !found.view;
          found.view ??= viewOf(payload);
          if (isNew) {
            await store?.addTask(found.view.task.id);
            // An answer that the person already reads is waited for as long as the agent may take.
            this.#clock.sleep(this.#waitMs, waiting.signal).then(
              () => found.isShown || waiting.abort(),
              () => undefined,
            );
          }
          if (payload.$case === 'task') found.view.task = payload.value;
          else if (payload.$case === 'statusUpdate') found.view.status(payload.value);
          else found.view.artifact(payload.value);
          if (hasSettled(found.view.task, question)) return;
          if (payload.$case === 'artifactUpdate' && !this.#output) {
            const { task } = found.view;
            found.isShown = onText !== undefined;
            onText?.(() => artifactText(task));
          }
        }
      } catch (error) {
        signal?.throwIfAborted();
        // The task is known: its end comes from looking at it.
        if (!found.view || !(waiting.signal.aborted || error instanceof Wa2aiError)) throw error;
        if (!waiting.signal.aborted) log?.warn({ err: error }, 'events of a task ended early');
      } finally {
        waiting.abort();
      }
    });
    if (found.message) return { kind: 'message', message: found.message };
    if (found.view) return { kind: 'task', task: found.view.task };
    throw new AgentTimeoutError(say('agent.silent', { agent: say('agent-name.a2a'), ms: this.#timeoutMs }));
  }

  get #waitMs(): number {
    return this.#a2a.waitMs ?? DEFAULT_WAIT_MS;
  }

  /** The end of a task that comes within `waitMs`; else the line of a task that continues. */
  async #waitForEnd(exchange: Exchange, task: Task): Promise<AgentResponse> {
    const { connection, options, question, log } = exchange;
    const watched = { ...(log && { log }), ...(question && { question }) };
    let settled = hasSettled(task, question) ? task : undefined;
    settled ??= await withLimit(this.#clock, this.#waitMs, options.signal, async (signal) => {
      try {
        for await (const update of a2aUpdates(connection, task.id, { signal, ...watched })) {
          if (hasSettled(update, question)) return update;
        }
      } catch (error) {
        options.signal?.throwIfAborted();
        if (!signal.aborted) throw error;
      }
      return undefined;
    });
    if (settled) return await this.#answer(exchange, settled);
    if (!options.store)
      throw new AgentTimeoutError(say('a2a.task-not-ended', { task: task.id, ms: this.#waitMs }));
    await this.#remember(exchange, { contextId: task.contextId });
    const { sayInChat = sayInEnglish } = options;
    const a2a = { taskId: task.id, contextId: task.contextId, state: stateOf(task) };
    return {
      success: true,
      response: sayInChat('taskStarted', { task: shortTaskId(task.id) }),
      task: { remoteId: task.id },
      metadata: { a2a },
      detail: { a2a },
    };
  }

  async #answer(exchange: Exchange, task: Task): Promise<AgentResponse> {
    await this.#remember(exchange, sessionAfter(task));
    return await answerOfTask(task, this.#context(exchange));
  }

  /** Stores the conversation when it is another one than before. */
  async #remember({ options, session, isStored }: Exchange, next: AgentSession): Promise<void> {
    const contextId = next.contextId || session.contextId;
    if (
      contextId === session.contextId &&
      next.taskId === session.taskId &&
      (isStored || next.taskId === undefined)
    )
      return;
    await options.store?.saveSession({
      contextId,
      ...(next.taskId !== undefined && { taskId: next.taskId }),
    });
  }

  #context({ connection, options }: Pick<Exchange, 'connection' | 'options'>): AnswerContext {
    const { server, redact } = connection.peer;
    const signal = options.signal ?? AbortSignal.timeout(this.#timeoutMs);
    return {
      transport: this.#transport,
      headersFor: server.headersFor,
      signal,
      output: this.#output,
      redact,
      sayInChat: options.sayInChat,
    };
  }

  async #endOf(
    connection: A2aConnection,
    task: Task,
    { signal, store, sayInChat }: FollowOptions,
  ): Promise<TaskReport> {
    if (task.contextId) await store.saveSession(sessionAfter(task));
    return {
      kind: 'end',
      response: await answerOfTask(
        task,
        this.#context({ connection, options: { signal, ...(sayInChat && { sayInChat }) } }),
      ),
    };
  }
}

interface FollowOptions {
  signal: AbortSignal;
  log: Logger;
  store: Pick<AttemptStore, 'saveSession'>;
  sayInChat?: SayInChat;
}

function pushesOf(pushes: TaskPushes, task: PushedTask): PushedUpdates {
  return { url: () => pushes.urlOf(task), listen: (onPush) => pushes.listen(task, onPush) };
}

function partOfText(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' };
}

/** The first event of a new task. */
function viewOf(
  payload:
    | { $case: 'task'; value: Task }
    | { $case: 'statusUpdate' | 'artifactUpdate'; value: { taskId: string; contextId: string } },
): TaskView {
  if (payload.$case === 'task') return new TaskView(payload.value);
  return new TaskView({ id: payload.value.taskId, contextId: payload.value.contextId });
}

/** A task that asks for input gets the person's next message. */
function sessionAfter(task: Task): AgentSession {
  const isWaiting = stateOf(task) === 'input-required';
  return { contextId: task.contextId, ...(isWaiting && { taskId: task.id }) };
}

/** The conversation of a person in a chat with an agent: always the same, also on another node. */
function contextIdOf(endpoint: string, message: IncomingMessage): string {
  return uuidOf(`context ${endpoint} ${message.accountId ?? ''} ${sessionOf(message).sessionId}`);
}

/** A UUID made from a text (version 8, RFC 9562). */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(`wa2ai ${text}`).digest('hex');
  const variant = ((Number.parseInt(hex[16] ?? '0', 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

/** What was reported last, short enough to store. */
function positionOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** Where earlier tasks of a message are looked for. */
interface TaskSearch {
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
async function earlierTask(
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
async function waitingTask({ connection, session, options, log }: TaskSearch): Promise<Task | undefined> {
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
async function answerTaskCommand(
  connection: A2aConnection,
  command: TaskCommand,
  { signal, store, beforeRequest, sayInChat = sayInEnglish }: AttemptOptions & { store: AttemptStore },
): Promise<AgentResponse> {
  const stored = await store.chatTasks();
  if (command.kind === 'list') {
    const lines = stored
      .slice(0, MAX_LISTED)
      .map(
        ({ remoteId, isOpen }) =>
          `• ${shortTaskId(remoteId)}: ${sayInChat(isOpen ? 'taskRunning' : 'taskEnded')}`,
      );
    return said(lines.join('\n') || sayInChat('taskNone'));
  }
  const { written } = command;
  if (written === '') return said(sayInChat('taskHelp'));
  const task = taskNamed(stored, written);
  if (!task) return said(sayInChat('taskUnknown', { task: written.slice(0, 40) }));
  await beforeRequest?.();
  const id = shortTaskId(task.remoteId);
  if (command.kind === 'status') {
    return said(
      sayInChat('taskSays', { task: id, text: stateOf(await connection.task(task.remoteId, signal)) }),
    );
  }
  try {
    await connection.cancel(task.remoteId, signal);
    return said(sayInChat('taskCanceling', { task: id }));
  } catch (error) {
    if (!(error instanceof Wa2aiError) || error.code !== 'AGENT_REPORTED_ERROR') throw error;
    return said(sayInChat('taskNotCanceled', { task: id }));
  }
}

function said(response: string): AgentResponse {
  const a2a = { answeredBy: 'wa2ai' };
  return { success: true, response, metadata: { a2a }, detail: { a2a } };
}
