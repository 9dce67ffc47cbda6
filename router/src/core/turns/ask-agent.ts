import type { AgentClient, AgentClients, AttemptOptions } from '../agent-client.ts';
import type { AgentExchange, ExchangeRecorder } from '../agent-exchange.ts';
import { type Clock, storageRetryMs } from '../clock.ts';
import {
  AgentProtocolError,
  AgentUnavailableError,
  AgentUncertainError,
  type Disposition,
  MediaError,
  StorageUnavailableError,
  Wa2aiError,
} from '../errors.ts';
import { AgentElsewhereError } from '../hosting/hosting-errors.ts';
import type { Logger } from '../logger.ts';
import type { AgentResponse, FailurePolicy, IncomingMessage, Route } from '../models.ts';
import { errorOfSaid, type Phrase, type Said, say, together } from '../phrases.ts';
import type { CountOptions, Inbox } from '../ports/inbox.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { CurrentWork } from '../suspects.ts';
import type { RemoteTasks } from '../tasks.ts';
import { attemptStore } from './attempt-store.ts';
import type { PendingTurn } from './turn.ts';

/** A stored route that cannot be used until an admin writes it again. */
class RouteDamagedError extends Wa2aiError {
  /** @param why part of a sentence: "adk.appName is missing" */
  constructor(routeId: string, why: string | Said, options?: { cause?: unknown }) {
    super('ROUTE_DAMAGED', 'dead', say('route.cannot-be-used', { route: routeId, why }), options);
  }
}

/** The circuit of the agent's endpoint is open: it was not called. */
class AgentCircuitOpenError extends Wa2aiError {
  constructor() {
    super('AGENT_CIRCUIT_OPEN', 'dead', say('agent.circuit-open'));
  }
}

/** The service's own policy for agents that fail; a route's `failure` settings take precedence. */
export interface FailureDefaults {
  /** As `FailurePolicy`. */
  tryForMs: number;
  /** Wait before the next attempt, in milliseconds; `attempt` is the one that failed (from 1). */
  backoffMs(attempt: number, retryAfterMs: number | undefined): number;
}

export interface AskWithFallbackDeps {
  routes: Pick<RouteStore, 'get'>;
  agents: AgentClients;
  inbox: Pick<Inbox, 'countAttempt'>;
  current?: CurrentWork;
  /** Absent: agents store nothing, and their tasks must end within an attempt. */
  remoteTasks?: RemoteTasks;
  policy: FailureDefaults;
  circuits: CircuitBreakers;
  clock: Clock;
  log: Logger;
  stopping: AbortSignal;
  /** The bytes of the message's file; absent when it has none. */
  loadMedia?: AskDeps['loadMedia'];
  /** A link to it. */
  mediaUrl?: AskDeps['mediaUrl'];
  /** The conversation before the message. */
  loadHistory?: AskDeps['loadHistory'];
  /** A secret by which the agent can answer later. */
  replyToken?: AskDeps['replyToken'];
  /** Sends a text to the chat before the answer. */
  notify?: AskDeps['notify'];
  /** Says a text of wa2ai to the person. */
  sayInChat?: AskDeps['sayInChat'];
  /** Takes the answer of the route's own agent as far as it is written. */
  onText?: AskDeps['onText'];
  /** Records requests to agents with their answers. */
  recorder?: AskDeps['recorder'];
  /** Gets them. */
  onExchange?: AskDeps['onExchange'];
  /** Gets the error of each attempt that failed. */
  onFailure?: AskDeps['onFailure'];
  /** Called when the agent opens a task that outlives the call. */
  onTask?(): void;
}

/** The person does not wait longer for a fallback, unless the route says so. */
const FALLBACK_AFTER_MS = 5_000;

/** Attempts of an agent that is available and does not answer. */
const MAX_ATTEMPTS = 3;

