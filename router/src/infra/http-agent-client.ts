import type { AgentClient, AttemptOptions } from '../core/agent-client.ts';
import { sessionOf } from '../core/chat-id.ts';
import { type Clock, withLimit } from '../core/clock.ts';
import {
  AgentTimeoutError,
  AgentUnavailableError,
  AgentUncertainError,
  MediaError,
  Wa2aiError,
} from '../core/errors.ts';
import type { Logger } from '../core/logger.ts';
import type { AgentResponse, IncomingMessage } from '../core/models.ts';
import { say } from '../core/phrases.ts';
import {
  type AdkAttempt,
  type AdkRequest,
  AdkRuns,
  type AdkSettings,
  AdkState,
  adkServer,
  reportedError,
  timedOut,
  watchRun,
} from './agents/adk/adk-run.ts';
import {
  type AdkEvent,
  type FilePart,
  fileDataOf,
  fileLinksIn,
  filesIn,
  inlineDataOf,
  isReadable,
  type RunAnswer,
  type RunRequest,
  readAnswer,
  sessionStateOf,
} from './agents/adk/adk-wire.ts';
import { attemptLog } from './agents/attempt-log.ts';
import { contextText } from './agents/message-template.ts';
import { AgentTransport, redactor } from './agents/transport/agent-transport.ts';
import { holdingClock } from './clock/system-clock.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024;
/** With files: base64 makes the largest file a third larger. */
const MAX_BYTES_WITH_FILES = 16 * 1024 * 1024;

/** Settings of HttpAgentClient; `timeout` and `adk` are the agent contract's, the rest has defaults. */
interface HttpAgentClientConfig {
  /** Longest wait for one answer, in milliseconds. Default 30000. */
  timeout?: number;
  adk: Omit<AdkSettings, 'timeoutMs'>;
  /** Receives the contract's log lines. Absent: nothing is logged. */
  log?: Logger;
  /** What clients learn about servers; give several clients the same one. Default: its own. */
  state?: AdkState;
  /**
   * Learns the spelling of an unknown server from the session, before the first run: one request more, and that run too
   * carries `stateDelta`. Default: false, the first run has the spelling of the agent contract.
   */
  readsSessionFirst?: boolean;
  /** Default: a new transport, which refuses cloud metadata addresses. */
  transport?: AgentTransport;
  clock?: Clock;
  /** Largest answer, in bytes; a larger one is an error. Default 16 MiB, without files (`adk.media: false`) 2 MiB. */
  maxBytes?: number;
  /**
   * How long the client watches the session for a late answer after a time-out, in milliseconds; 0 = not at all. Only in
   * the camelCase dialect. Default: `timeout`.
   */
  lateAnswerMs?: number;
}

/**
 * Calls ADK agents over HTTP, as the agent contract says and as real ADK servers need it (refs/adk_api.md).
 *
 * It detects the spelling that a server accepts, creates a missing session once, and never has two runs of one session at
 * the same time. After a time-out it sends nothing again: it watches the session and returns a late answer.
 */
export class HttpAgentClient implements AgentClient {
  readonly #adk: Omit<AdkSettings, 'timeoutMs'>;
  readonly #timeoutMs: number;
  readonly #lateAnswerMs: number;
  readonly #log: Logger | undefined;
  readonly #state: AdkState;
  readonly #clock: Clock;
  readonly #transport: AgentTransport;
  readonly #runs: AdkRuns;

