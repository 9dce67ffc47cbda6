import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { AttemptOptions } from '../../../core/agent-client.ts';
import { type Clock, orAbort } from '../../../core/clock.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { KeyedQueue } from '../../../core/keyed-queue.ts';
import type { Logger } from '../../../core/logger.ts';
import { PHRASES } from '../../../core/phrases.ts';
import { headersField, httpUrlField, notBlank, timeoutField } from '../setting-fields.ts';
import type { Redact } from '../transport/agent-transport.ts';
import {
  type AdkServer,
  createSession,
  exchange,
  failedSentence,
  faultError,
  isSessionAbsent,
  isSessionInCamelCase,
  listApps,
  type Refusal,
  refusalError,
  timeoutSentence,
} from './adk-http.ts';
import {
  type AdkDialect,
  type AdkEvent,
  areOfAdkServer,
  isSessionMissing,
  type Parsed,
  parseEvents,
  type RunRequest,
  runBody,
  textOfReply,
} from './adk-wire.ts';

/** A message to an agent, with its destination. */
export interface AdkRequest {
  server: AdkServer;
  run: RunRequest;
  /** Names the session among all servers. */
  sessionKey: string;
  log: Logger | undefined;
  redact: Redact;
  /** The caller's signal. */
  outer: AbortSignal | undefined;
}

/** One attempt. */
export interface AdkAttempt extends AdkRequest {
  /** Aborts at the time limit and at the caller's signal. */
  limited: AbortSignal;
  /** Spelling of a run that was sent and whose outcome is not known yet. */
  inFlight: AdkDialect | undefined;
  /** Gets the answer as far as it is written. Absent: nobody reads it before its end. */
  onText?: AttemptOptions['onText'];
}

function eventsOf({ events, problem }: AdkStream): Parsed<AdkEvent[]> {
  return problem === undefined ? { ok: true, value: events } : { ok: false, problem };
}

type RunResult = { ok: true; events: AdkEvent[] } | { ok: false; refusal: Refusal };

/** Settings of AdkRuns; times in milliseconds. */
interface AdkRunsOptions {
  dialect: AdkSettings['dialect'];
  /** Reads the session before the first run at a server whose spelling is unknown. */
  readsSessionFirst: boolean;
  timeoutMs: number;
  maxBytes: number;
  state: AdkState;
  clock: Clock;
}

/** Sends runs: detects the spelling that a server accepts, and creates a missing session. */
export class AdkRuns {
  readonly #options: AdkRunsOptions;

  constructor(options: AdkRunsOptions) {
    this.#options = options;
  }

  /**
   * Sends the run in the spelling that the server most likely accepts. After a refusal, changes the spelling or creates the
   * session and sends the run once more. Afterwards `attempt.inFlight` is set if a run was sent whose outcome is unknown.
   * @returns the events of the answer
   * @throws as `HttpAgentClient.sendMessage`, which then looks for a late answer
   */
  async send(attempt: AdkAttempt): Promise<AdkEvent[]> {
    const result = await this.#run(attempt);
    if (!result.ok) throw await this.#refused(attempt, result.refusal);
    this.#options.state.addSession(attempt.sessionKey);
    return result.events;
  }

  /**
   * Whether the server reads camelCase, as every ADK server does and a server of the contract does not. Of an unknown server
   * its session shows it, which is created if it is missing, as a run would do.
   */
  async isAdkServer(request: Pick<AdkRequest, 'server' | 'run'>, signal: AbortSignal): Promise<boolean> {
    const { dialect = 'auto', state, clock, timeoutMs } = this.#options;
    const { server, run } = request;
    const known = dialect === 'auto' ? state.dialectOf(server.name) : dialect;
    if (known) return known === 'camel';
    const limit = { clock, signal, limitMs: timeoutMs / 4 };
    const isCamel =
      (await isSessionInCamelCase(server, run, limit)) ||
      ((await isSessionAbsent(server, run, signal)) &&
        (await createSession(server, run, signal)) &&
        (await isSessionInCamelCase(server, run, limit)));
    if (isCamel) state.learnDialect(server.name, 'camel');
    return isCamel;
  }

  async #run(attempt: AdkAttempt): Promise<RunResult> {
    const { name } = attempt.server;
    const fixed = this.#options.dialect === 'auto' ? undefined : this.#options.dialect;
    const first = fixed ?? this.#options.state.dialectOf(name) ?? (await this.#dialectOfSession(attempt));
    const result = await this.#post(attempt, first);
    if (result.ok) return result;
    const { status, body } = result.refusal;
    const isBodyRefused = !fixed && (status === 400 || status === 422);

