import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import makeWASocket, {
  type BinaryNode,
  Browsers,
  DEFAULT_CONNECTION_CONFIG,
  type GroupMetadata,
  type PossiblyExtendedCacheStore,
  type SocketConfig,
  type UserFacingSocketConfig,
  type WASocket,
} from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { jidHash } from '../../../core/chat-id.ts';
import { UnsupportedBaileysError } from '../../../core/errors.ts';
import { isLoggedOccurrence, type Logger } from '../../../core/logger.ts';
import { atMost, createBoundedCache } from '../bounded-cache.ts';
import { field } from '../messages/proto-values.ts';
import type { AuthState } from '../signal/auth-state.ts';
import type { GroupCommit } from '../signal/group-commit.ts';
import { type AccountSignal, createAccountSignal } from '../signal/signal-repository.ts';
import type { AccountProxy } from './account-proxy.ts';
import { removePairingListener, takeMessageListener } from './check-surface.ts';

interface OpenSocketInput {
  accountId: string;
  auth: AuthState;
  memory: SocketMemory;
  getMessage: SocketConfig['getMessage'];
  /** Called with the name of a group that is sent to. */
  groupNamed(jid: string, name: string): void;
  /** Called before each write to the socket; false prevents it and destroys the socket. */
  mayUse(): boolean;
  whatsappWsUrl?: string;
  version?: readonly [number, number, number];
  /** Absent: it connects directly. */
  proxy?: AccountProxy;
  log: Logger;
}

export interface OpenedSocket {
  socket: WASocket;
  signal: AccountSignal;
  /** Baileys' own listener of message stanzas, which was removed from the socket. */
  baileysListener(node: BinaryNode): void;
}

/**
 * Makes a Baileys socket that uses the account's Signal steps and writes through the write gate. It connects immediately.
 * @throws {UnsupportedBaileysError} the installed Baileys differs from the supported one
 */
export function openSocket(input: OpenSocketInput): OpenedSocket {
  const { auth, memory, mayUse } = input;
  let signal: AccountSignal | undefined;
  const socket: WASocket = makeWASocket(
    socketConfig({
      accountId: input.accountId,
      auth,
      memory,
      log: input.log,
      whatsappWsUrl: input.whatsappWsUrl,
      version: input.version,
      proxy: input.proxy,
      getMessage: input.getMessage,
      groupMetadata: async (jid) => {
        const known = memory.groups.get(jid);
        if (known) return known;
        const fresh = await socket.groupMetadata(jid);
        memory.groups.set(jid, fresh);
        input.groupNamed(jid, fresh.subject);
        return fresh;
      },
      makeSignalRepository: ({ creds, keys }, logger, ask) => {
        // Baileys' own transactions would serialize all sends of the account and defer their writes. Signal's writes are
        // units of steps already, and the others are single writes. Workaround: refs/baileys-workarounds.md.
        Object.assign(keys, { transaction: <T>(work: () => Promise<T>) => work() });
        signal = createAccountSignal(auth.steps, creds, logger, ask, memory.withoutLid);
        return signal.repository;
      },
    }),
  );
  socket.ws.on('upgrade', (response: IncomingMessage) => gateWrites(response.socket, auth.commits, mayUse));
  try {
    const baileysListener = takeMessageListener(socket);
    removePairingListener(socket);
    if (!signal) throw new UnsupportedBaileysError('the socket makes no Signal repository');
    return { socket, signal, baileysListener };
  } catch (error) {
    socket.end(undefined);
    throw error;
  }
}

/** What the phone's list of linked devices shows. */
export const BROWSER = Browsers.macOS('Chrome');

const MINUTE_MS = 60_000;

/**
 * Caches that the sockets of an account share: a reconnect must neither query everything again nor reset retry counts.
 */
export interface SocketMemory {
  retryCounts: PossiblyExtendedCacheStore;
  devices: PossiblyExtendedCacheStore;
  groups: LRUCache<string, GroupMetadata>;
  /** Numbers without a LID at WhatsApp. */
  withoutLid: { has(phoneJid: string): boolean; add(phoneJid: string): void };
}

