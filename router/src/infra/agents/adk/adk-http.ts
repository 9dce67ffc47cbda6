import { type Clock, withLimit } from '../../../core/clock.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { withoutTrailing } from '../../../core/text.ts';
import { type AgentTransport, type Redact, rejectedError } from '../transport/agent-transport.ts';
import { type FaultKind, type Fetched, type FetchOptions, redirectHint } from '../transport/bounded-fetch.ts';
import { bodyText, errorText } from '../transport/error-text.ts';
import {
  type AdkEvent,
  eventsOfMessage,
  isCamelCaseSession,
  isFinished,
  isSessionThere,
  parseAppNames,
  parseSessionEvents,
  type RunAnswer,
  type RunRequest,
} from './adk-wire.ts';

/** Where an ADK server is and what every request to it carries. */
export interface AdkServer {
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
    throw new AgentProtocolError(
      "Failed to send message to ADK agent: the user name or password in the agent's base URL is not percent-encoded correctly",
    );
  }
}

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return url;
  throw new AgentProtocolError(
    "Failed to send message to ADK agent: the agent's base URL is not an http:// or https:// address",
  );
}

function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    // The platform's own error quotes the value.
    throw new AgentProtocolError(
      `Failed to send message to ADK agent: the route's header "${name.replace(/[^\w-]/g, '?')}" is not a valid HTTP header`,
    );
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
export function failedSentence(detail: string): string {
  return `Failed to send message to ADK agent: ${detail}`;
}

/** The agent contract's sentence for a time-out. */
export function timeoutSentence(timeoutMs: number): string {
  return `Request to agent timed out after ${timeoutMs}ms`;
}

/** The error for an exchange without a complete answer, unless a time limit ended it. */
export function faultError(fault: FaultKind, detail: string, cause: unknown): Wa2aiError {
  const sentence = failedSentence(detail);
  if (fault === 'refused') return new AgentProtocolError(sentence, { code: 'AGENT_ADDRESS_REFUSED' });
  if (fault === 'not-connected' || fault === 'no-answer')
    return new AgentUnavailableError(sentence, {
      cause,
      isAway: fault === 'not-connected',
      mayHaveRun: fault === 'no-answer',
    });
  if (fault === 'too-large') return new AgentProtocolError(sentence);
  return new AgentTimeoutError(sentence, { cause });
}

/** A status other than 200, as the server sent it. */
export interface Refusal {
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
  const hints = [
    options.apps.length > 0 && ` (apps of this server: ${options.apps.join(', ').slice(0, MAX_APPS_CHARS)})`,
    redirectHint({ status, headers }),
  ];
  const text = options.redact(`${errorText(body)}${hints.filter(Boolean).join('')}`);
  const sentence = `ADK agent endpoint returned ${status}: ${text}`;
  const rejected = rejectedError({ status, headers }, sentence, options.nowMs);
  if (rejected) return rejected;
  return status === 504 ? new AgentTimeoutError(sentence) : new AgentProtocolError(sentence);
}

/** The error for a run that reported one instead of answering. */
export function reportedError(answer: Extract<RunAnswer, { kind: 'failed' }>, redact: Redact): Wa2aiError {
  const reason = redact(errorText(answer.reason));
  const sentence = failedSentence(`the agent reported ${answer.code}${reason && `: ${reason}`}`);
  return answer.isRepeatable
    ? new AgentUnavailableError(sentence)
    : new AgentProtocolError(sentence, { code: 'AGENT_REPORTED_ERROR' });
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
export async function createSession(
  server: AdkServer,
  run: RunRequest,
  signal: AbortSignal,
): Promise<boolean> {
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
export async function isSessionAbsent(
  server: AdkServer,
  run: RunRequest,
  signal: AbortSignal,
): Promise<boolean> {
  const found = await getSession(server, run, signal);
  return found.kind === 'answer' && found.status === 404;
}

/** Whether the session exists and the server shows it in camelCase; at most `limitMs` are spent on the question. */
export async function isSessionInCamelCase(
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