/** What of a turn an agent needs. */
type AskedTurn = Pick<
  PendingTurn,
  'messageId' | 'accountId' | 'message' | 'earlierAttempts' | 'mayHaveRun' | 'edits' | 'merged'
>;

/** What a turn's trace holds after the route choice: the attempts, and how a failure was handled. */
type AskStep =
  | ({ step: 'agent'; routeId: string; attempts: AttemptTrace[]; outcome: string } & Said)
  | ({ step: 'fallback-route'; routeId: string; outcome: 'called' | FallbackRefusal } & Said)
  | ({ step: 'fallback-text'; routeId: string; outcome: 'sent' } & Said);

type FallbackRefusal = 'missing' | 'disabled' | 'same-route' | 'other-account' | 'other-environment';

/** How a turn's route ended: with the agent's answer, with the route's own text, or without an answer. */
export type RouteAnswer = { steps: AskStep[]; attempts: number; agentMs: number } & (
  | { kind: 'answer'; routeId: string; response: AgentResponse }
  | { kind: 'fallback-text'; routeId: string; text: string; error: Wa2aiError }
  | { kind: 'failed'; routeId: string; error: Wa2aiError; said: Said }
);

const REFUSALS: Record<FallbackRefusal, Said> = {
  missing: say('fallback.missing'),
  disabled: say('fallback.disabled'),
  'same-route': say('fallback.same-route'),
  'other-account': say('fallback.other-account'),
  'other-environment': say('fallback.other-environment'),
};

/**
 * Calls a route's agent as the route's failure settings say. When it failed, the fallback route gets one attempt, or the
 * fallback text is the reply. A fallback's own fallback is not used, so no two routes can pass a message back and forth.
 * @throws {StorageUnavailableError} the fallback route could not be read or an attempt not be stored; call again with
 *   `isRepeat`
 * @throws {AgentElsewhereError} the agent of the route belongs to another node
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function askWithFallback(
  deps: AskWithFallbackDeps,
  route: Route,
  turn: AskedTurn,
  isRepeat: boolean,
): Promise<RouteAnswer> {
  const policy = route.config.failure ?? {};
  const before = turn.earlierAttempts ?? 0;
  const first = await ask(deps, route, turn, isRepeat, before, attemptPolicyOf(policy, deps.policy));
  const steps: AskStep[] = [stepOf(route, first)];
  const spent = { attempts: first.attempts, agentMs: first.agentMs, steps };
  if (first.kind === 'answer') {
    return { kind: 'answer', routeId: route.id, response: first.response, ...spent };
  }
  const { error } = first;
  if (policy.fallbackText !== undefined) {
    const sentence = say('agent.fallback-text');
    steps.push({ step: 'fallback-text', routeId: route.id, outcome: 'sent', ...sentence });
    return { kind: 'fallback-text', routeId: route.id, text: policy.fallbackText, error, ...spent };
  }
  const failed = { kind: 'failed' as const, routeId: route.id, error };
  if (policy.fallbackRouteId === undefined) return { ...failed, said: error.said, ...spent };

  const fallback = await deps.routes.get(policy.fallbackRouteId);
  const refusal = refusalOf(fallback, route);
  if (!fallback || refusal) {
    const sentence = REFUSALS[refusal ?? 'missing'];
    steps.push({
      step: 'fallback-route',
      routeId: policy.fallbackRouteId,
      outcome: refusal ?? 'missing',
      ...sentence,
    });
    return { ...failed, said: together([error.said, sentence]), ...spent };
  }
  const sentence = say('agent.fallback-route');
  steps.push({ step: 'fallback-route', routeId: fallback.id, outcome: 'called', ...sentence });
  const once = { ...fallback.config.failure, tryForMs: 0 };
  const second = await ask(
    { ...deps, onText: undefined },
    fallback,
    turn,
    isRepeat,
    first.attempts,
    attemptPolicyOf(once, deps.policy),
  ).catch((error: unknown): AskOutcome => {
    // Two agents of two nodes could otherwise pass the chat back and forth.
    if (!(error instanceof AgentElsewhereError)) throw error;
    return { kind: 'failed', error, attempts: first.attempts, agentMs: 0, trace: [] };
  });
  steps.push(stepOf(fallback, second));
  const spentTogether = {
    steps,
    attempts: second.attempts,
    agentMs: first.agentMs + second.agentMs,
  };
  if (second.kind === 'answer') {
    return { kind: 'answer', routeId: fallback.id, response: second.response, ...spentTogether };
  }
  return {
    ...failed,
    said: say('agent.fallback-failed', { error: error.said, second: second.error.said }),
    ...spentTogether,
  };
}

async function ask(
  deps: AskWithFallbackDeps,
  route: Route,
  turn: AskedTurn,
  isRepeat: boolean,
  attemptsBefore: number,
  policy: AttemptPolicy,
): Promise<AskOutcome> {
  const client = clientOf(deps, route);
  if (client instanceof Wa2aiError) {
    deps.log.error({ err: client, routeId: route.id }, 'route cannot be used');
    return { kind: 'failed', error: client, attempts: attemptsBefore, agentMs: 0, trace: [] };
  }
  const { messageId, message, mayHaveRun, edits, merged } = turn;
  const settings = route.config.failure?.circuit;
  const circuit = settings && {
    breakers: deps.circuits,
    endpoint: client.agentIdFor?.(message) ?? deps.agents.endpointOf(route),
    settings,
  };
  const countAttempt: AskDeps['countAttempt'] = async (attempt, note) => {
    const options = { ...note, edits, ...(merged && { merged }) };
    const counted = await deps.inbox.countAttempt(messageId, attempt, options);
    // Other work continued meanwhile; the request follows.
    deps.current?.workingOn(`message ${messageId}`);
    return counted;
  };
  const store = deps.remoteTasks && attemptStore(deps.remoteTasks, route, turn, deps.onTask);
  const attempts = { ...deps, policy, circuit, isRepeat, mayHaveRun, attemptsBefore, countAttempt, store };
  return askAgent(attempts, client, route.agentEndpoint, message);
}

/** The client of the route's agent, or why there is none. */
function clientOf(deps: AskWithFallbackDeps, route: Route): AgentClient | Wa2aiError {
  if (route.damage !== undefined) return new RouteDamagedError(route.id, route.damage);
  try {
    return deps.agents.clientFor(route);
  } catch (error) {
    if (error instanceof Wa2aiError) return error;
    return new RouteDamagedError(route.id, 'its settings cannot be used', { cause: error });
  }
}

