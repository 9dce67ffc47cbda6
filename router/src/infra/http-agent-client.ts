import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentClient, AskOptions } from '../core/agent-client.ts';
import { contractUser } from '../core/chat-id.ts';
import { AgentProtocolError, AgentTimeoutError, AgentUnavailableError, Wa2aiError } from '../core/errors.ts';
import type { AdkConfig, AgentResponse, IncomingMessage } from '../core/models.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Logger } from '../core/ports/logger.ts';
import {
  failedSentence,
  faultError,
  type Redact,
  type Refusal,
  redactor,
  refusalError,
  reportedError,
  timeoutSentence,
} from './adk-errors.ts';
import { type AdkServer, adkServer, exchange } from './adk-http.ts';
import { createSession, isSessionAbsent, listApps, watchRun, withLimit } from './adk-session.ts';
import { AdkState } from './adk-state.ts';
import {
  type AdkDialect,
  type AdkEvent,
  isSessionMissing,
  parseEvents,
  type RunAnswer,
  type RunRequest,
  readAnswer,
  runBody,
} from './adk-wire.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024;

/** Unlike the service's clock, this one holds the process: a script that awaits an answer must not end before it. */
const holdingClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  sleep: async (ms, signal) => {
    await sleep(ms, undefined, signal && { signal });
  },
};

/** Settings of HttpAgentClient; `timeout` and `adk` are the agent contract's, the rest has defaults. */
export interface HttpAgentClientConfig {
  /** Longest wait for one answer, in milliseconds. Default 30000. */
  timeout?: number;
  adk: Omit<AdkConfig, 'timeoutMs'>;
  /** Takes the contract's log lines; without it nothing is logged. */
  log?: Logger;
  /** Share one among clients, so that what one learns of a server the others know. Default: its own. */
  state?: AdkState;
  clock?: Clock;
  /** Largest answer read, in bytes; a larger one is cut off and an error. Default 2 MiB. */
  maxBytes?: number;
  /**
   * How long after a time-out the session is watched for the answer of the run that was not waited for, in
   * milliseconds; 0 = not at all. Only in the camelCase dialect. Default: `timeout`.
   */
  lateAnswerMs?: number;
}

/** What is asked where. */
interface Question {
  server: AdkServer;
  run: RunRequest;
  /** Names the session among all servers. */
  sessionKey: string;
  log: Logger | undefined;
  redact: Redact;
  /** The caller's signal. */
  outer: AbortSignal | undefined;
}

/** A question on its way. */
interface Ask extends Question {
  /** Aborts at the time limit and at the caller's signal. */
  limited: AbortSignal;
  /** Spelling of a run that was sent and whose fate is unknown so far. */
  inFlight: AdkDialect | undefined;
}

type RunResult = { ok: true; events: AdkEvent[] } | { ok: false; refusal: Refusal };

/**
 * Asks ADK agents over HTTP, as the agent contract says and as real ADK servers need it (refs/adk_api.md).
 *
 * It learns how a server spells its body, creates a missing session once, and lets no two runs of one session overlap.
 * After a time-out nothing is sent again: the session is watched, and an answer that comes late is returned.
 */
export class HttpAgentClient implements AgentClient {
  readonly #adk: Omit<AdkConfig, 'timeoutMs'>;
  readonly #timeoutMs: number;
  readonly #lateAnswerMs: number;
  readonly #maxBytes: number;
  readonly #log: Logger | undefined;
  readonly #state: AdkState;
  readonly #clock: Clock;

  constructor(config: HttpAgentClientConfig) {
    this.#adk = config.adk;
    this.#timeoutMs = config.timeout ?? DEFAULT_TIMEOUT_MS;
    this.#lateAnswerMs = config.lateAnswerMs ?? this.#timeoutMs;
    this.#maxBytes = config.maxBytes ?? DEFAULT_MAX_BYTES;
    this.#log = config.log;
    this.#state = config.state ?? new AdkState();
    this.#clock = config.clock ?? holdingClock;
  }

