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
import type { AuthState } from '../signal/auth-state.ts';
import { createBaileysLogger } from './baileys-logger.ts';
import { createBoundedCache } from './bounded-cache.ts';

const MINUTE_MS = 60_000;

/** What outlives a socket: a reconnect must neither ask everything again nor start retry counts from zero. */
export interface SocketMemory {
  retryCounts: PossiblyExtendedCacheStore;
  devices: PossiblyExtendedCacheStore;
  groups: LRUCache<string, GroupMetadata>;
  /** Numbers that WhatsApp has no LID for. */
  withoutLid: { has(phoneJid: string): boolean; add(phoneJid: string): void };
}

export function createSocketMemory(): SocketMemory {
  const withoutLid = new LRUCache<string, true>({ max: 20_000, ttl: 15 * MINUTE_MS });
  return {
    retryCounts: createBoundedCache({ max: 10_000, ttlMs: 60 * MINUTE_MS }),
    devices: createBoundedCache({ max: 20_000, ttlMs: 5 * MINUTE_MS }),
    groups: new LRUCache({ max: 500, ttl: 5 * MINUTE_MS }),
    withoutLid: {
      has: (phoneJid) => withoutLid.has(phoneJid),
      add: (phoneJid) => {
        withoutLid.set(phoneJid, true);
      },
    },
  };
}

export interface SocketConfigInput {
  auth: AuthState;
  memory: SocketMemory;
  log: Logger;
  whatsappWsUrl?: string;
  version?: readonly [number, number, number];
  getMessage: SocketConfig['getMessage'];
  groupMetadata: SocketConfig['cachedGroupMetadata'];
  makeSignalRepository: SocketConfig['makeSignalRepository'];
}

/**
 * Baileys' settings. It talks to the WebSocket alone: no version is looked up, no link previewed. History is not wanted,
 * so messages that waited at WhatsApp need not wait for it too. Own sends come back as no event: their acks are read
 * off the socket. The chat's other intake does not stand still while a retry is asked for.
 */
export function socketConfig(input: SocketConfigInput): UserFacingSocketConfig {
  return {
    ...(input.whatsappWsUrl !== undefined && { waWebSocketUrl: input.whatsappWsUrl }),
    version: [...(input.version ?? DEFAULT_CONNECTION_CONFIG.version)],
    browser: Browsers.macOS('Chrome'),
    auth: { creds: input.auth.creds, keys: input.auth.keys },
    logger: createBaileysLogger(input.log),
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