function attemptPolicyOf(policy: FailurePolicy, defaults: FailureDefaults): AttemptPolicy {
  const { tryForMs, uncertain, fallbackRouteId, fallbackText } = policy;
  const hasFallback = fallbackRouteId !== undefined || fallbackText !== undefined;
  return {
    ...defaults,
    tryForMs: tryForMs ?? (hasFallback ? Math.min(FALLBACK_AFTER_MS, defaults.tryForMs) : defaults.tryForMs),
    ...(uncertain && { uncertain }),
  };
}

function refusalOf(fallback: Route | undefined, route: Route): FallbackRefusal | undefined {
  if (!fallback) return 'missing';
  if (fallback.id === route.id) return 'same-route';
  if (fallback.accountId !== route.accountId) return 'other-account';
  if (fallback.environment !== route.environment) return 'other-environment';
  return fallback.enabled ? undefined : 'disabled';
}

function stepOf(route: Route, outcome: AskOutcome): AskStep {
  const isAnswer = outcome.kind === 'answer';
  return {
    step: 'agent',
    routeId: route.id,
    attempts: outcome.trace,
    outcome: isAnswer ? 'answered' : outcome.error.code,
    ...(isAnswer ? say('agent.answered') : outcome.error.said),
  };
}

/** A longer answer would be hundreds of messages: it is a mistake of the agent, such as a file as a text. */
export const MAX_ANSWER_CHARS = 1_000_000;