  constructor(config: HttpAgentClientConfig) {
    this.#adk = config.adk;
    this.#timeoutMs = config.timeout ?? DEFAULT_TIMEOUT_MS;
    this.#lateAnswerMs = config.lateAnswerMs ?? this.#timeoutMs;
    this.#log = config.log;
    this.#state = config.state ?? new AdkState();
    this.#clock = config.clock ?? holdingClock;
    this.#transport = config.transport ?? new AgentTransport();
    this.#runs = new AdkRuns({
      dialect: this.#adk.dialect,
      readsSessionFirst: config.readsSessionFirst ?? false,
      timeoutMs: this.#timeoutMs,
      maxBytes: config.maxBytes ?? (config.adk.media === false ? DEFAULT_MAX_BYTES : MAX_BYTES_WITH_FILES),
      state: this.#state,
      clock: this.#clock,
    });
  }

  /**
   * Makes one attempt. `adk.baseUrl` of the configuration takes precedence over `endpoint`. The time limit starts when
   * earlier attempts of the same session have ended. If an earlier attempt of the message may have run (a time-out, a lost
   * connection, or `options.isRepeat`), the client first looks for it in the session, and sends the message again only when
   * it is not there or the session cannot be read. With `options.onText` the run goes to `/run_sse` of servers that have it.
   *
   * @returns the answer; without `response` when the agent said nothing. `metadata.adk` contains sessionId, userId,
   *   eventCount, invocationId and, where the server sends them, author, finishReason, usage and stateDelta
   * @throws {AgentUnavailableError} no connection, connection lost before an answer, 429, 502, 503, an overloaded model
   *   before any tool ran, or a time-out after which the session shows that the run never started
   * @throws {AgentTimeoutError} no answer in time, 504, or an answer that broke off: the run may have happened
   * @throws {AgentProtocolError} any other status (500 too: the run may have had effects before it failed), an answer
   *   that is no array of events or too large, a run that reported an error, unusable settings
   * @throws {MediaError} the file of the message, which the agent gets, could not be loaded
   * @throws the signal's reason when `options.signal` aborts
   */
  async sendMessage(
    endpoint: string,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const question = this.#questionOf(endpoint, message, options);
    const { sessionKey, run } = question;
    return await this.#state.runAlone(sessionKey, options.signal, async () => {
      if (options.isRepeat || this.#state.isInDoubt(sessionKey, run.waMessageId)) {
        const earlier = await this.#earlierAnswer(question, options);
        if (earlier) return earlier;
      }
      const file = await this.#fileOf(message, question, options);
      const request = file ? { ...question, run: { ...run, file } } : question;
      const attempt: Omit<AdkAttempt, 'limited'> = {
        ...request,
        inFlight: undefined,
        onText: options.onText,
      };
      await options.beforeRequest?.();
      return await withLimit(this.#clock, this.#timeoutMs, options.signal, (limited) =>
        this.#attempt({ ...attempt, limited }),
      );
    });
  }

  /** Whether the agent accepts a file without text. */
  async takesFile(message: IncomingMessage, endpoint: string): Promise<boolean> {
    return this.#getsFile(message, this.#questionOf(endpoint, message, {}));
  }

  async #getsFile({ media, isTranscript }: IncomingMessage, question: AdkRequest): Promise<boolean> {
    if (!media || this.#adk.media === false) return false;
    if (this.#adk.media !== undefined) return true;
    if (isTranscript || !isReadable(media)) return false;
    return withLimit(this.#clock, this.#timeoutMs, question.outer, (limited) =>
      this.#runs.isAdkServer(question, limited),
    );
  }

  /** @throws {MediaError} */
  async #fileOf(
    message: IncomingMessage,
    question: AdkRequest,
    { loadMedia, mediaUrl }: AttemptOptions,
  ): Promise<FilePart | undefined> {
    const { media } = message;
    if (!media || !(await this.#getsFile(message, question))) return undefined;
    const url = this.#adk.media === 'url' ? await mediaUrl?.() : undefined;
    if (url !== undefined) return fileDataOf(media, url);
    if (!loadMedia) throw new MediaError('MEDIA_GONE', say('media.no-file'));
    return inlineDataOf(media, await loadMedia());
  }

  #questionOf(endpoint: string, message: IncomingMessage, options: AttemptOptions): AdkRequest {
    const server = adkServer(this.#adk.baseUrl ?? endpoint, this.#adk.headers, this.#transport);
    const { userId, sessionId } = sessionOf(message);
    const run: RunRequest = {
      appName: this.#adk.appName,
      userId,
      sessionId,
      text: message.text,
      context: contextText(message.context),
      waMessageId: message.id,
      state: sessionStateOf(message),
    };
    return {
      server,
      run,
      sessionKey: JSON.stringify([server.name, run.appName, run.userId, run.sessionId]),
      log: attemptLog(this.#log, message, options)?.child({ appName: run.appName, agent: server.name }),
      redact: redactor({ ...run, secrets: server.secrets }),
      outer: options.signal,
    };
  }

  async #attempt(attempt: AdkAttempt): Promise<AgentResponse> {
    const startedMs = this.#clock.monotonicMs();
    attempt.log?.info({}, 'sending ADK message');
    try {
      const events = await this.#runs.send(attempt);
      const response = this.#read(attempt, events);
      const durationMs = Math.round(this.#clock.monotonicMs() - startedMs);
      attempt.log?.info({ durationMs }, 'ADK message sent');
      return response;
    } catch (error) {
      attempt.outer?.throwIfAborted();
      if (!(error instanceof Wa2aiError)) throw error;
      const durationMs = Math.round(this.#clock.monotonicMs() - startedMs);
      const fields = { error: error.message, durationMs };
      const timeout = attempt.limited.aborted ? { timeout: true } : {};
      attempt.log?.error({ ...fields, ...timeout }, 'ADK message failed');
      if (error instanceof AgentUnavailableError && error.mayHaveRun)
        this.#state.addDoubt(attempt.sessionKey, attempt.run.waMessageId);
      if (error.disposition !== 'uncertain') throw error;
      return await this.#settle(attempt, error);
    }
  }

  /** @throws {AgentProtocolError | AgentUnavailableError} the run reported an error instead of an answer */
  #read({ run, log, redact }: AdkRequest, events: AdkEvent[]): AgentResponse {
    const answer = readAnswer(events);
    const { eventCount, author } = answer;
    log?.info({ eventCount, answer: answer.kind, author }, 'ADK response processed');
    if (answer.kind === 'failed') throw reportedError(answer, redact);
    return responseOf(run, answer, this.#adk.media === false ? [] : events);
  }

  /** Ends an attempt whose run may have happened: with a late answer, as never started, or with `failure`. */
  async #settle(attempt: AdkAttempt, failure: Wa2aiError): Promise<AgentResponse> {
    this.#state.addDoubt(attempt.sessionKey, attempt.run.waMessageId);
    // The contract's spelling has no field that marks the message, so its run cannot be found.
    if (attempt.inFlight === 'snake' || this.#lateAnswerMs <= 0) throw failure;
    const found = await this.#watch(attempt, this.#lateAnswerMs);
    if (found.kind === 'absent') {
      this.#state.clearDoubt(attempt.sessionKey, attempt.run.waMessageId);
      throw new AgentUnavailableError(failure.said, { cause: failure });
    }
    if (found.kind !== 'finished') throw failure;
    attempt.log?.info({}, 'late ADK answer found in the session');
    return this.#read(attempt, found.events);
  }

  /**
   * The answer to an earlier attempt of this message in the session; undefined when the agent must be called.
   * @throws {AgentUncertainError} the session cannot be read, and the route forbids another attempt then
   */
  async #earlierAnswer(
    question: AdkRequest,
    { uncertain }: AttemptOptions,
  ): Promise<AgentResponse | undefined> {
    const found = await this.#watch(question, this.#timeoutMs);
    if (found.kind === 'running') throw new AgentTimeoutError(timedOut(this.#timeoutMs));
    if (found.kind === 'unknown' && uncertain === 'dead-letter') throw new AgentUncertainError();
    if (found.kind !== 'finished') return undefined;
    const answer = readAnswer(found.events);
    if (answer.kind === 'failed' && answer.isRepeatable) return undefined;
    question.log?.info({}, 'ADK answer of an earlier attempt found in the session');
    return this.#read(question, found.events);
  }

  #watch({ server, run, outer }: AdkRequest, limitMs: number) {
    const signal = outer ?? new AbortController().signal;
    return watchRun(server, run, { limitMs, clock: this.#clock, signal });
  }
}

function responseOf(
  run: RunRequest,
  answer: Exclude<RunAnswer, { kind: 'failed' }>,
  events: AdkEvent[],
): AgentResponse {
  const files = filesIn(events);
  const fileLinks = fileLinksIn(events);
  const { eventCount, invocationId, author, finishReason, usage, stateDelta } = answer;
  const adk = {
    sessionId: run.sessionId,
    userId: run.userId,
    eventCount,
    ...(invocationId && { invocationId }),
    // In the contract the author is always `model`; a real server names the agent that answered.
    ...(author && author !== 'model' && { author }),
    ...(finishReason && { finishReason }),
    ...(usage ? { usage } : {}),
    ...(stateDelta && { stateDelta }),
  };
  return {
    success: true,
    ...(answer.kind === 'text' && { response: answer.text }),
    ...(files.length > 0 && { files }),
    ...(fileLinks.length > 0 && { fileLinks }),
    metadata: { adk },
  };
}
