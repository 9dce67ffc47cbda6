import { backoffMs, type Clock, within } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import { because, type Reason, reasonOf, saidBy } from '../../../core/phrases.ts';
import { field } from '../messages/proto-values.ts';
import { actionFor, type Disconnect, type DisconnectAction, disconnectOf } from './disconnect-table.ts';

/** The state of the connection. A state that needs a person ends the manager's loop. */
export type ConnectionPhase =
  | { state: 'connecting' }
  | { state: 'open' }
  | Unreached
  | ({ state: 'restricted'; retryAtMs: number; forMs: number } & Reason)
  | ({ state: 'outdated'; retryAtMs?: number } & Reason)
  | ({ state: 'passkey-required' | 'logged-out' | 'replaced' } & Reason)
  | { state: 'stopped' };

/** It could not connect; `retryAtMs` absent: the next attempt runs, and says nothing new until it has succeeded or failed. */
type Unreached =
  | ({ state: 'waiting'; retryAtMs?: number; isStorageTrouble?: boolean } & Reason)
  | ({ state: 'proxy-failed'; retryAtMs?: number } & Reason);

interface ConnectionOptions<S extends ManagedSocket> {
  /** Makes the socket. A rejection counts as a disconnect. */
  open(): Promise<S>;
  /** Adds the listeners of one socket. @returns removes all of them */
  attach(socket: S): () => void;
  isLinked(): boolean;
  /** The account was taken from another node, which may have logged in once more before it noticed that. */
  isTakeOver: boolean;
  /** Called after the end of each socket, before the next one: waits for its last writes. Must not reject. */
  closed(): Promise<void>;
  /** Called when WhatsApp ended the link, which makes the keys useless. Called again after a rejection. */
  archiveKeys(): Promise<void>;
  /**
   * WhatsApp refuses the client version, now or before (`isByWhatsApp: false`): resolves when another one is known, or when
   * `signal` aborts. Must not reject.
   * @param onWait shows why and until when it waits
   */
  untilOtherVersion(
    isByWhatsApp: boolean,
    signal: AbortSignal,
    onWait: (wait: Reason & { retryAtMs?: number }) => void,
  ): Promise<void>;
  onPhase(phase: ConnectionPhase): void;
  clock: Clock;
  log: Logger;
  random(): number;
}

/**
 * After a connection that was open, or showed codes, for this long, the next failure counts as the first. People wait
 * during a backoff, so a network that fails three times in a minute must not lengthen it.
 */
const STABLE_MS = 10_000;
/** Longest wait when WhatsApp, or the account's proxy, refused several connections. */
const MAX_BACKOFF_MS = 60_000;
/**
 * Longest wait while WhatsApp, the account's proxy or the database cannot be reached: an attempt costs nothing, and may succeed at any
 * moment.
 */
const MAX_UNREACHED_BACKOFF_MS = 10_000;
const MIN_BACKOFF_MS = 250;
/** How long a socket may take to end. */
const END_MS = 2_000;
/** Maximum of consecutive reconnects without a wait; after them it backs off. */
const MAX_QUICK = 5;
/**
 * Logins after another client took over the link. The account's earlier node logs in at most once more, because it
 * verifies its lease before each login. A program that logs in more often is not wa2ai, so a person must decide.
 */
const MAX_RECLAIMS = 2;

/**
 * Manages one account's connection: one loop, one socket at a time. The next socket is made after the last one has
 * ended and its listeners are removed. The disconnect table chooses the next action; temporary problems are retried
 * without limit.
 */
export class ConnectionManager<S extends ManagedSocket> {
  readonly #options: ConnectionOptions<S>;
  #running: { abort: AbortController; done: Promise<void> } | undefined;
  #commands: Promise<unknown> = Promise.resolve();
  #break: ((disconnect: Disconnect) => void) | undefined;

  constructor(options: ConnectionOptions<S>) {
    this.#options = options;
  }

  /** Connects and stays connected. Idempotent. */
  start(): Promise<void> {
    return this.#command(async () => this.#begin());
  }

