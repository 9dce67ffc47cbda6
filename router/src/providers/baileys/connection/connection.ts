import { backoffMs, type Clock, within } from '../../../core/clock.ts';
import { CredentialsDamagedError, ProxyFailedError, StorageUnavailableError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { because, type Reason, reasonOf, saidBy, say } from '../../../core/phrases.ts';
import { field } from '../messages/proto-values.ts';

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
interface ManagedSocket {
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

/** Why a connection ended. */
interface Disconnect extends Reason {
  /** Baileys' DisconnectReason, a code of WhatsApp's `failure` or `stream:error`, or an HTTP status of the upgrade. */
  code: number | undefined;
  /** The account is linked; otherwise the connection was open for pairing. */
  isLinked: boolean;
  /** How long a ban or limit lasts, when WhatsApp named it. */
  expiresInMs?: number;
  /** The database, not WhatsApp, ended it or prevented the attempt. */
  isStorageTrouble?: boolean;
  /** The account's proxy did not make the connection. */
  proxy?: 'unreachable' | 'refuses';
  /** WhatsApp asked for a passkey while a phone was linked, and the passkey did not link it. */
  isPasskeyRequired?: boolean;
  /** Not attempted: the keys for the login cannot be read. */
  isWithoutKeys?: boolean;
  /** Not attempted: an earlier ban or limit lasts for this long. */
  postponedForMs?: number;
  /** Not attempted: WhatsApp refused this client version before. */
  isVersionRefused?: boolean;
}

/** The connection was not attempted: WhatsApp refuses the only client version that is known. */
export class VersionRefusedError extends Error {}

/** The connection was not attempted: an earlier ban or limit of WhatsApp is active. */
export class ConnectionPostponedError extends Error {
  /** The sentence of the ban or limit, ready to show. */
  readonly why: Reason;
  readonly forMs: number;

  constructor(why: Reason, forMs: number) {
    super(why.reason);
    this.why = why;
    this.forMs = forMs;
  }
}

/** What the connection manager does next. The sentences are for the operator. */
type DisconnectAction =
  | { kind: 'reconnect-now' }
  | ({ kind: 'back-off'; isStorageTrouble?: boolean; proxy?: 'unreachable' | 'refuses' } & Reason)
  /** `isByWhatsApp` is false when only this side cannot log in: the keys are not archived. */
  | ({ kind: 'logged-out'; isByWhatsApp: boolean } & Reason)
  | ({ kind: 'passkey-required' | 'replaced' } & Reason)
  /** `isByWhatsApp` is false when the login was not attempted. */
  | { kind: 'outdated'; isByWhatsApp: boolean }
  | ({ kind: 'restricted'; forMs: number } & Reason);

const HOUR_MS = 60 * 60 * 1000;
/** A temporary ban whose end WhatsApp did not name. */
const DEFAULT_BAN_MS = HOUR_MS;
const RATE_LIMIT_MS = 5 * 60 * 1000;
/** A connection whose QR codes are used up ends with this text. */
export const QR_CODES_ENDED = 'QR refs attempts ended';

/** Of Baileys' errors about the certificates of the server (Utils/noise-handler.js). */
const CERTIFICATE_REFUSED = 'certificate';
const NOT_WHATSAPP = because(say('account.intercepted'));

/**
 * Chooses the action after a disconnect. Pure.
 * Codes: Baileys' DisconnectReason, and WhatsApp's `failure` reasons (402 temporary ban, 406 unknown account, 409 bad
 * client). 500 and Bad MAC end a connection, not the link: one broken session does not require pairing.
 */
export function actionFor(disconnect: Disconnect): DisconnectAction {
  const { code, isLinked, postponedForMs } = disconnect;
  if (postponedForMs !== undefined) {
    return { kind: 'restricted', ...reasonOf(disconnect), forMs: postponedForMs };
  }
  if (disconnect.isVersionRefused) return { kind: 'outdated', isByWhatsApp: false };
  if (disconnect.isWithoutKeys) {
    return { kind: 'logged-out', ...reasonOf(disconnect), isByWhatsApp: false };
  }
  if (disconnect.proxy) return { kind: 'back-off', ...reasonOf(disconnect), proxy: disconnect.proxy };
  if (disconnect.isPasskeyRequired) return { kind: 'passkey-required', ...reasonOf(disconnect) };
  switch (code) {
    case 401:
    case 403:
    case 406:
    case 411:
    case 419:
      // Without a link there is nothing to log out.
      if (!isLinked) return backOff(disconnect);
      return { kind: 'logged-out', ...because(say('account.logged-out', { code })), isByWhatsApp: true };
    case 402:
      return {
        kind: 'restricted',
        ...because(say('account.banned')),
        forMs: disconnect.expiresInMs ?? DEFAULT_BAN_MS,
      };
    case 405:
    case 409:
      return { kind: 'outdated', isByWhatsApp: true };
    case 429:
    case 463:
      return {
        kind: 'restricted',
        ...because(say('account.limited', { code })),
        forMs: disconnect.expiresInMs ?? (code === 429 ? RATE_LIMIT_MS : HOUR_MS),
      };
    case 440:
      return { kind: 'replaced', ...because(say('account.replaced')) };
    case 400:
      if (!disconnect.reason.includes(CERTIFICATE_REFUSED)) return backOff(disconnect);
      return backOff({ ...disconnect, code: undefined, ...NOT_WHATSAPP });
    case 515:
      return { kind: 'reconnect-now' };
    default:
      if (!isLinked && disconnect.reason.includes(QR_CODES_ENDED)) return { kind: 'reconnect-now' };
      return backOff(disconnect);
  }
}

function backOff(disconnect: Disconnect): DisconnectAction {
  const { code, reason, isStorageTrouble } = disconnect;
  return {
    kind: 'back-off',
    ...(code === undefined ? reasonOf(disconnect) : { reason: `${reason} (${code})` }),
    ...(isStorageTrouble && { isStorageTrouble }),
  };
}

/** Of an error ack: too many messages. */
export const TOO_MANY_MESSAGES = '429';
/**
 * Of an error ack: the message goes to a person who never wrote, and WhatsApp refuses this one, has locked such messages, or counted too
 * many; or it had to have a privacy token. Only a question says which.
 */
export const REACH_OUT_REFUSED = '463';
/** The limit that error 429 of an ack means. */
export const RATE_LIMIT = { ...because(say('account.rate-limited')), forMs: RATE_LIMIT_MS };

/** Reads code, reason and expiry of Baileys' `lastDisconnect.error` (a Boom, an Error or undefined). */
export function disconnectOf(error: unknown, isLinked: boolean): Disconnect {
  const output = field(error, 'output');
  const code = field(output, 'statusCode');
  const data = field(error, 'data');
  // Baileys wraps the errors of the WebSocket.
  const ofProxy = [error, data].find((each) => each instanceof ProxyFailedError);
  const expireSeconds = Number(field(data, 'expire') ?? field(field(data, 'attrs'), 'expire'));
  return {
    code: typeof code === 'number' && Number.isFinite(code) ? code : undefined,
    ...(ofProxy ? because(ofProxy.said) : reasonOfError(error)),
    isLinked,
    ...(expireSeconds > 0 && { expiresInMs: expireSeconds * 1000 }),
    ...(ofProxy && { proxy: ofProxy.isRefusal ? ('refuses' as const) : ('unreachable' as const) }),
    ...(error instanceof StorageUnavailableError && { isStorageTrouble: true }),
    ...(error instanceof CredentialsDamagedError && { isWithoutKeys: true }),
    ...(error instanceof ConnectionPostponedError && { postponedForMs: error.forMs }),
    ...(error instanceof VersionRefusedError && { isVersionRefused: true }),
  };
}

function reasonOfError(error: unknown): Reason {
  if (error instanceof ConnectionPostponedError) return error.why;
  return { reason: error instanceof Error && error.message ? error.message : 'Connection closed' };
}
