import { setTimeout as sleep } from 'node:timers/promises';
import type { AgentClient, AskOptions } from '../core/agent-client.ts';
import { contractUser } from '../core/chat-id.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../core/errors.ts';
import type { AdkConfig, AgentResponse, IncomingMessage } from '../core/models.ts';
import type { Clock } from '../core/ports/clock.ts';
import type { Logger } from '../core/ports/logger.ts';
import { type AdkServer, adkServer, exchange } from './adk-http.ts';
import { createSession, isSessionAbsent, listApps, watchRun, withLimit } from './adk-session.ts';
import { AdkState } from './adk-state.ts';
import {
  type AdkDialect,
  type AdkEvent,
  errorText,
  isSessionMissing,
  parseEvents,
  type RunAnswer,
  type RunRequest,
  readAnswer,
  runBody,
} from './adk-wire.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024;
/** Shorter values are left alone when secrets are taken out of a text: they would blank out ordinary words. */
const MIN_SECRET_CHARS = 8;

/** Unlike the service's clock, this one holds the process: a script that awaits an answer must not end before it. */
const holdingClock: Clock = {
  now: () => Date.now(),
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

/** One ask on its way: what is sent where, and how it may end early. */
interface Ask {
  server: AdkServer;
  run: RunRequest;
  sessionKey: string;
  log: Logger | undefined;
  /** Aborts at the time limit and at the caller's signal. */
  limited: AbortSignal;
  outer: AbortSignal | undefined;
  /** Spelling of a run that was sent and has no status yet: its fate is unknown. */
  inFlight: AdkDialect | undefined;
}

type Refusal = { status: number; headers: Headers; body: string };
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
    const server = adkServer(this.#adk.baseUrl ?? endpoint, this.#adk.headers);
    const userId = contractUser(message.from);
    const run: RunRequest = {
      appName: this.#adk.appName,
      userId,
      sessionId: `${userId}_${contractUser(message.channelId)}`,
      text: message.text,
      messageId: message.id,
    };
    const sessionKey = JSON.stringify([server.name, run.appName, run.userId, run.sessionId]);
    const log = this.#log?.child({ messageId: message.id, appName: run.appName, agent: server.name });
    return await this.#state.runAlone(sessionKey, options.signal, async () => {
      const base = { server, run, sessionKey, log, outer: options.signal };
      const earlier = await this.#earlierAnswer(base, options.isRepeat === true);
      return (
        earlier ??
        (await withLimit(this.#clock, this.#timeoutMs, options.signal, (limited) =>
          this.#ask({ ...base, limited, inFlight: undefined }),
        ))
      );
    });
  }

  async #ask(ask: Ask): Promise<AgentResponse> {
    const startedMs = this.#clock.now();
    ask.log?.info({}, '[HttpAgentClient] Sending ADK message');
    try {
      const result = await this.#run(ask);
      if (!result.ok) throw await this.#refused(ask, result.refusal);
      this.#state.noteSession(ask.sessionKey);
      const response = this.#read(ask, result.events);
      const durationMs = this.#clock.now() - startedMs;
      ask.log?.info({ durationMs }, '[HttpAgentClient] ADK message sent successfully');
      return response;
    } catch (error) {
      ask.outer?.throwIfAborted();
      const failure = error as Wa2aiError;
      const isTimeout = failure instanceof AgentTimeoutError;
      const fields = { error: failure.message, durationMs: this.#clock.now() - startedMs };
      ask.log?.error(
        { ...fields, ...(isTimeout && { timeout: true }) },
        '[HttpAgentClient] ADK message failed',
      );
      if (failure.disposition !== 'uncertain') throw failure;
      return await this.#settle(ask, failure);
    }
  }

  /** Sends the run in the spelling the server is thought to take, and mends what a refusal says about it, once. */
  async #run(ask: Ask): Promise<RunResult> {
    const { name } = ask.server;
    const fixed = this.#adk.dialect === 'auto' ? undefined : this.#adk.dialect;
    const learnt = fixed ?? this.#state.dialectOf(name);
    const first = learnt ?? 'snake';
    const result = await this.#post(ask, first);
    if (result.ok) return this.#learn(name, first, result);
    const { status, body } = result.refusal;
    const isBodyRefused = !fixed && (status === 400 || status === 422);

    if (isBodyRefused && first === 'camel') {
      // Another server answers at this address now; it read nothing of the body, so nothing was run.
      const retried = await this.#post(ask, 'snake');
      return retried.ok ? this.#learn(name, 'snake', retried) : result;
    }
    const isMendable =
      isSessionMissing(status, body) ||
      (isBodyRefused && !/missing required fields/i.test(body)) ||
      (status === 500 && (await this.#failedForWantOfSession(ask)));
    if (!isMendable || !(await createSession(ask.server, ask.run, ask.limited))) {
      this.#throwIfEnded(ask);
      return result;
    }
    const second = fixed ?? 'camel';
    const retried = await this.#post(ask, second);
    return retried.ok ? this.#learn(name, second, retried) : retried;
  }

  #learn(name: string, dialect: AdkDialect, result: RunResult): RunResult {
    this.#state.learnDialect(name, dialect);
    return result;
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
    if (result.kind === 'answer') {
      const { status, headers, body } = result;
      if (status !== 504) ask.inFlight = undefined;
      if (status !== 200) return { ok: false, refusal: { status, headers, body } };
      const events = parseEvents(body);
      if (events.ok) return { ok: true, events: events.value };
      throw new AgentProtocolError(this.#failed(ask, events.problem));
    }
    const text = this.#failed(ask, result.detail);
    const options = { cause: result.cause };
    switch (result.stage) {
      case 'not-connected':
        throw new AgentUnavailableError(text, options);
      case 'no-answer':
        this.#state.noteDoubt(ask.sessionKey, ask.run.messageId);
        throw new AgentUnavailableError(text, options);
      case 'too-large':
        throw new AgentProtocolError(text);
      default:
        throw new AgentTimeoutError(text, options);
    }
  }

  #failed(ask: Ask, detail: string): string {
    return `Failed to send message to ADK agent: ${withoutSecrets(detail, ask)}`;
  }

  /** @throws at the caller's abort its reason, at the time limit the contract's time-out, else nothing */
  #throwIfEnded(ask: Ask): void {
    ask.outer?.throwIfAborted();
    if (!ask.limited.aborted) return;
    const text = `Request to agent timed out after ${this.#timeoutMs}ms`;
    // A time-out between two runs, while the session was being created: nothing was run.
    throw ask.inFlight ? new AgentTimeoutError(text) : new AgentUnavailableError(text);
  }

  async #refused(ask: Ask, { status, headers, body }: Refusal): Promise<Wa2aiError> {
    const location = headers.get('location');
    const apps =
      status === 404 && !isSessionMissing(status, body) ? await listApps(ask.server, ask.limited) : [];
    const hint = [
      apps.length > 0 ? ` (apps of this server: ${apps.slice(0, 20).join(', ').slice(0, 300)})` : '',
      location && status >= 300 && status < 400
        ? ` (redirects are not followed; it points to ${location})`
        : '',
    ].join('');
    const text = withoutSecrets(`${errorText(body)}${hint}`, ask);
    const sentence = `ADK agent endpoint returned ${status}: ${text}`;
    if (status === 429 || status === 503) {
      return new AgentUnavailableError(sentence, { retryAfterMs: this.#retryAfterMs(headers) });
    }
    if (status === 502) {
      this.#state.noteDoubt(ask.sessionKey, ask.run.messageId);
      return new AgentUnavailableError(sentence);
    }
    if (status === 504) return new AgentTimeoutError(sentence);
    return new AgentProtocolError(sentence);
  }

  /** `Retry-After` in milliseconds from now; it holds seconds or a date. */
  #retryAfterMs(headers: Headers): number | undefined {
    const value = headers.get('retry-after')?.trim();
    if (!value) return undefined;
    if (/^\d+$/.test(value)) return Number(value) * 1_000;
    const atMs = Date.parse(value);
    return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - this.#clock.now());
  }

  /** @throws {AgentProtocolError | AgentUnavailableError} the run reported an error instead of an answer */
  #read(ask: Ask, events: AdkEvent[]): AgentResponse {
    const answer = readAnswer(events);
    ask.log?.info(
      { eventCount: answer.eventCount, answer: answer.kind, author: answer.author },
      '[HttpAgentClient] ADK response processed',
    );
    if (answer.kind !== 'failed') return responseOf(ask.run, answer);
    const reason = withoutSecrets(errorText(answer.reason), ask);
    const text = this.#failed(ask, `the agent reported ${answer.code}${reason && `: ${reason}`}`);
    throw answer.isRepeatable
      ? new AgentUnavailableError(text)
      : new AgentProtocolError(text, { code: 'AGENT_REPORTED_ERROR' });
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
  async #earlierAnswer(ask: Pick<Ask, 'server' | 'run' | 'sessionKey' | 'log' | 'outer'>, isRepeat: boolean) {
    if (!isRepeat && !this.#state.isInDoubt(ask.sessionKey, ask.run.messageId)) return undefined;
    const found = await this.#watch(ask, this.#timeoutMs);
    if (found.kind === 'running') {
      throw new AgentTimeoutError(`Request to agent timed out after ${this.#timeoutMs}ms`);
    }
    if (found.kind !== 'finished') return undefined;
    const answer = readAnswer(found.events);
    if (answer.kind === 'failed' && answer.isRepeatable) return undefined;
    ask.log?.info({}, '[HttpAgentClient] ADK answer of an earlier ask found in the session');
    const whole = { ...ask, limited: new AbortController().signal, inFlight: undefined };
    return this.#read(whole, found.events);
  }

  #watch(ask: Pick<Ask, 'server' | 'run' | 'outer'>, limitMs: number) {
    const signal = ask.outer ?? new AbortController().signal;
    return watchRun(ask.server, ask.run, { limitMs, clock: this.#clock, signal });
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

/** Takes the person's text and the route's secrets out of what an agent wrote back. */
function withoutSecrets(text: string, { run, server }: Pick<Ask, 'run' | 'server'>): string {
  const asJson = JSON.stringify(run.text).slice(1, -1);
  const hidden: Array<[string, string]> = [
    ...server.secrets.map((secret): [string, string] => [secret, '[secret]']),
    [run.text, '[message text]'],
    [asJson, '[message text]'],
  ];
  return hidden
    .filter(([value]) => value.length >= MIN_SECRET_CHARS)
    .reduce((shown, [value, name]) => shown.replaceAll(value, name), text);
}