  /** Ends the socket; resolves when it has ended. `meanwhile` runs before the next connection. */
  stop(meanwhile?: () => Promise<void>): Promise<void> {
    return this.#command(async () => {
      await this.#end();
      await meanwhile?.();
    });
  }

  /** Makes a new socket now, in any state. `meanwhile` runs between the two sockets. */
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

  /** Ends the current connection as if it had broken. */
  breakOff(reason: string, options: Pick<Disconnect, 'isStorageTrouble' | 'isPasskeyRequired'> = {}): void {
    this.#break?.({
      code: undefined,
      ...because(saidBy(reason)),
      isLinked: this.#options.isLinked(),
      ...options,
    });
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
    let unreached: Unreached | undefined;
    while (!signal.aborted) {
      onPhase(unreached ?? { state: 'connecting' });
      unreached = undefined;
      const { disconnect, goodForMs, isReached } = await this.#connectOnce(signal);
      if (signal.aborted) return;
      if (goodForMs >= STABLE_MS) {
        failures = 0;
        quick = 0;
      }
      let action: DisconnectAction = actionFor(disconnect);
      // Debug is enough: the next state of the account informs the operator.
      log.debug({ code: disconnect.code, reason: disconnect.reason, next: action.kind }, 'connection ended');
      if (action.kind === 'reconnect-now') {
        quick += 1;
        if (quick <= MAX_QUICK) continue;
        action = { kind: 'back-off', ...reasonOf(disconnect) };
      }
      if (action.kind === 'outdated') {
        const onWait = (wait: Reason & { retryAtMs?: number }) => onPhase({ state: 'outdated', ...wait });
        await this.#options.untilOtherVersion(action.isByWhatsApp, signal, onWait);
        if (action.isByWhatsApp) quick += 1;
        if (quick <= MAX_QUICK) continue;
        action = { kind: 'back-off', reason: 'WhatsApp refused several client versions in a row' };
      }
      if (action.kind === 'replaced' && isTakeOver && reclaims < MAX_RECLAIMS) {
        reclaims += 1;
        const reason = `${action.reason} It may be the node that had this account before; a login follows (${reclaims} of ${MAX_RECLAIMS}).`;
        action = { kind: 'back-off', reason };
      }
      if (action.kind === 'back-off') {
        failures += 1;
        const { isStorageTrouble = false, proxy } = action;
        const why = reasonOf(action);
        const isRefused = proxy === 'refuses' || (isReached && !isStorageTrouble && !proxy);
        const waitMs = this.#backoffMs(failures, isRefused ? MAX_BACKOFF_MS : MAX_UNREACHED_BACKOFF_MS);
        const retryAtMs = clock.now() + waitMs;
        unreached = proxy
          ? { state: 'proxy-failed', ...why }
          : { state: 'waiting', ...why, ...(isStorageTrouble && { isStorageTrouble }) };
        onPhase({ ...unreached, retryAtMs });
        await clock.sleep(waitMs, signal).catch(() => undefined);
        continue;
      }
      if (action.kind === 'restricted') {
        const { forMs } = action;
        onPhase({ state: 'restricted', ...reasonOf(action), retryAtMs: clock.now() + forMs, forMs });
        await clock.sleep(forMs, signal).catch(() => undefined);
        continue;
      }
      if (action.kind === 'logged-out' && action.isByWhatsApp) await this.#archiveKeys(action.reason, signal);
      if (!signal.aborted) onPhase({ state: action.kind, ...reasonOf(action) });
      return;
    }
  }

  /** Retries until it is stored: there must be no further login with keys that WhatsApp refuses. */
  async #archiveKeys(why: string, signal: AbortSignal): Promise<void> {
    const { archiveKeys, onPhase, clock, log } = this.#options;
    for (let attempt = 1; !signal.aborted; attempt += 1) {
      try {
        return await archiveKeys();
      } catch (error) {
        log.warn({ err: error, attempt }, 'cannot archive keys of the ended link, retrying');
        const waitMs = this.#backoffMs(attempt, MAX_UNREACHED_BACKOFF_MS);
        const reason = `${why} The database has not stored this yet.`;
        onPhase({ state: 'waiting', reason, retryAtMs: clock.now() + waitMs, isStorageTrouble: true });
        await clock.sleep(waitMs, signal).catch(() => undefined);
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
    try {
      await within(clock, END_MS, Promise.resolve(socket.end(undefined)));
    } catch (error) {
      log.debug({ err: error }, 'socket ended with an error');
    }
  }
}

/** The part of a Baileys socket that the connection manager uses. */
export interface ManagedSocket {
  ev: {
    on(event: 'connection.update', listener: (update: ConnectionUpdate) => void): void;
    off(event: 'connection.update', listener: (update: ConnectionUpdate) => void): void;
  };
  ws: {
    on(event: string, listener: (...args: unknown[]) => void): unknown;
    off(event: string, listener: (...args: unknown[]) => void): unknown;
  };
  end(error: Error | undefined): unknown;
}