/** Makes the empty caches of an account. */
export function createSocketMemory(): SocketMemory {
  const withoutLid = new LRUCache<string, true>({ ...atMost(20_000), ttl: 15 * MINUTE_MS });
  return {
    retryCounts: createBoundedCache({ max: 10_000, ttlMs: 60 * MINUTE_MS }),
    devices: createBoundedCache({ max: 20_000, ttlMs: 5 * MINUTE_MS }),
    groups: new LRUCache({ ...atMost(500), ttl: 5 * MINUTE_MS }),
    withoutLid: {
      has: (phoneJid) => withoutLid.has(phoneJid),
      add: (phoneJid) => {
        withoutLid.set(phoneJid, true);
      },
    },
  };
}

interface SocketConfigInput {
  accountId: string;
  auth: AuthState;
  memory: SocketMemory;
  log: Logger;
  whatsappWsUrl?: string;
  version?: readonly [number, number, number];
  proxy?: Pick<AccountProxy, 'httpAgent' | 'httpsAgent' | 'dispatcher'>;
  getMessage: SocketConfig['getMessage'];
  groupMetadata: SocketConfig['cachedGroupMetadata'];
  makeSignalRepository: SocketConfig['makeSignalRepository'];
}

/**
 * The settings of a Baileys socket. Baileys uses only the WebSocket: it does not look up versions or preview links.
 * History is not requested, so queued messages do not wait for it. Own sends cause no event: their acks are read from
 * the socket. Retry requests are sent without a delay.
 */
export function socketConfig(input: SocketConfigInput): UserFacingSocketConfig {
  return {
    ...(input.whatsappWsUrl !== undefined && { waWebSocketUrl: input.whatsappWsUrl }),
    version: [...(input.version ?? DEFAULT_CONNECTION_CONFIG.version)],
    browser: BROWSER,
    ...(input.proxy && proxied(input.proxy, input.whatsappWsUrl)),
    auth: { creds: input.auth.creds, keys: input.auth.keys },
    logger: createBaileysLogger(input.log, input.accountId),
    emitOwnEvents: false,
    syncFullHistory: false,
    shouldSyncHistoryMessage: () => false,
    generateHighQualityLinkPreview: false,
    markOnlineOnConnect: true,
    retryRequestDelayMs: 0,
    msgRetryCounterCache: input.memory.retryCounts,
    userDevicesCache: input.memory.devices,
    getMessage: input.getMessage,
    cachedGroupMetadata: input.groupMetadata,
    makeSignalRepository: input.makeSignalRepository,
  };
}

/** WebSocket, uploads, and the downloads that Baileys makes itself (of app state). */
function proxied(
  { httpAgent, httpsAgent, dispatcher }: NonNullable<SocketConfigInput['proxy']>,
  whatsappWsUrl = DEFAULT_CONNECTION_CONFIG.waWebSocketUrl,
): Pick<UserFacingSocketConfig, 'agent' | 'fetchAgent' | 'options'> {
  const isPlain = new URL(whatsappWsUrl).protocol === 'ws:';
  // Baileys declares the agents of all kinds as those of https.
  return {
    agent: (isPlain ? httpAgent : httpsAgent) as typeof httpsAgent,
    fetchAgent: httpsAgent,
    options: { dispatcher },
  };
}

type ILogger = {
  level: string;
  child(bindings: Record<string, unknown>): ILogger;
} & Record<'trace' | 'debug' | 'info' | 'warn' | 'error', (fields: unknown, message?: string) => void>;

/**
 * Makes a logger for Baileys. It writes only the text, the error's message, the message's id and the hash of its JID, at
 * debug: the fields of Baileys contain keys, whole stanzas and phone numbers. The provider logs what an operator needs. The
 * level prevents that Baileys prepares lines that are not written.
 */
