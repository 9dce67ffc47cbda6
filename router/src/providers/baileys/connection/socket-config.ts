import {
  Browsers,
  DEFAULT_CONNECTION_CONFIG,
  type GroupMetadata,
  type PossiblyExtendedCacheStore,
  type SocketConfig,
  type UserFacingSocketConfig,
} from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import type { Logger } from '../../../core/ports/logger.ts';
import { atMost, createBoundedCache } from '../bounded-cache.ts';
import type { AuthState } from '../signal/auth-state.ts';
import type { AccountProxy } from './account-proxy.ts';
import { createBaileysLogger } from './baileys-logger.ts';

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

export interface SocketConfigInput {
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