    if (isBodyRefused && first === 'camel') {
      // Another server answers at this address now; it could not read the body, so nothing was run.
      const retried = await this.#post(attempt, 'snake');
      return retried.ok ? retried : result;
    }
    const mayNeedSession =
      isSessionMissing(status, body) ||
      (isBodyRefused && !/missing required fields/i.test(body)) ||
      (status === 500 && (await this.#isSessionTheCause(attempt)));
    const isThere = mayNeedSession && (await createSession(attempt.server, attempt.run, attempt.limited));
    this.#throwIfEnded(attempt);
    return isThere ? await this.#post(attempt, fixed ?? 'camel') : result;
  }

  /**
   * The spelling of a server that is not known yet. Without an existing session the spelling of the contract: the server
   * refuses the run, and the session is created.
   */
  async #dialectOfSession(attempt: AdkAttempt): Promise<AdkDialect> {
    const { readsSessionFirst, clock, timeoutMs, state } = this.#options;
    if (!readsSessionFirst) return 'snake';
    const limit = { clock, signal: attempt.limited, limitMs: timeoutMs / 4 };
    const isCamel = await isSessionInCamelCase(attempt.server, attempt.run, limit);
    this.#throwIfEnded(attempt);
    if (isCamel) state.learnDialect(attempt.server.name, 'camel');
    return isCamel ? 'camel' : 'snake';
  }

  /** Some servers answer a run in a missing session with a 500 without a reason; they have run nothing. */
  async #isSessionTheCause(attempt: AdkAttempt): Promise<boolean> {
    if (this.#options.state.isSessionKnown(attempt.sessionKey)) return false;
    return await isSessionAbsent(attempt.server, attempt.run, attempt.limited);
  }

  /** Where the answer is shown while it is written, at `/run_sse`, which servers of the contract's spelling do not have. */
  async #post(attempt: AdkAttempt, dialect: AdkDialect): Promise<RunResult> {
    const { state } = this.#options;
    const { name } = attempt.server;
    if (!attempt.onText || dialect === 'snake' || state.hasNoStream(name)) {
      return await this.#exchange(attempt, dialect);
    }
    const stream = new AdkStream(attempt.onText);
    const result = await this.#exchange(attempt, dialect, stream);
    const { status, body } = result.ok ? { status: 200, body: '' } : result.refusal;
    const isAbsent = (status === 404 && !isSessionMissing(status, body)) || status === 405;
    if (!isAbsent) return result;
    const whole = await this.#exchange(attempt, dialect);
    if (whole.ok) state.addWithoutStream(name);
    return whole;
  }

  async #exchange(attempt: AdkAttempt, dialect: AdkDialect, stream?: AdkStream): Promise<RunResult> {
    const { server } = attempt;
    attempt.inFlight = dialect;
    const result = await exchange(
      server,
      server.url(stream ? 'run_sse' : 'run'),
      {
        method: 'POST',
        body: JSON.stringify(runBody(dialect, attempt.run, stream !== undefined)),
        signal: attempt.limited,
        maxBytes: this.#options.maxBytes,
      },
      stream && ((data) => stream.add(data)),
    );
    this.#throwIfEnded(attempt);
    if (result.kind === 'fault') {
      throw faultError(result.fault, attempt.redact(result.detail), result.cause);
    }
    const { status, headers, body } = result;
    if (status !== 504) attempt.inFlight = undefined;
    if (status !== 200) return { ok: false, refusal: { status, headers, body } };
    // `/run` reports such a failure as this status.
    if (stream?.failure) return { ok: false, refusal: { status: 500, headers, body: stream.failure } };
    if (stream?.isCut) throw faultError('broken', 'the stream ended before its last event', undefined);
    const events = stream && body === '' ? eventsOf(stream) : parseEvents(body);
    if (!events.ok) throw new AgentProtocolError(failedSentence(events.problem));
    // A Python server reads both spellings; only camelCase carries `stateDelta`.
    this.#options.state.learnDialect(server.name, areOfAdkServer(events.value) ? 'camel' : dialect);
    return { ok: true, events: events.value };
  }

  /** @throws at the caller's abort its reason, at the time limit the contract's time-out, else nothing */
  #throwIfEnded(attempt: AdkAttempt): void {
    attempt.outer?.throwIfAborted();
    if (!attempt.limited.aborted) return;
    const sentence = timeoutSentence(this.#options.timeoutMs);
    // A time-out between two runs, while the session was being created: nothing was run.
    throw attempt.inFlight ? new AgentTimeoutError(sentence) : new AgentUnavailableError(sentence);
  }

  async #refused(attempt: AdkAttempt, refusal: Refusal): Promise<Wa2aiError> {
    const { status, body } = refusal;
    const listed = status === 404 ? (await listApps(attempt.server, attempt.limited)).apps : [];
    // A session that could not be created may be missing because the app does not exist.
    const apps = isSessionMissing(status, body) && listed.includes(attempt.run.appName) ? [] : listed;
    return refusalError(refusal, { apps, nowMs: this.#options.clock.now(), redact: attempt.redact });
  }
}

/** The events of a run as `/run_sse` sends them, one after the other. */
export class AdkStream {
  /** The complete events so far, as `/run` would answer them. */
  readonly events: AdkEvent[] = [];
  /** What the server sent instead of an event when the run failed. */
  failure: string | undefined;
  /** What is wrong with an event; see `parseEvents`. */
  problem: string | undefined;
  readonly #onText: (textSoFar: () => string) => void;
  /** The partial events since the last complete one. */
  #written = '';