export function createBaileysLogger(log: Logger, accountId: string): ILogger {
  const write = (fields: unknown, message?: string) => {
    const text = message ?? (typeof fields === 'string' ? fields : 'Baileys');
    const jid = keyField(fields, 'remoteJid');
    const about = {
      waMessageId: keyField(fields, 'id'),
      jidHash: jid && jidHash(accountId, jid),
    };
    log.debug({ baileysMessage: text, error: errorMessage(fields), ...about }, 'Baileys error');
  };
  const silent = () => undefined;
  const logger: ILogger = {
    level: 'warn',
    child: () => logger,
    trace: silent,
    debug: silent,
    info: silent,
    warn: write,
    error: write,
  };
  return logger;
}

function errorMessage(fields: unknown): string | undefined {
  if (typeof fields !== 'object' || fields === null) return undefined;
  const { err, error } = fields as { err?: unknown; error?: unknown };
  const found = err ?? error;
  return found instanceof Error ? found.message : undefined;
}

/** A text in the message key of a line. */
function keyField(fields: unknown, name: 'id' | 'remoteJid'): string | undefined {
  const value = field(field(fields, 'key'), name);
  return typeof value === 'string' ? value : undefined;
}

/**
 * Delays each write to a socket until everything that was appended before it is durable: receipts, acks, retry requests
 * and replies. So no code path can acknowledge or send what is not stored. When the commit fails, or the account must
 * not be used any more, the socket is destroyed and no delayed write is sent. Workaround: refs/baileys-workarounds.md.
 * @param socket the one of the WebSocket's `upgrade` event; its `write` and `end` are replaced
 * @param mayUse called for each write, immediately before it
 */
export function gateWrites(socket: Socket, commits: GroupCommit, mayUse: () => boolean): void {
  const delayed: Array<{ unit: number; write: () => unknown }> = [];
  const release = () => {
    while (!socket.destroyed && delayed[0] && delayed[0].unit <= commits.durable) {
      if (mayUse()) delayed.shift()?.write();
      else socket.destroy();
    }
  };
  const gated = <A extends unknown[], R>(write: (...args: A) => R, whenDelayed: R) => {
    return (...args: A): R => {
      if (!mayUse()) socket.destroy();
      if (socket.destroyed) return write.apply(socket, args);
      if (delayed.length === 0 && commits.durable >= commits.appended) return write.apply(socket, args);
      delayed.push({ unit: commits.appended, write: () => write.apply(socket, args) });
      return whenDelayed;
    };
  };
  const { write, end } = socket;
  socket.write = gated(write as (...args: unknown[]) => boolean, true) as typeof socket.write;
  socket.end = gated(end as (...args: unknown[]) => Socket, socket) as typeof socket.end;
  const stop = commits.listen({ durable: release, failed: () => socket.destroy() });
  socket.once('close', () => {
    stop();
    // Their callbacks report that the socket is closed.
    for (const { write } of delayed.splice(0)) write();
  });
}

const METHODS = ['log', 'info', 'warn', 'error', 'debug', 'trace'] as const;
const FROM_LIBSIGNAL = /[\\/]libsignal[\\/]/;

/**
 * Suppresses libsignal's console output: it prints whole sessions, with private keys, each time that one opens, closes
 * or cannot decrypt. Only its calls, recognised by the stack, are suppressed and counted. Install before the first
 * socket; guards may be stacked and are removed in reverse order. Workaround: refs/baileys-workarounds.md.
 * @returns removes the guard
 */
export function guardConsole(log: Logger): () => void {
  const target = globalThis.console;
  const originals = METHODS.map((method) => [method, target[method]] as const);
  let suppressed = 0;
  for (const [method, original] of originals) {
    target[method] = (...args: unknown[]) => {
      if (FROM_LIBSIGNAL.test(new Error().stack ?? '')) {
        suppressed += 1;
        // Many undecryptable messages print thousands of lines.
        if (isLoggedOccurrence(suppressed)) log.debug({ suppressed }, 'libsignal console output suppressed');
        return;
      }
      original.apply(target, args);
    };
  }
  return () => {
    for (const [method, original] of originals) target[method] = original;
  };
}
