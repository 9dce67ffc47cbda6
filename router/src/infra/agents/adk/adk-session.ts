import type { Clock } from '../../../core/ports/clock.ts';
import { withLimit } from '../../../core/time-limit.ts';
import { type AdkServer, type Exchange, exchange } from './adk-http.ts';
import {
  type AdkEvent,
  eventsOfMessage,
  isCamelCaseSession,
  isFinished,
  isSessionThere,
  parseAppNames,
  parseSessionEvents,
  type RunRequest,
} from './adk-wire.ts';

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
export type EarlierRun =
  | { kind: 'finished'; events: AdkEvent[] }
  | { kind: 'absent' | 'running' | 'unknown' };

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
