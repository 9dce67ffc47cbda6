import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { AttemptOptions } from '../../../core/agent-client.ts';
import { type Clock, orAbort, withLimit } from '../../../core/clock.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { KeyedQueue } from '../../../core/keyed-queue.ts';
import type { Logger } from '../../../core/logger.ts';
import { changed, PHRASES, type Said, say } from '../../../core/phrases.ts';
import { withoutTrailing } from '../../../core/text.ts';
import { headersField, httpUrlField, notBlank, timeoutField } from '../setting-fields.ts';
import { type AgentTransport, type Redact, rejectedError } from '../transport/agent-transport.ts';
import { type FaultKind, type Fetched, type FetchOptions, redirectHint } from '../transport/bounded-fetch.ts';
import { bodyText, errorText } from '../transport/error-text.ts';
import {
  type AdkDialect,
  type AdkEvent,
  areOfAdkServer,
  eventsOfMessage,
  isCamelCaseSession,
  isFinished,
  isSessionMissing,
  isSessionThere,
  type Parsed,
  parseAppNames,
  parseEvents,
  parseSessionEvents,
  type RunAnswer,
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
      throw faultError(result.fault, changed(result.detail, attempt.redact), result.cause);
    }
    const { status, headers, body } = result;
    if (status !== 504) attempt.inFlight = undefined;
    if (status !== 200) return { ok: false, refusal: { status, headers, body } };
    // `/run` reports such a failure as this status.
    if (stream?.failure) return { ok: false, refusal: { status: 500, headers, body: stream.failure } };
    if (stream?.isCut) throw faultError('broken', say('fetch.stream-without-end'), undefined);
    const events = stream && body === '' ? eventsOf(stream) : parseEvents(body);
    if (!events.ok) throw new AgentProtocolError(failed(events.problem));
    // A Python server reads both spellings; only camelCase carries `stateDelta`.
    this.#options.state.learnDialect(server.name, areOfAdkServer(events.value) ? 'camel' : dialect);
    return { ok: true, events: events.value };
  }

  /** @throws at the caller's abort its reason, at the time limit the contract's time-out, else nothing */
  #throwIfEnded(attempt: AdkAttempt): void {
    attempt.outer?.throwIfAborted();
    if (!attempt.limited.aborted) return;
    const said = timedOut(this.#options.timeoutMs);
    // A time-out between two runs, while the session was being created: nothing was run.
    throw attempt.inFlight ? new AgentTimeoutError(said) : new AgentUnavailableError(said);
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
  problem: Said | undefined;
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

/** Where an ADK server is and what every request to it carries. */
interface AdkServer {
  /** Origin and path without a trailing slash, credentials or query. Names the server in caches and logs. */
  name: string;
  /** Base URL with its path, plus these segments, each encoded. */
  url(...segments: string[]): string;
  headers: Headers;
  /** Values that must not appear in an error or a log: those of the headers and the URL's password. */
  secrets: string[];
  transport: AgentTransport;
}

/**
 * Reads a route's base URL and extra headers. Keeps the path and the query of the URL without trailing slashes, and turns
 * a user and password into an Authorization header unless the route sets its own.
 * @throws {AgentProtocolError} the URL or a header cannot be used; the sentence does not quote it
 */
export function adkServer(
  baseUrl: string,
  extraHeaders: Record<string, string> = {},
  transport: AgentTransport,
): AdkServer {
  const url = parseUrl(baseUrl);
  const path = withoutTrailing(url.pathname, '/');
  const headers = new Headers();
  const secrets: string[] = [];
  if (url.username || url.password) {
    const [user, password] = [decoded(url.username), decoded(url.password)];
    headers.set('authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`);
    secrets.push(password);
  }
  for (const [name, value] of Object.entries(extraHeaders)) setHeader(headers, name, value);
  for (const value of headers.values()) secrets.push(value, ...value.split(' ').slice(1));
  headers.set('content-type', 'application/json');
  return {
    name: `${url.origin}${path}`,
    url: (...segments) => `${url.origin}${path}/${segments.map(encodeURIComponent).join('/')}${url.search}`,
    headers,
    // An empty value would be found between any two characters of a text.
    secrets: secrets.filter((secret) => secret !== ''),
    transport,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new AgentProtocolError(failed(say('adk.login-not-encoded')));
  }
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new AgentProtocolError(failed(say('adk.not-url')));
}

function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // The platform's own error quotes the value.
    const why = say('adk.header-not-valid', { name: name.replace(/[^\w-]/g, '?') });
    throw new AgentProtocolError(failed(why));
  }
}