  /**
   * Asks once. `adk.baseUrl` of the configuration goes before `endpoint`. The time limit starts when earlier asks of the
   * same session have ended. A message whose earlier ask ended in doubt (a time-out, a lost connection, or
   * `options.isRepeat`) is looked for in the session first, and asked again only when the session does not hold it or
   * cannot be seen.
   *
   * @returns the answer; without `response` when the agent said nothing. `metadata.adk` holds sessionId, userId,
   *   eventCount, invocationId and, where the server told them, author, finishReason, usage and stateDelta
   * @throws {AgentUnavailableError} no connection, connection lost before an answer, 429, 502, 503, an overloaded model
   *   before any tool ran, or a time-out after which the session shows that the run was never taken
   * @throws {AgentTimeoutError} no answer in time, 504, or an answer that broke off: the run may have happened
   * @throws {AgentProtocolError} any other status (500 too: the run may have had effects before it failed), an answer
   *   that is no array of events or too large, a run that reported an error, unusable settings
   * @throws the signal's reason when `options.signal` aborts
   */
  async sendMessage(
    endpoint: string,
    message: IncomingMessage,
    options: AskOptions = {},
  ): Promise<AgentResponse> {
    const question = this.#questionOf(endpoint, message, options.signal);
    const { sessionKey, run } = question;
    return await this.#state.runAlone(sessionKey, options.signal, async () => {
      if (options.isRepeat || this.#state.isInDoubt(sessionKey, run.messageId)) {
        const earlier = await this.#earlierAnswer(question);
        if (earlier) return earlier;
      }
      const ask: Omit<Ask, 'limited'> = { ...question, inFlight: undefined };
      return await withLimit(this.#clock, this.#timeoutMs, options.signal, (limited) =>
        this.#ask({ ...ask, limited }),
      );
    });
  }

  #questionOf(endpoint: string, message: IncomingMessage, outer: AbortSignal | undefined): Question {
    const server = adkServer(this.#adk.baseUrl ?? endpoint, this.#adk.headers);
    const userId = contractUser(message.from);
    const run: RunRequest = {
      appName: this.#adk.appName,
      userId,
      sessionId: `${userId}_${contractUser(message.channelId)}`,
      text: message.text,
      messageId: message.id,
    };
    return {
      server,
      run,
      sessionKey: JSON.stringify([server.name, run.appName, run.userId, run.sessionId]),
      log: this.#log?.child({ messageId: message.id, appName: run.appName, agent: server.name }),
      redact: redactor(run, server.secrets),
      outer,
    };
  }

  async #ask(ask: Ask): Promise<AgentResponse> {
    const startedMs = this.#clock.monotonicMs();
    ask.log?.info({}, '[HttpAgentClient] Sending ADK message');
    try {
      const result = await this.#run(ask);
      if (!result.ok) throw await this.#refused(ask, result.refusal);
      this.#state.noteSession(ask.sessionKey);
      const response = this.#read(ask, result.events);
      const durationMs = Math.round(this.#clock.monotonicMs() - startedMs);
      ask.log?.info({ durationMs }, '[HttpAgentClient] ADK message sent successfully');
      return response;
    } catch (error) {
      ask.outer?.throwIfAborted();
      if (!(error instanceof Wa2aiError)) throw error;
      const durationMs = Math.round(this.#clock.monotonicMs() - startedMs);
      const fields = { error: error.message, durationMs };
      const timeout = ask.limited.aborted ? { timeout: true } : {};
      ask.log?.error({ ...fields, ...timeout }, '[HttpAgentClient] ADK message failed');
      if (error.disposition !== 'uncertain') throw error;
      return await this.#settle(ask, error);
    }
  }

  /** Sends the run in the spelling the server is thought to take, and mends what a refusal says about it, once. */
  async #run(ask: Ask): Promise<RunResult> {
    const { name } = ask.server;
    const fixed = this.#adk.dialect === 'auto' ? undefined : this.#adk.dialect;
    const first = fixed ?? this.#state.dialectOf(name) ?? 'snake';
    const result = await this.#post(ask, first);
    if (result.ok) return result;
    const { status, body } = result.refusal;
    const isBodyRefused = !fixed && (status === 400 || status === 422);

    if (isBodyRefused && first === 'camel') {
      // Another server answers at this address now; it could not read the body, so nothing was run.
      const retried = await this.#post(ask, 'snake');
      return retried.ok ? retried : result;
    }
    const isMendable =
      isSessionMissing(status, body) ||
      (isBodyRefused && !/missing required fields/i.test(body)) ||
      (status === 500 && (await this.#failedForWantOfSession(ask)));
    const isThere = isMendable && (await createSession(ask.server, ask.run, ask.limited));
    this.#throwIfEnded(ask);
    return isThere ? await this.#post(ask, fixed ?? 'camel') : result;
  }

  /** Some servers answer a run in a missing session with a bare 500; then nothing was run. */
  async #failedForWantOfSession(ask: Ask): Promise<boolean> {
    if (this.#state.isSessionKnown(ask.sessionKey)) return false;
    return await isSessionAbsent(ask.server, ask.run, ask.limited);
  }

  async #post(ask: Ask, dialect: AdkDialect): Promise<RunResult> {
    const { server } = ask;
    ask.inFlight = dialect;
    const result = await exchange(server.url('run'), {
      method: 'POST',
      headers: server.headers,
      body: JSON.stringify(runBody(dialect, ask.run)),
      signal: ask.limited,
      maxBytes: this.#maxBytes,
    });
    this.#throwIfEnded(ask);
    if (result.kind === 'fault') {
      if (result.stage === 'no-answer') this.#state.noteDoubt(ask.sessionKey, ask.run.messageId);
      throw faultError(result.stage, ask.redact(result.detail), result.cause);
    }
    const { status, headers, body } = result;
    if (status !== 504) ask.inFlight = undefined;
    if (status !== 200) return { ok: false, refusal: { status, headers, body } };
    const events = parseEvents(body);
    if (!events.ok) throw new AgentProtocolError(failedSentence(events.problem));
    this.#state.learnDialect(server.name, dialect);
    return { ok: true, events: events.value };
  }

  /** @throws at the caller's abort its reason, at the time limit the contract's time-out, else nothing */
  #throwIfEnded(ask: Ask): void {
    ask.outer?.throwIfAborted();
    if (!ask.limited.aborted) return;
    const sentence = timeoutSentence(this.#timeoutMs);
    // A time-out between two runs, while the session was being created: nothing was run.
    throw ask.inFlight ? new AgentTimeoutError(sentence) : new AgentUnavailableError(sentence);
  }

  async #refused(ask: Ask, refusal: Refusal): Promise<Wa2aiError> {
    const { status, body } = refusal;
    const isUnknownApp = status === 404 && !isSessionMissing(status, body);
    const apps = isUnknownApp ? await listApps(ask.server, ask.limited) : [];
    if (status === 502) this.#state.noteDoubt(ask.sessionKey, ask.run.messageId);
    return refusalError(refusal, { apps, nowMs: this.#clock.now(), redact: ask.redact });
  }

  /** @throws {AgentProtocolError | AgentUnavailableError} the run reported an error instead of an answer */
  #read({ run, log, redact }: Question, events: AdkEvent[]): AgentResponse {
    const answer = readAnswer(events);
    const { eventCount, author } = answer;
    log?.info({ eventCount, answer: answer.kind, author }, '[HttpAgentClient] ADK response processed');
    if (answer.kind === 'failed') throw reportedError(answer, redact);
    return responseOf(run, answer);
  }

  /** Ends an ask whose run may have happened: by a late answer, by the proof that it never began, or by `failure`. */
  async #settle(ask: Ask, failure: Wa2aiError): Promise<AgentResponse> {
    this.#state.noteDoubt(ask.sessionKey, ask.run.messageId);
    // The contract's own spelling carries no mark by which the run could be found again.
    if (ask.inFlight === 'snake' || this.#lateAnswerMs <= 0) throw failure;
    const found = await this.#watch(ask, this.#lateAnswerMs);
    if (found.kind === 'absent') {
      this.#state.clearDoubt(ask.sessionKey, ask.run.messageId);
      throw new AgentUnavailableError(failure.message, { cause: failure });
    }
    if (found.kind !== 'finished') throw failure;
    ask.log?.info({}, '[HttpAgentClient] late ADK answer found in the session');
    return this.#read(ask, found.events);
  }

  /** What the session holds of an earlier ask of this message; undefined when it is to be asked (again). */
  async #earlierAnswer(question: Question): Promise<AgentResponse | undefined> {
    const found = await this.#watch(question, this.#timeoutMs);
    if (found.kind === 'running') throw new AgentTimeoutError(timeoutSentence(this.#timeoutMs));
    if (found.kind !== 'finished') return undefined;
    const answer = readAnswer(found.events);
    if (answer.kind === 'failed' && answer.isRepeatable) return undefined;
    question.log?.info({}, '[HttpAgentClient] ADK answer of an earlier ask found in the session');
    return this.#read(question, found.events);
  }

  #watch({ server, run, outer }: Question, limitMs: number) {
    const signal = outer ?? new AbortController().signal;
    return watchRun(server, run, { limitMs, clock: this.#clock, signal });
  }
}

function responseOf(run: RunRequest, answer: Exclude<RunAnswer, { kind: 'failed' }>): AgentResponse {
  const { eventCount, invocationId, author, finishReason, usage, stateDelta } = answer;
  const adk = {
    sessionId: run.sessionId,
    userId: run.userId,
    eventCount,
    ...(invocationId && { invocationId }),
    // The contract's own author says nothing; a real server's tells which agent of several answered.
    ...(author && author !== 'model' && { author }),
    ...(finishReason && { finishReason }),
    ...(usage ? { usage } : {}),
    ...(stateDelta && { stateDelta }),
  };
  return { success: true, ...(answer.kind === 'text' && { response: answer.text }), metadata: { adk } };
}
