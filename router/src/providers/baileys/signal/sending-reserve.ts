import { createHmac } from 'node:crypto';
import { field } from '../field.ts';

/** libsignal's chain_type.js. */
const SENDING = 1;
/** The input of the HMAC that advances a chain (libsignal, session_cipher.js, `fillMessageKeys`). */
const ADVANCE = Buffer.from([2]);

/** A sending chain of a session, and the number of the last message key that was taken from it, from 0; -1: none. */
export interface SendingPosition {
  chain: string;
  counter: number;
}

interface SendingChain {
  id: string;
  baseKey: string;
  session: { _chains: Record<string, unknown> };
  counter: number;
  key: string;
}

/** Where the sending chain of a serialised libsignal record is; undefined when it has none or another shape. */
export function sendingPosition(record: unknown): SendingPosition | undefined {
  const found = sendingChainOf(record);
  return found && { chain: found.id, counter: found.counter };
}

/**
 * The record with its sending chain advanced by `count` messages, and the position of that chain. A process that encrypts with
 * this record cannot use a message key that an earlier process took from the given one within `count` messages; the recipient
 * skips the keys that nobody used, as it does for messages that do not arrive. Undefined when there is no sending chain.
 * Workaround: refs/baileys-workarounds.md.
 */
export function withReserve(
  record: unknown,
  count: number,
): { record: unknown; reserve: SendingPosition } | undefined {
  const found = sendingChainOf(record);
  if (!found) return undefined;
  const { id, baseKey, session, counter } = found;
  let key = Buffer.from(found.key, 'base64');
  for (let step = 0; step < count; step++) key = createHmac('sha256', key).update(ADVANCE).digest();
  const reserve = { chain: id, counter: counter + count };
  const chainKey = { counter: reserve.counter, key: key.toString('base64') };
  const chain = { ...(session._chains[id] as object), chainKey };
  const advanced = { ...session, _chains: { ...session._chains, [id]: chain } };
  const sessions = field(record, '_sessions') as object;
  return { record: { ...(record as object), _sessions: { ...sessions, [baseKey]: advanced } }, reserve };
}

function sendingChainOf(record: unknown): SendingChain | undefined {
  const sessions = field(record, '_sessions');
  if (typeof sessions !== 'object' || sessions === null) return undefined;
  for (const [baseKey, session] of Object.entries(sessions)) {
    // libsignal encrypts with the first session that is not closed.
    if (field(field(session, 'indexInfo'), 'closed') !== -1) continue;
    const id = field(field(field(session, 'currentRatchet'), 'ephemeralKeyPair'), 'pubKey');
    const chain = typeof id === 'string' ? field(field(session, '_chains'), id) : undefined;
    const counter = field(field(chain, 'chainKey'), 'counter');
    const key = field(field(chain, 'chainKey'), 'key');
    if (field(chain, 'chainType') !== SENDING || typeof counter !== 'number' || typeof key !== 'string') {
      return undefined;
    }
    return { id: id as string, baseKey, session: session as SendingChain['session'], counter, key };
  }
  return undefined;
}
