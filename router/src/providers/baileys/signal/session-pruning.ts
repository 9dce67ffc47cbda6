import { field } from '../field.ts';

/** libsignal's chain_type.js. */
const RECEIVING = 2;
/** Maximum of closed chains with keys of messages that did not arrive; the newest are kept. */
const MAX_CLOSED_CHAINS = 40;

interface StoredChain {
  chainType?: number;
  chainKey?: { key?: unknown };
  messageKeys?: Record<string, unknown>;
}

/**
 * Removes receiving chains that can decrypt nothing more (no chain key, no message keys) from a serialised libsignal
 * session, in place. libsignal does not remove them: each change of direction leaves about 100 bytes, and every message
 * copies all of them. A value of another shape is not changed. Workaround:
 * refs/baileys-workarounds.md.
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
  const withMessageKeys: string[] = [];
  for (const [id, chain] of Object.entries(chains)) {
    if (chain.chainType !== RECEIVING || chain.chainKey?.key !== undefined) continue;
    if (Object.keys(chain.messageKeys ?? {}).length === 0) delete chains[id];
    else withMessageKeys.push(id);
  }
  for (const id of withMessageKeys.slice(0, Math.max(0, withMessageKeys.length - MAX_CLOSED_CHAINS)))
    delete chains[id];
}