type Exchange =
  | Exclude<Fetched, { kind: 'answer' }>
  | { kind: 'answer'; status: number; headers: Headers; body: string };

/**
 * One exchange with the headers of the server and a text as answer; see `boundedFetch`.
 * @param onEvent gets the events of an answer that is a stream; see `streamedFetch`
 */
export async function exchange(
  { transport, headers }: AdkServer,
  url: string,
  options: Omit<FetchOptions, 'headers'>,
  onEvent?: (data: string) => void,
): Promise<Exchange> {
  const fetched = onEvent
    ? await transport.fetchEvents(url, { ...options, headers }, onEvent)
    : await transport.fetch(url, { ...options, headers });
  if (fetched.kind === 'fault') return fetched;
  return { ...fetched, body: bodyText(fetched) };
}

const MAX_APPS_CHARS = 300;

/** The agent contract's sentence for a failure that is no status and no time-out. */
export function failed(why: Said): Said {
  return say('adk.failed', { why });
}

/** The agent contract's sentence for a time-out. */
export function timedOut(timeoutMs: number): Said {
  return say('adk.timeout', { ms: timeoutMs });
}

/** The error for an exchange without a complete answer, unless a time limit ended it. */
export function faultError(fault: FaultKind, why: Said, cause: unknown): Wa2aiError {
  const said = failed(why);
  if (fault === 'refused') return new AgentProtocolError(said, { code: 'AGENT_ADDRESS_REFUSED' });
  if (fault === 'not-connected' || fault === 'no-answer')
    return new AgentUnavailableError(said, {
      cause,
      isAway: fault === 'not-connected',
      mayHaveRun: fault === 'no-answer',
    });
  if (fault === 'too-large') return new AgentProtocolError(said);
  return new AgentTimeoutError(said, { cause });
}

/** A status other than 200, as the server sent it. */
interface Refusal {
  status: number;
  headers: Headers;
  body: string;
}

/**
 * The error for a refusal; its sentence lists `apps`, the agents of the server. The server has not run a request that it
 * answers with 429 or 503, and most likely not with 502. With 504 it may have run. A 500 can follow tool calls, so the
 * request is never repeated.
 */
export function refusalError(
  { status, headers, body }: Refusal,
  options: { apps: string[]; nowMs: number; redact: Redact },
): Wa2aiError {
  const apps =
    options.apps.length > 0
      ? say('adk.apps', { apps: options.apps.join(', ').slice(0, MAX_APPS_CHARS) })
      : undefined;
  const redirect = redirectHint({ status, headers });
  const hints = apps && redirect ? say('fetch.details', { text: apps, hint: redirect }) : (apps ?? redirect);
  const text = errorText(body);
  const details = changed(
    hints ? say('fetch.details', { text, hint: hints }) : { sentence: text },
    options.redact,
  );
  const said = say('adk.status', { status, details });
  const rejected = rejectedError({ status, headers }, said, options.nowMs);
  if (rejected) return rejected;
  return status === 504 ? new AgentTimeoutError(said) : new AgentProtocolError(said);
}

/** The error for a run that reported one instead of answering. */
export function reportedError(answer: Extract<RunAnswer, { kind: 'failed' }>, redact: Redact): Wa2aiError {
  const reason = redact(errorText(answer.reason));
  const said = failed(say('adk.reported', { code: answer.code, details: reason && `: ${reason}` }));
  return answer.isRepeatable
    ? new AgentUnavailableError(said)
    : new AgentProtocolError(said, { code: 'AGENT_REPORTED_ERROR' });
}

/** Servers return only whole sessions. A longer one than this is not searched. */
const MAX_SESSION_BYTES = 16 * 1024 * 1024;
const MAX_SMALL_BYTES = 256 * 1024;
/** Time limit of one read of a session. */
const READ_TIMEOUT_MS = 5_000;
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 4_000;

function sessionUrl(server: AdkServer, run: RunRequest): string {
  return server.url('apps', run.appName, 'users', run.userId, 'sessions', run.sessionId);
}