  /** @param onText gets the text of the newest reply as far as it is written */
  constructor(onText: (textSoFar: () => string) => void) {
    this.#onText = onText;
  }

  /** The stream ended in the middle of a reply: its complete event is missing. */
  get isCut(): boolean {
    return this.#written.trim() !== '';
  }

  /** @param data the data of one server-sent event */
  add(data: string): void {
    if (/^\s*\{\s*"error"\s*:/.test(data)) this.failure ??= data;
    const parsed = parseEvents(`[${data}]`);
    if (!parsed.ok) this.problem ??= parsed.problem;
    if (this.failure !== undefined || !parsed.ok) return;
    for (const event of parsed.value) this.#read(event);
  }

  /** Of parallel branches nothing is shown: the answer has the texts of all. */
  #read(event: AdkEvent): void {
    const text = textOfReply(event);
    if (!event.partial) this.events.push(event);
    const shown = event.partial ? this.#written + (text ?? '') : text;
    this.#written = event.partial ? (shown ?? '') : '';
    if (text !== undefined && shown && !event.branch) this.#onText(() => shown);
  }
}

/** Settings of an ADK route, as the agent contract names them. */
export const adkSettings = z.strictObject({
  appName: z
    .string()
    .max(200)
    .refine(notBlank, PHRASES['field.not-blank'])
    .describe("The agent's name at the ADK server: its folder. `GET /list-apps` lists the names."),
  baseUrl: httpUrlField.optional().describe('URL of the ADK server. Default: agentEndpoint.'),
  dialect: z
    .enum(['auto', 'snake', 'camel'])
    .optional()
    .describe(
      'Spelling of the request body: `snake` (`app_name`), `camel` (`appName`), or `auto`, which learns it per server. Default: `auto`.',
    ),
  media: z
    .union([z.boolean(), z.literal('url')])
    .optional()
    .describe(
      "People's files of at most 10 MB: `true` sends all as `inlineData`, `'url'` as `fileData` with a link (`WA2AI_PUBLIC_URL`), `false` none. Default: pictures, sounds, videos, PDF and plain text as `inlineData`, to servers that are ADK's own.",
    ),
  headers: headersField.optional(),
  timeoutMs: timeoutField.optional(),
});

export type AdkSettings = z.output<typeof adkSettings>;

/**
 * What ADK clients learn about servers. All clients of a process share it, so that two routes to one server do not learn
 * it twice and two runs in one session never overlap (a server stores their events interleaved, refs/adk_api.md).
 * Every cache is bounded; learning an evicted entry again costs one request.
 */
export class AdkState {
  readonly #dialects = new LRUCache<string, AdkDialect>({ max: 1_000 });
  readonly #withoutStream = new LRUCache<string, true>({ max: 1_000 });
  readonly #knownSessions = new LRUCache<string, true>({ max: 20_000 });
  readonly #inDoubt = new LRUCache<string, true>({ max: 20_000 });
  readonly #queue = new KeyedQueue();

  /** The spelling that the server at this base URL accepted last. */
  dialectOf(baseUrl: string): AdkDialect | undefined {
    return this.#dialects.get(baseUrl);
  }

  learnDialect(baseUrl: string, dialect: AdkDialect): void {
    this.#dialects.set(baseUrl, dialect);
  }

  /** Whether the server at this base URL is known to have no `/run_sse`. */
  hasNoStream(baseUrl: string): boolean {
    return this.#withoutStream.has(baseUrl);
  }

  addWithoutStream(baseUrl: string): void {
    this.#withoutStream.set(baseUrl, true);
  }

  /** Whether the server accepted a run in this session before: a failure then has another cause than a missing session. */
  isSessionKnown(sessionKey: string): boolean {
    return this.#knownSessions.has(sessionKey);
  }

  addSession(sessionKey: string): void {
    this.#knownSessions.set(sessionKey, true);
  }

  /** Whether an earlier attempt of this message ended and may have run. */
  isInDoubt(sessionKey: string, waMessageId: string): boolean {
    return this.#inDoubt.has(JSON.stringify([sessionKey, waMessageId]));
  }

  addDoubt(sessionKey: string, waMessageId: string): void {
    this.#inDoubt.set(JSON.stringify([sessionKey, waMessageId]), true);
  }

  clearDoubt(sessionKey: string, waMessageId: string): void {
    this.#inDoubt.delete(JSON.stringify([sessionKey, waMessageId]));
  }

  /**
   * Runs `work` after all earlier work of the session, in the order of calls. Other sessions do not wait.
   * @throws the signal's reason when it aborts while waiting; `work` is then never called
   */
  async runAlone<T>(sessionKey: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const own = this.#queue.run(sessionKey, async () => {
      signal?.throwIfAborted();
      return work();
    });
    return orAbort(own, signal);
  }
}