/** How many attempts one turn makes, and how long it waits between them. */
interface AttemptPolicy {
  /** As `FailurePolicy`, from the begin of the first attempt. */
  tryForMs: number;
  /** What to do when an attempt may have reached the agent and its session cannot be read. */
  uncertain?: 'retry' | 'dead-letter';
  /** Wait before the next attempt, in milliseconds; `attempt` is the one that failed (from 1). */
  backoffMs(attempt: number, retryAfterMs: number | undefined): number;
}

/** An endpoint's circuit, and the settings of the route that uses it. */
interface AttemptCircuit {
  breakers: CircuitBreakers;
  endpoint: string;
  settings: CircuitSettings;
}

/** One attempt in the trace of a turn; `code` and `error` when it failed, `waitMs` before the next. */
interface AttemptTrace {
  /** Counted from 1 over all turns of the message, also over restarts. Absent: no request was sent. */
  attempt?: number;
  /** When it began, ISO 8601. */
  at: string;
  agentMs: number;
  code?: string;
  disposition?: Disposition;
  error?: string;
  phrase?: Phrase;
  waitMs?: number;
}

interface AskDeps {
  clock: Clock;
  log: Logger;
  policy: AttemptPolicy;
  /** An earlier turn or process may have sent the same request: the client looks for its run first. */
  isRepeat?: boolean;
  /** An earlier attempt may have run, and no operator replayed the message after it: `policy.uncertain` applies. */
  mayHaveRun?: boolean;
  /** Attempts of earlier turns and processes for this message. */
  attemptsBefore: number;
  /**
   * Counts an attempt, from 1; see `Inbox.countAttempt`.
   * @throws {StorageUnavailableError} nothing was sent
   */
  countAttempt(attempt: number, note?: CountOptions): Promise<{ stored: Promise<void> }>;
  /** The bytes of the message's file; absent when it has none. */
  loadMedia?: AttemptOptions['loadMedia'];
  /** A link to it. */
  mediaUrl?: AttemptOptions['mediaUrl'];
  /** The conversation before the message. */
  loadHistory?: AttemptOptions['loadHistory'];
  /** A secret by which the agent can answer later. */
  replyToken?: AttemptOptions['replyToken'];
  /** Sends a text to the chat before the answer. */
  notify?: AttemptOptions['notify'];
  /** Says a text of wa2ai to the person. */
  sayInChat?: AttemptOptions['sayInChat'];
  /** Takes the answer as far as it is written. */
  onText?: AttemptOptions['onText'];
  /** Records the requests of attempts with their answers. Absent: they are not recorded. */
  recorder?: ExchangeRecorder;
  /** Gets them. */
  onExchange?(exchange: AgentExchange): void;
  /** Gets the error of each attempt that failed. */
  onFailure?(error: Wa2aiError): void;
  /** What the agent's client may store. */
  store?: AttemptOptions['store'];
  /** Absent: earlier failures of the endpoint do not matter. */
  circuit?: AttemptCircuit;
  /** Ends waits and attempts at shutdown; the turn runs again after the next start. */
  stopping: AbortSignal;
}

/** A trace keeps the first attempt and as many of the last as make this number. */
const MAX_TRACED_ATTEMPTS = 30;

/** How the attempts ended: an answer, or the error of the last; with their number over restarts and the time of all. */
type AskOutcome = { attempts: number; agentMs: number; trace: AttemptTrace[] } & (
  | { kind: 'answer'; response: AgentResponse }
  | { kind: 'failed'; error: Wa2aiError }
);

