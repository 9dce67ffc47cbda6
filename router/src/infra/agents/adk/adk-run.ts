import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import type { Redact } from '../transport/redaction.ts';
import { failedSentence, faultError, type Refusal, refusalError, timeoutSentence } from './adk-errors.ts';
import { type AdkServer, exchange } from './adk-http.ts';
import { createSession, isSessionAbsent, listApps } from './adk-session.ts';
import type { AdkSettings } from './adk-settings.ts';
import type { AdkState } from './adk-state.ts';
import {
  type AdkDialect,
  type AdkEvent,
  areOfAdkServer,
  isSessionMissing,
  parseEvents,
  type RunRequest,
  runBody,
} from './adk-wire.ts';

/** What is asked where. */
export interface AdkQuestion {
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
export interface AdkAsk extends AdkQuestion {
  /** Aborts at the time limit and at the caller's signal. */
  limited: AbortSignal;
  /** Spelling of a run that was sent and whose fate is unknown so far. */
  inFlight: AdkDialect | undefined;
}

type RunResult = { ok: true; events: AdkEvent[] } | { ok: false; refusal: Refusal };

/** Settings of AdkRuns; times in milliseconds. */
export interface AdkRunsOptions {
  dialect: AdkSettings['dialect'];
  timeoutMs: number;
  maxBytes: number;
  state: AdkState;
  clock: Clock;
}

/** Sends runs: finds out how a server spells their body, and creates the session that a run is missing. */
export class AdkRuns {
  readonly #options: AdkRunsOptions;

  constructor(options: AdkRunsOptions) {
    this.#options = options;
  }

  /**
   * Sends the run in the spelling the server is thought to take, and mends what a refusal says about it, once.
   * `ask.inFlight` tells afterwards whether a run was sent of which nothing more is known.
   * @returns the events of the answer
   * @throws as `HttpAgentClient.sendMessage` says, before any late answer is looked for
   */
  async send(ask: AdkAsk): Promise<AdkEvent[]> {
    const result = await this.#run(ask);
    if (!result.ok) throw await this.#refused(ask, result.refusal);
    this.#options.state.noteSession(ask.sessionKey);
    return result.events;
  }

  async #run(ask: AdkAsk): Promise<RunResult> {
    const { name } = ask.server;
    const fixed = this.#options.dialect === 'auto' ? undefined : this.#options.dialect;
    const first = fixed ?? this.#options.state.dialectOf(name) ?? 'snake';
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
  async #failedForWantOfSession(ask: AdkAsk): Promise<boolean> {
    if (this.#options.state.isSessionKnown(ask.sessionKey)) return false;
    return await isSessionAbsent(ask.server, ask.run, ask.limited);
  }

  async #post(ask: AdkAsk, dialect: AdkDialect): Promise<RunResult> {
    const { server } = ask;
    ask.inFlight = dialect;
    const result = await exchange(server, server.url('run'), {
      method: 'POST',
      body: JSON.stringify(runBody(dialect, ask.run)),
      signal: ask.limited,
      maxBytes: this.#options.maxBytes,
    });
    this.#throwIfEnded(ask);
    if (result.kind === 'fault') {
      if (result.stage === 'no-answer') this.#options.state.noteDoubt(ask.sessionKey, ask.run.messageId);
      throw faultError(result.stage, ask.redact(result.detail), result.cause);
    }
    const { status, headers, body } = result;
    if (status !== 504) ask.inFlight = undefined;
    if (status !== 200) return { ok: false, refusal: { status, headers, body } };
    const events = parseEvents(body);
    if (!events.ok) throw new AgentProtocolError(failedSentence(events.problem));
    // A Python server reads both spellings; only camelCase carries what the agent is told about the message.
    this.#options.state.learnDialect(server.name, areOfAdkServer(events.value) ? 'camel' : dialect);
    return { ok: true, events: events.value };
  }

  /** @throws at the caller's abort its reason, at the time limit the contract's time-out, else nothing */
  #throwIfEnded(ask: AdkAsk): void {
    ask.outer?.throwIfAborted();
    if (!ask.limited.aborted) return;
    const sentence = timeoutSentence(this.#options.timeoutMs);
    // A time-out between two runs, while the session was being created: nothing was run.
    throw ask.inFlight ? new AgentTimeoutError(sentence) : new AgentUnavailableError(sentence);
  }

  async #refused(ask: AdkAsk, refusal: Refusal): Promise<Wa2aiError> {
    const { status, body } = refusal;
    const listed = status === 404 ? await listApps(ask.server, ask.limited) : [];
    // A session that could not be created either may be missing for want of the app.
    const apps = isSessionMissing(status, body) && listed.includes(ask.run.appName) ? [] : listed;
    if (status === 502) this.#options.state.noteDoubt(ask.sessionKey, ask.run.messageId);
    return refusalError(refusal, { apps, nowMs: this.#options.clock.now(), redact: ask.redact });
  }
}
