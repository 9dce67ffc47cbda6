import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { backoffMs } from '../../../core/retry.ts';
import { actionFor, type Disconnect, type DisconnectAction, disconnectOf } from './disconnect-table.ts';
import { type Ended, type ManagedSocket, sleepOrAbort, untilSocketEnds } from './socket-end.ts';

/** Where the connection is; the states that need a person end the manager's loop. */
export type ConnectionPhase =
  | { state: 'connecting' }
  | { state: 'open' }
  | { state: 'waiting'; reason: string; retryAtMs: number; isStorageTrouble?: boolean }
  | { state: 'restricted'; reason: string; retryAtMs: number; forMs: number }
  | { state: 'logged-out' | 'replaced' | 'outdated'; reason: string }
  | { state: 'stopped' };

export interface ConnectionOptions<S extends ManagedSocket> {
  /** Makes the socket. A rejection counts as a disconnect. */
  open(): Promise<S>;
  /** Adds the listeners of one socket; the returned function takes all of them off again. */
  attach(socket: S): () => void;
  isLinked(): boolean;
  /** The account was taken from another node, which may have logged in once more before it noticed. */
  isTakeOver: boolean;
  /** After each socket's end, before the next: awaits what it still writes. Must not reject. */
  closed(): Promise<void>;
  /** WhatsApp ended the link: the keys are useless. Called again after a rejection. */
  putKeysAside(): Promise<void>;
  onPhase(phase: ConnectionPhase): void;
  clock: Clock;
  log: Logger;
  random(): number;
}

/**
 * After a connection that was open, or showed codes, for this long, the next failure counts as the first. People wait
 * during a backoff, so a network that drops three times in a minute must not lengthen it.
 */
const STABLE_MS = 10_000;
/** Longest wait after WhatsApp itself ended several connections. */
const MAX_BACKOFF_MS = 60_000;
/**
 * Longest wait while WhatsApp cannot be reached, or for the database: an attempt costs nothing, and either may be back
 * at any moment.
 */
const MAX_UNREACHED_BACKOFF_MS = 10_000;
const MIN_BACKOFF_MS = 250;
/** How long a socket may take to end. */
const END_MS = 2_000;
/** Reconnects at once in a row; then something is wrong and it backs off. */
const MAX_QUICK = 5;
/**
 * Logins after another client took over the link. The account's earlier node logs in once at most, since it verifies its
 * lease before each login; a program that does so more often is a stranger, and a person decides.
 */
const MAX_RECLAIMS = 2;

/**
 * Manages one account's connection: one loop, one socket at a time. The next socket is made after the last one has ended
 * and its listeners are removed. The disconnect table decides what follows; temporary problems are retried without limit.
 */
export class ConnectionManager<S extends ManagedSocket> {
  readonly #options: ConnectionOptions<S>;
  #running: { abort: AbortController; done: Promise<void> } | undefined;
  #commands: Promise<unknown> = Promise.resolve();
  #break: ((disconnect: Disconnect) => void) | undefined;

  constructor(options: ConnectionOptions<S>) {
    this.#options = options;
  }

  /** Connects and stays connected, unless it does so already. */
  start(): Promise<void> {
    return this.#command(async () => this.#begin());
  }