/**
 * Calls the agent; again after errors with disposition `retry`, and after uncertain ones when the route says so, while its
 * circuit is closed. Waits that the agent asks for (`Retry-After`) end with `tryForMs`. Never throws for an agent's
 * failure: an open circuit is AGENT_CIRCUIT_OPEN, or, when it opened between two attempts, the last error.
 * Returns when every attempt is stored.
 * @throws {StorageUnavailableError} an attempt could not be stored, and was not made
 * @throws {AgentElsewhereError} the agent belongs to another node; nothing was sent
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function askAgent(
  deps: AskDeps,
  client: AgentClient,
  endpoint: string,
  message: IncomingMessage,
): Promise<AskOutcome> {
  const { clock, circuit, policy, recorder, stopping } = deps;
  const startedMs = clock.monotonicMs();
  const trace: AttemptTrace[] = [];
  const agentMs = (sinceMs: number) => Math.round(clock.monotonicMs() - sinceMs);
  let attempts = deps.attemptsBefore;
  let mayHaveRun = deps.mayHaveRun ?? false;
  let waitedMs = 0;
  const end = () => ({ attempts, agentMs: agentMs(startedMs), trace });
  const fitsCircuit = () =>
    !circuit || circuit.breakers.admit(circuit.endpoint, circuit.settings, clock.monotonicMs());
  if (!fitsCircuit()) return { kind: 'failed', error: new AgentCircuitOpenError(), ...end() };

  for (let made = 1; ; made++) {
    stopping.throwIfAborted();
    const attempt: AttemptTrace = { at: new Date(clock.now()).toISOString(), agentMs: 0 };
    const sent: { stored?: Promise<void> } = {};
    const beforeRequest = async () => {
      if (sent.stored) return;
      const isDurable = policy.uncertain === 'dead-letter';
      sent.stored = (await deps.countAttempt(attempts + 1, { isDurable })).stored;
      attempts += 1;
      attempt.attempt = attempts;
      if (isDurable) await sent.stored;
    };
    const options = {
      beforeRequest,
      ...(deps.isRepeat && !mayHaveRun && { isCleared: true }),
      ...(policy.uncertain && { uncertain: mayHaveRun ? policy.uncertain : 'retry' }),
    };
    const sentMs = clock.monotonicMs();
    const once = () => attemptOnce(deps, client, endpoint, message, made, options);
    const onNumbered = (exchange: AgentExchange) =>
      deps.onExchange?.({ ...(attempt.attempt !== undefined && { attempt: attempt.attempt }), ...exchange });
    const result = recorder && deps.onExchange ? await recorder.during(onNumbered, once) : await once();
    attempt.agentMs = agentMs(sentMs);
    if (sent.stored) await untilStored(deps, attempts, sent.stored);
    if (trace.length >= MAX_TRACED_ATTEMPTS) trace.splice(1, 1);
    trace.push(attempt);
    // Without a request the result says nothing about the agent.
    if (sent.stored) {
      const outcome = 'error' in result ? 'failure' : 'success';
      circuit?.breakers.record(circuit.endpoint, circuit.settings, outcome, clock.monotonicMs());
    }
    if (!('error' in result)) return { kind: 'answer', response: result.response, ...end() };

    const { error } = result;
    deps.onFailure?.(error);
    Object.assign(attempt, { code: error.code, disposition: error.disposition, ...errorOfSaid(error.said) });
    const retryAfterMs = error instanceof AgentUnavailableError ? error.retryAfterMs : undefined;
    const isAway = error instanceof AgentUnavailableError && error.isAway;
    const isTried = isAway ? clock.monotonicMs() - startedMs >= policy.tryForMs : made >= MAX_ATTEMPTS;
    const isRepeated = mayRetry(error, policy) && policy.tryForMs > 0;
    const leftMs = retryAfterMs === undefined ? undefined : policy.tryForMs - waitedMs;
    const isOutOfTime = isRepeated && leftMs !== undefined && leftMs <= 0;
    const isLast = !isRepeated || isTried || isOutOfTime;
    const fields = { attempt: attempt.attempt, code: error.code, error: error.message, isLast };
    const event = error instanceof MediaError ? 'file of the message not loaded' : 'agent did not answer';
    deps.log.warn(isOutOfTime ? { ...fields, waitedMs } : fields, event);
    if (isOutOfTime) return { kind: 'failed', error: outOfTime(error, waitedMs), ...end() };
    if (isLast) return { kind: 'failed', error, ...end() };
    if (sent.stored) {
      mayHaveRun ||= !(error instanceof AgentUnavailableError) || error.mayHaveRun;
      if (!mayHaveRun) await untilStored(deps, attempts, undefined, { didNotRun: true });
    }
    attempt.waitMs = Math.min(policy.backoffMs(made, retryAfterMs), leftMs ?? Infinity);
    waitedMs += attempt.waitMs;
    await clock.sleep(attempt.waitMs, stopping);
    if (!fitsCircuit()) return { kind: 'failed', error, ...end() };
  }
}

/** The answer of the agent is not lost while the database does not answer. */
async function untilStored(
  deps: AskDeps,
  attempt: number,
  stored: Promise<void> | undefined,
  note?: CountOptions,
): Promise<void> {
  const { clock, log, stopping } = deps;
  for (let storeAttempt = 1; ; storeAttempt++) {
    try {
      return await ((storeAttempt === 1 && stored) || (await deps.countAttempt(attempt, note)).stored);
    } catch (error) {
      stopping.throwIfAborted();
      if (!(error instanceof StorageUnavailableError)) throw error;
      log.warn({ err: error, attempt: storeAttempt }, 'database unavailable, retrying turn');
      await clock.sleep(storageRetryMs(storeAttempt), stopping);
    }
  }
}