/** Creates the session of this run under its own id. True if it exists afterwards, also if it existed before. */
async function createSession(server: AdkServer, run: RunRequest, signal: AbortSignal): Promise<boolean> {
  const created = await exchange(server, sessionUrl(server, run), {
    method: 'POST',
    body: '{}',
    signal,
    // The server may return an existing session with its history; only the status matters.
    maxBytes: MAX_SESSION_BYTES,
  });
  return created.kind === 'answer' && isSessionThere(created.status, created.body);
}

/** Whether the server says that it has no such session. False also when its answer is unclear. */
async function isSessionAbsent(server: AdkServer, run: RunRequest, signal: AbortSignal): Promise<boolean> {
  const found = await getSession(server, run, signal);
  return found.kind === 'answer' && found.status === 404;
}

/** Whether the session exists and the server shows it in camelCase; at most `limitMs` are spent on the question. */
async function isSessionInCamelCase(
  server: AdkServer,
  run: RunRequest,
  { clock, signal, limitMs }: { clock: Clock; signal: AbortSignal; limitMs: number },
): Promise<boolean> {
  const found = await withLimit(clock, Math.min(limitMs, READ_TIMEOUT_MS), signal, (limited) =>
    getSession(server, run, limited),
  );
  return found.kind === 'answer' && found.status === 200 && isCamelCaseSession(found.body);
}

function getSession(server: AdkServer, run: RunRequest, signal: AbortSignal): Promise<Exchange> {
  return exchange(server, sessionUrl(server, run), { method: 'GET', signal, maxBytes: MAX_SESSION_BYTES });
}

/** The answer to `GET /list-apps`, and the app names in it; none when the server does not list them. */
export async function listApps(
  server: AdkServer,
  signal: AbortSignal,
): Promise<{ listed: Exchange; apps: string[] }> {
  const listed = await exchange(server, server.url('list-apps'), {
    method: 'GET',
    signal,
    maxBytes: MAX_SMALL_BYTES,
  });
  const apps = listed.kind === 'answer' && listed.status === 200 ? parseAppNames(listed.body) : [];
  return { listed, apps };
}

/**
 * What the session shows about an earlier run. `finished`: its events · `absent`: the server never accepted the message ·
 * `running`: it accepted the message, and the run had not ended at the time limit · `unknown`: the session cannot be read.
 */
type EarlierRun = { kind: 'finished'; events: AdkEvent[] } | { kind: 'absent' | 'running' | 'unknown' };

/**
 * Watches the session for the end of the run that the message started, for at most `limitMs`. A server does not say
 * whether a run continues, so it counts as finished when its last event is final and two reads returned the same events.
 * @throws the signal's reason when it aborts
 */
export async function watchRun(
  server: AdkServer,
  run: RunRequest,
  options: { limitMs: number; clock: Clock; signal: AbortSignal },
): Promise<EarlierRun> {
  const { clock, signal } = options;
  const endMs = clock.monotonicMs() + options.limitMs;
  let seen = -1;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LONGEST_PAUSE_MS)) {
    const found = await readRun(server, run, clock, signal);
    if (found === 'absent' || found === 'unknown') return { kind: found };
    if (isFinished(found) && found.length === seen) return { kind: 'finished', events: found };
    seen = found.length;
    const leftMs = endMs - clock.monotonicMs();
    if (leftMs <= 0) return { kind: 'running' };
    await clock.sleep(Math.min(pauseMs, leftMs), signal).catch((error: unknown) => {
      // The platform's timer rejects with its own error, not with the signal's reason.
      signal.throwIfAborted();
      throw error;
    });
  }
}

async function readRun(
  server: AdkServer,
  run: RunRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<AdkEvent[] | 'absent' | 'unknown'> {
  const found = await withLimit(clock, READ_TIMEOUT_MS, signal, (limited) =>
    getSession(server, run, limited),
  );
  signal.throwIfAborted();
  // A missing session does not show that the message is absent: behind a load balancer, another instance may have it.
  if (found.kind === 'fault' || found.status !== 200) return 'unknown';
  const events = parseSessionEvents(found.body);
  if (!events.ok) return 'unknown';
  return eventsOfMessage(events.value, run.waMessageId) ?? 'absent';
}