interface ConnectionUpdate {
  connection?: 'open' | 'connecting' | 'close';
  lastDisconnect?: { error: unknown };
  qr?: string;
}

/** A connection attempt without a sign of WhatsApp for this long is hung. */
const HUNG_MS = 25_000;
/**
 * An open connection without a frame for this long is dead. WhatsApp answers Baileys' ping every 30 s. Baileys itself
 * ends a connection after 35 s, but by the wall clock: if that is set back by an hour, Baileys waits for the hour.
 */
const SILENT_MS = 90_000;

/** How one connection ended. */
interface Ended {
  disconnect: Disconnect;
  /** How long the connection was open, or showed pairing codes. */
  goodForMs: number;
  /** WhatsApp answered, possibly with a refusal. */
  isReached: boolean;
}

interface SocketEndOptions {
  /** Ends the connection when it is aborted. */
  signal: AbortSignal;
  clock: Clock;
  isLinked(): boolean;
  onOpen(): void;
  /** Called immediately with a function that ends the connection as if it had broken; it has no effect after the end. */
  onBreakable(breakOff: (disconnect: Disconnect) => void): void;
}

/**
 * Resolves when the socket is closed, hangs or is refused, or when `signal` aborts. Never rejects. Workaround:
 * refs/baileys-workarounds.md.
 */
export function untilSocketEnds(socket: ManagedSocket, options: SocketEndOptions): Promise<Ended> {
  const { signal, clock, isLinked, onOpen, onBreakable } = options;
  return new Promise((resolve) => {
    let watch = new AbortController();
    let lastSignMs = clock.monotonicMs();
    let goodSinceMs: number | undefined;
    let isReached = false;
    const conclude = (disconnect: Disconnect) => {
      watch.abort();
      socket.ev.off('connection.update', onUpdate);
      socket.ws.off('frame', onFrame);
      socket.ws.off('open', onSign);
      socket.ws.off('unexpected-response', onRefused);
      signal.removeEventListener('abort', onAbort);
      const goodForMs = goodSinceMs === undefined ? 0 : clock.monotonicMs() - goodSinceMs;
      resolve({ disconnect, goodForMs, isReached });
    };
    const endFor = (reason: string) => conclude({ code: undefined, reason, isLinked: isLinked() });
    const onUpdate = (update: ConnectionUpdate) => {
      if (update.qr !== undefined || update.connection === 'open') {
        goodSinceMs ??= clock.monotonicMs();
        isReached = true;
        watch.abort();
      }
      if (update.connection === 'open') {
        watchFor(SILENT_MS, `WhatsApp sent nothing for ${SILENT_MS / 1_000} s`);
        onOpen();
      }
      if (update.connection === 'close') {
        conclude(disconnectOf(update.lastDisconnect?.error, isLinked()));
      }
    };
    const onSign = () => {
      lastSignMs = clock.monotonicMs();
    };
    const onFrame = () => {
      isReached = true;
      onSign();
    };
    // Baileys does not end the socket after an HTTP response that is not an upgrade.
    const onRefused = (_request: unknown, response: unknown) => {
      isReached = true;
      endFor(`WhatsApp refused the connection with HTTP status ${String(field(response, 'statusCode'))}`);
    };
    const onAbort = () => endFor('stopped');
    onBreakable(conclude);
    socket.ev.on('connection.update', onUpdate);
    socket.ws.on('frame', onFrame);
    socket.ws.on('open', onSign);
    socket.ws.on('unexpected-response', onRefused);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    function watchFor(limitMs: number, reason: string): void {
      watch.abort();
      watch = new AbortController();
      lastSignMs = clock.monotonicMs();
      void silence(clock, watch.signal, limitMs, () => lastSignMs).then((isSilent) => {
        if (isSilent) endFor(reason);
      });
    }
    if (!signal.aborted) watchFor(HUNG_MS, 'WhatsApp did not answer while connecting');
  });
}

/** Resolves with true when no sign arrives for `limitMs`, with false when `signal` is aborted. */
async function silence(
  clock: Clock,
  signal: AbortSignal,
  limitMs: number,
  lastSignMs: () => number,
): Promise<boolean> {
  while (!signal.aborted) {
    const leftMs = lastSignMs() + limitMs - clock.monotonicMs();
    if (leftMs <= 0) return true;
    await clock.sleep(leftMs, signal).catch(() => undefined);
  }
  return false;
}