function mayRetry(error: Wa2aiError, { uncertain }: AttemptPolicy): boolean {
  if (error instanceof AgentUncertainError) return false;
  return error.disposition === 'retry' || (error.disposition === 'uncertain' && uncertain === 'retry');
}

/** The error of an agent that sent `Retry-After` until the route's time was over. */
function outOfTime(error: Wa2aiError, waitedMs: number): Wa2aiError {
  const seconds = Math.round(waitedMs / 1_000);
  return new AgentUnavailableError(say('agent.out-of-time', { error: error.said, seconds }), {
    cause: error,
    isAway: true,
  });
}

async function attemptOnce(
  deps: AskDeps,
  client: AgentClient,
  endpoint: string,
  message: IncomingMessage,
  made: number,
  options: AttemptOptions,
): Promise<{ response: AgentResponse } | { error: Wa2aiError }> {
  const { loadMedia, mediaUrl, loadHistory, replyToken, notify, sayInChat, onText, store, stopping } = deps;
  try {
    const response = await client.sendMessage(endpoint, message, {
      signal: stopping,
      isRepeat: deps.isRepeat ?? false,
      log: deps.log,
      ...options,
      ...(loadMedia && { loadMedia }),
      ...(mediaUrl && { mediaUrl }),
      ...(loadHistory && { loadHistory }),
      ...(replyToken && { replyToken }),
      ...(notify && { notify }),
      ...(sayInChat && { sayInChat }),
      ...(onText && { onText }),
      ...(store && { store }),
    });
    const { length } = response.response ?? '';
    if (response.success && length <= MAX_ANSWER_CHARS) return { response };
    const problem = response.success
      ? say('agent.answer-cut', { characters: length, max: MAX_ANSWER_CHARS })
      : say('agent.failure-unnamed');
    return { error: new AgentProtocolError(problem) };
  } catch (caught) {
    stopping.throwIfAborted();
    // The turn continues on the node of the agent.
    if (caught instanceof AgentElsewhereError) throw caught;
    // The attempt was not stored, and so not made; or what it needs from the database could not be read.
    if (caught instanceof StorageUnavailableError) throw caught;
    return { error: asWa2aiError(caught, made) };
  }
}

function asWa2aiError(caught: unknown, made: number): Wa2aiError {
  if (caught instanceof Wa2aiError) return caught;
  const detail = caught instanceof Error ? caught.message : String(caught);
  return new Wa2aiError(
    'AGENT_CLIENT_FAULT',
    'dead',
    say('agent.client-fault', { attempt: made, why: detail }),
    { cause: caught },
  );
}

