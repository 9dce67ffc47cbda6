import type { Clock } from '../../../core/ports/clock.ts';
import { field } from '../field.ts';
import { type Disconnect, disconnectOf } from './disconnect-table.ts';

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
export interface Ended {
  disconnect: Disconnect;
  /** How long the connection was open, or showed pairing codes. */
  goodForMs: number;
  /** WhatsApp answered, possibly with a refusal. */
  isReached: boolean;
}

export interface SocketEndOptions {
  /** Ends the connection when it is aborted. */
  signal: AbortSignal;
  clock: Clock;
  isLinked(): boolean;
  onOpen(): void;
  /** Called at once with a function that ends the connection as if it had broken; it has no effect after the end. */
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
