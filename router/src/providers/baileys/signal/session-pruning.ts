import { field } from '../field.ts';

/** libsignal's chain_type.js. */
const RECEIVING = 2;
/** Closed chains that still have keys of messages that never came; the newest are kept. */
const MAX_CLOSED_CHAINS = 40;

interface StoredChain {
  chainType?: number;
  chainKey?: { key?: unknown };
  messageKeys?: Record<string, unknown>;
}

/**
 * Removes receiving chains that can decrypt nothing more (no chain key, no message keys) from a serialised libsignal
 * session, in place. libsignal never does: about 100 bytes for each change of direction remain, and every message copies
 * them all. A value of another form is not changed.
 */
export function pruneSession(session: unknown): void {
  const entries = field(session, '_sessions');
  if (typeof entries !== 'object' || entries === null) return;
  for (const entry of Object.values(entries)) {
    const chains = field(entry, '_chains');
    if (typeof chains === 'object' && chains !== null) pruneChains(chains as Record<string, StoredChain>);
  }
}

function pruneChains(chains: Record<string, StoredChain>): void {
  const leftOpen: string[] = [];
  for (const [id, chain] of Object.entries(chains)) {
    if (chain.chainType !== RECEIVING || chain.chainKey?.key !== undefined) continue;
    if (Object.keys(chain.messageKeys ?? {}).length === 0) delete chains[id];
    else leftOpen.push(id);
  }
  for (const id of leftOpen.slice(0, Math.max(0, leftOpen.length - MAX_CLOSED_CHAINS))) delete chains[id];
}