/** When a circuit opens, and for how long. */
interface CircuitSettings {
  /** Consecutive failed attempts that open the circuit, from 1. */
  failures: number;
  /** How long it stays open before one attempt may probe the endpoint, in milliseconds. */
  openMs: number;
}

/**
 * The state of one endpoint. `closed` counts failures in a row; `open` allows no attempt until its time; `probing` has
 * allowed one attempt and waits for its end.
 */
type Circuit =
  | { kind: 'closed'; failures: number }
  | { kind: 'open'; untilMs: number }
  | { kind: 'probing'; untilMs: number };

/** A circuit without a failure. */
const CLOSED: Circuit = { kind: 'closed', failures: 0 };

/** Limit of endpoints; the least recently used one is removed first, which closes its circuit. */
const MAX_CIRCUITS = 1_000;

/**
 * Whether an attempt is allowed now, and the circuit after that. When the time of an open circuit is over, one attempt
 * is allowed as a probe; the next one when that ended, or when it did not end within `openMs` (its process may be gone).
 */
function admit(
  circuit: Circuit,
  settings: CircuitSettings,
  nowMs: number,
): { isAdmitted: boolean; circuit: Circuit } {
  if (circuit.kind === 'closed') return { isAdmitted: true, circuit };
  if (nowMs < circuit.untilMs) return { isAdmitted: false, circuit };
  return { isAdmitted: true, circuit: { kind: 'probing', untilMs: nowMs + settings.openMs } };
}

/** The circuit after an attempt ended: any success closes it, a failed probe or enough failures in a row open it. */
function afterAttempt(
  circuit: Circuit,
  settings: CircuitSettings,
  end: 'success' | 'failure',
  nowMs: number,
): Circuit {
  if (end === 'success') return CLOSED;
  // An attempt that began before the circuit opened says nothing new.
  if (circuit.kind === 'open') return circuit;
  const failures = circuit.kind === 'closed' ? circuit.failures + 1 : settings.failures;
  if (failures < settings.failures) return { kind: 'closed', failures };
  return { kind: 'open', untilMs: nowMs + settings.openMs };
}

/** Circuits of this process by agent endpoint; at most 1,000 are kept. Each node counts for itself. */
export class CircuitBreakers {
  readonly #circuits = new Map<string, Circuit>();
  readonly #onOpened: (endpoint: string) => void;

  /** @param onOpened called each time a circuit opens, also again after a failed probe */
  constructor(onOpened: (endpoint: string) => void = () => undefined) {
    this.#onOpened = onOpened;
  }

  /** Whether an attempt at this endpoint is allowed; `record` follows an allowed one that sent a request. */
  admit(endpoint: string, settings: CircuitSettings, nowMs: number): boolean {
    const { isAdmitted, circuit } = admit(this.#circuits.get(endpoint) ?? CLOSED, settings, nowMs);
    this.#set(endpoint, circuit);
    return isAdmitted;
  }

  /** Records how an attempt ended. */
  record(endpoint: string, settings: CircuitSettings, end: 'success' | 'failure', nowMs: number): void {
    const before = this.#circuits.get(endpoint) ?? CLOSED;
    const after = afterAttempt(before, settings, end, nowMs);
    this.#set(endpoint, after);
    if (after.kind === 'open' && before.kind !== 'open') this.#onOpened(endpoint);
  }

  #set(endpoint: string, circuit: Circuit): void {
    this.#circuits.delete(endpoint);
    if (circuit.kind === 'closed' && circuit.failures === 0) return;
    this.#circuits.set(endpoint, circuit);
    if (this.#circuits.size <= MAX_CIRCUITS) return;
    const [oldest] = this.#circuits.keys();
    if (oldest !== undefined) this.#circuits.delete(oldest);
  }
}
