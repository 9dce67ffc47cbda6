import type { PossiblyExtendedCacheStore } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';

/** Peers choose parts of the keys. WhatsApp's own are shorter; a longer one counts as several entries. */
const KEY_CHARS = 200;

/** Makes a cache for Baileys with a maximum of entries and age; several sockets may use it one after the other. */
export function createBoundedCache(limits: { max: number; ttlMs: number }): PossiblyExtendedCacheStore {
  const entries = new LRUCache<string, { value: unknown }>({
    maxSize: limits.max,
    sizeCalculation: (_, key) => Math.ceil((key.length + 1) / KEY_CHARS),
    ttl: limits.ttlMs,
  });
  return {
    get: <T>(key: string) => entries.get(key)?.value as T | undefined,
    set: (key, value) => {
      entries.set(key, { value });
    },
    del: (key) => {
      entries.delete(key);
    },
    flushAll: () => entries.clear(),
  };
}

/** Limits an LRU cache to a number of entries. Its own `max` allocates memory for that number immediately. */
export function atMost(entries: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: entries, sizeCalculation: () => 1 };
}