  /** Ends the socket; resolves when it has ended. `meanwhile` runs before anything may connect again. */
  stop(meanwhile?: () => Promise<void>): Promise<void> {
    return this.#command(async () => {
      await this.#end();
      await meanwhile?.();
    });
  }

  /** A new socket now, whatever the state. `meanwhile` runs between the two. */
  restart(meanwhile?: () => Promise<void>): Promise<void> {
    return this.#command(async () => {
      await this.#end();
      try {
        await meanwhile?.();
      } finally {
        this.#begin();
      }
    });
  }

  /** Ends the present connection as if it had broken, because of the database or of anything else. */
  breakOff(reason: string, options: { isStorageTrouble?: boolean } = {}): void {
    this.#break?.({ code: undefined, reason, isLinked: this.#options.isLinked(), ...options });
  }

  #command(work: () => Promise<void>): Promise<void> {
    const done = this.#commands.then(work);
    this.#commands = done.catch(() => undefined);
    return done;
  }

  #begin(): void {
    if (this.#running) return;
    const abort = new AbortController();
    const done = this.#run(abort.signal).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'connection loop failed');
      this.#options.onPhase({ state: 'stopped' });
    });
    const running = { abort, done };
    this.#running = running;
    void done.then(() => {
      if (this.#running === running) this.#running = undefined;
    });
  }

  async #end(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    running.abort.abort();
    await running.done;
    this.#running = undefined;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, log, onPhase, isTakeOver } = this.#options;
    let failures = 0;
    let quick = 0;
    let reclaims = 0;
    while (!signal.aborted) {
      onPhase({ state: 'connecting' });
      const { disconnect, goodForMs, isReached } = await this.#connectOnce(signal);
      if (signal.aborted) return;
      if (goodForMs >= STABLE_MS) {
        failures = 0;
        quick = 0;
      }
      let action: DisconnectAction = actionFor(disconnect);
      // The account's next state informs the operator.
      log.debug({ code: disconnect.code, reason: disconnect.reason, next: action.kind }, 'connection ended');
      if (action.kind === 'reconnect-now') {
        quick += 1;
        if (quick <= MAX_QUICK) continue;
        action = { kind: 'back-off', reason: disconnect.reason };
      }
      if (action.kind === 'replaced' && isTakeOver && reclaims < MAX_RECLAIMS) {
        reclaims += 1;
        const reason = `${action.reason} The node that had this account before may have done it: login ${reclaims} of ${MAX_RECLAIMS} follows.`;
        action = { kind: 'back-off', reason };
      }
      if (action.kind === 'back-off') {
        failures += 1;
        const { reason, isStorageTrouble = false } = action;
        const isOfWhatsApp = isReached && !isStorageTrouble;
        const waitMs = this.#backoffMs(failures, isOfWhatsApp ? MAX_BACKOFF_MS : MAX_UNREACHED_BACKOFF_MS);
        const retryAtMs = clock.now() + waitMs;
        onPhase({ state: 'waiting', reason, retryAtMs, ...(isStorageTrouble && { isStorageTrouble }) });
        await sleepOrAbort(clock, waitMs, signal);
        continue;
      }
      if (action.kind === 'restricted') {
        const { reason, forMs } = action;
        onPhase({ state: 'restricted', reason, retryAtMs: clock.now() + forMs, forMs });
        await sleepOrAbort(clock, forMs, signal);
        continue;
      }
      if (action.kind === 'logged-out' && action.isByWhatsApp)
        await this.#putKeysAside(action.reason, signal);
      if (!signal.aborted) onPhase({ state: action.kind, reason: action.reason });
      return;
    }
  }

  /** Retries until it is stored: with keys that WhatsApp refuses there must be no further login. */
  async #putKeysAside(why: string, signal: AbortSignal): Promise<void> {
    const { putKeysAside, onPhase, clock, log } = this.#options;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return await putKeysAside();
      } catch (error) {
        log.warn({ err: error, attempt }, 'keys of the ended link not put aside, retrying');
        const waitMs = this.#backoffMs(attempt, MAX_UNREACHED_BACKOFF_MS);
        const reason = `${why} The database has not stored this yet.`;
        onPhase({ state: 'waiting', reason, retryAtMs: clock.now() + waitMs, isStorageTrouble: true });
        await sleepOrAbort(clock, waitMs, signal);
      }
    }
  }

  #backoffMs(attempt: number, maxMs: number): number {
    const { random } = this.#options;
    return Math.max(MIN_BACKOFF_MS, backoffMs({ attempt, random, baseMs: 1_000, maxMs }));
  }

  async #connectOnce(signal: AbortSignal): Promise<Ended> {
    const { open, attach, closed, isLinked, onPhase, clock } = this.#options;
    let socket: S;
    try {
      socket = await open();
    } catch (error) {
      return { disconnect: disconnectOf(error, isLinked()), goodForMs: 0, isReached: false };
    }
    const detach = attach(socket);
    try {
      return await untilSocketEnds(socket, {
        signal,
        clock,
        isLinked,
        onOpen: () => onPhase({ state: 'open' }),
        onBreakable: (breakOff) => {
          this.#break = breakOff;
        },
      });
    } finally {
      this.#break = undefined;
      detach();
      await this.#endSocket(socket);
      await closed();
    }
  }

  async #endSocket(socket: S): Promise<void> {
    const { clock, log } = this.#options;
    const tooLong = new AbortController();
    try {
      await Promise.race([
        Promise.resolve(socket.end(undefined)),
        sleepOrAbort(clock, END_MS, tooLong.signal),
      ]);
    } catch (error) {
      log.debug({ err: error }, 'socket ended with an error');
    } finally {
      tooLong.abort();
    }
  }
}
