import { BufferJSON, type SignalDataTypeMap, type SignalKeyStore } from '@whiskeysockets/baileys';
import { field } from '../messages/proto-values.ts';

/** The keys of a Signal step. */
type Keys = Pick<SignalKeyStore, 'get' | 'set'>;
type SessionRecord = SignalDataTypeMap['session'] & { _sessions?: Record<string, StoredSession> };

/** A session in a serialised libsignal record, by its base key. */
export interface StoredSession {
  indexInfo?: { used?: number; closed?: number; remoteIdentityKey?: string };
  /** The peer has not answered in this session: its identity key is what WhatsApp's server said. */
  pendingPreKey?: unknown;
}

/** Sender keys of one member in one group, as Baileys stores them; the newest is last. */
interface SenderKeyState {
  senderKeyId: number;
  senderChainKey: { iteration: number };
  senderSigningKey: { public?: unknown };
}

/** As Baileys' SenderKeyRecord. */
const MAX_SENDER_KEYS = 5;
const OPEN = -1;

/**
 * Moves the sessions of one Signal address to another address of the same device: number and LID of one person. Run in a
 * Signal step, so that the sessions are never stored under both.
 *
 * That both addresses are one person is the word of WhatsApp's server. A session therefore moves only to an address whose
 * device proved the same identity key, or to an address without sessions. Otherwise a wrong pair would make the messages
 * of one person messages of another. Sessions that do not qualify stay, and their messages are requested again.
 * Workaround: refs/baileys-workarounds.md.
 * @param isNewAddress false: the other address belongs to another pair, so it receives only what its identity key proves
 * @returns the base key of the moved session that messages were encrypted with; undefined when there was none
 */
export async function moveSessions(
  keys: Keys,
  from: string,
  to: string,
  isNewAddress: boolean,
): Promise<string | undefined> {
  const records = await recordsOf(keys, [from, to]);
  const source = records[from];
  if (!source?._sessions) return undefined;
  const identities = await identitiesOf(keys, records, [from, to]);
  const all = Object.entries(source._sessions);
  const moved = all.filter(([, session]) => mayMove(session, identities[to], isNewAddress));
  if (moved.length === 0) return undefined;
  const kept = Object.entries(records[to]?._sessions ?? {});
  const hasOpen = kept.some(([, session]) => isOpen(session));
  const merged = [...moved.map(([key, session]) => [key, hasOpen ? closed(session) : session]), ...kept];
  const stay = all.filter((entry) => !moved.includes(entry));
  const remaining: SessionRecord = { ...source, _sessions: Object.fromEntries(stay) };
  const joined: SessionRecord = { ...source, ...records[to], _sessions: Object.fromEntries(merged) };
  await keys.set({ session: { [to]: joined, [from]: stay.length > 0 ? remaining : null } });
  const identity = identities[from]?.stored ?? identityOf(moved);
  if (identity) {
    // The number keeps its copy: it proves whose sender keys are stored under it.
    const missing = [from, to].filter((address) => !identities[address]?.stored);
    await keys.set({ 'identity-key': Object.fromEntries(missing.map((address) => [address, identity])) });
  }
  return moved.find(([, session]) => isOpen(session))?.[0];
}

/**
 * Moves the sender keys that a member's device has in a group under one address to another one: when the device proved
 * the same identity key under both, or nothing is known of the other (as `moveSessions`). Run in a Signal step. Of two states of one key, the one that is further remains: the
 * other could decrypt messages a second time.
 */
export async function moveSenderKeys(
  keys: Keys,
  group: string,
  from: string,
  to: string,
  isNewAddress: boolean,
): Promise<void> {
  const [source, target] = [senderKeyName(group, from), senderKeyName(group, to)];
  const found = await keys.get('sender-key', [source, target]);
  const moving = senderKeysOf(found[source]);
  const kept = found[target] ? senderKeysOf(found[target]) : [];
  if (!moving || !kept) return;
  const identities = await identitiesOf(keys, await recordsOf(keys, [from, to]), [from, to]);
  const isUnknown = !identities[to] || identities[to].proven.size + identities[to].claimed.size === 0;
  if (isUnknown ? !isNewAddress : !isSameDevice(identities[from], identities[to])) return;
  const merged = new Map(moving.map((state) => [state.senderKeyId, state]));
  for (const state of kept) {
    const other = merged.get(state.senderKeyId);
    merged.delete(state.senderKeyId);
    merged.set(state.senderKeyId, other && isFurther(other, state) ? other : state);
  }
  const text = JSON.stringify([...merged.values()].slice(-MAX_SENDER_KEYS));
  await keys.set({ 'sender-key': { [target]: Buffer.from(text), [source]: null } });
  // Whose keys these are, for the way back.
  if (isUnknown) await copyIdentity(keys, from, to);
}

/**
 * Stores the identity key of an address under the other one too: a sender key that came from a number is stored under the
 * number, while the sessions of its device are those of the LID. Run in a Signal step.
 */
export async function copyIdentity(keys: Keys, from: string, to: string): Promise<void> {
  const { [from]: stored } = await keys.get('identity-key', [from]);
  const { [from]: record } = await recordsOf(keys, [from]);
  const identity = stored ?? identityOf(Object.entries(record?._sessions ?? {}));
  if (identity) await keys.set({ 'identity-key': { [to]: identity } });
}

/** The name of a member's sender keys; the member is given as a Signal address. */
export function senderKeyName(group: string, address: string): string {
  const dot = address.lastIndexOf('.');
  return `${group}::${address.slice(0, dot)}::${address.slice(dot + 1)}`;
}

/** The identity keys of a device, in base64. */
interface Identities {
  stored: Uint8Array | undefined;
  /** Of decrypted messages. */
  proven: Set<string>;
  /** Of sessions that the peer has not answered. */
  claimed: Set<string>;
}

async function identitiesOf(
  keys: Keys,
  records: Record<string, SessionRecord>,
  addresses: string[],
): Promise<Record<string, Identities>> {
  const stored = await keys.get('identity-key', addresses);
  return Object.fromEntries(
    addresses.map((address) => {
      const key = stored[address];
      const proven = new Set(key ? [Buffer.from(key).toString('base64')] : []);
      const claimed = new Set<string>();
      for (const session of Object.values(records[address]?._sessions ?? {})) {
        const identity = session.indexInfo?.remoteIdentityKey;
        if (identity) (isProven(session) ? proven : claimed).add(identity);
      }
      return [address, { stored: key, proven, claimed }];
    }),
  );
}

/** The identity key that a device proved in one of its sessions. */
function identityOf(sessions: ReadonlyArray<[string, StoredSession]>): Uint8Array | undefined {
  const proven = sessions.find(([, session]) => isProven(session))?.[1].indexInfo?.remoteIdentityKey;
  return proven === undefined ? undefined : Buffer.from(proven, 'base64');
}

function isProven(session: StoredSession): boolean {
  return session.pendingPreKey === undefined;
}

function mayMove(session: StoredSession, at: Identities | undefined, isNewAddress: boolean): boolean {
  const identity = session.indexInfo?.remoteIdentityKey;
  if (!at || identity === undefined) return false;
  if (at.proven.size > 0) return at.proven.has(identity);
  return isNewAddress && (at.claimed.size === 0 || at.claimed.has(identity));
}

function isSameDevice(one: Identities | undefined, other: Identities | undefined): boolean {
  return [...(one?.proven ?? [])].some((identity) => other?.proven.has(identity));
}

/** libsignal encrypts with the open session of a record; closed ones decrypt what is in transit. */
function isOpen({ indexInfo }: StoredSession): boolean {
  return indexInfo?.closed === OPEN;
}

function closed(session: StoredSession): StoredSession {
  if (!isOpen(session)) return session;
  return { ...session, indexInfo: { ...session.indexInfo, closed: session.indexInfo?.used ?? 0 } };
}

/** The sessions of a record with this one open, and no other. */
export function withOpenSession(
  sessions: Readonly<Record<string, StoredSession>>,
  baseKey: string,
): Record<string, StoredSession> {
  return Object.fromEntries(
    Object.entries(sessions).map(([key, session]) => [
      key,
      key === baseKey ? { ...session, indexInfo: { ...session.indexInfo, closed: OPEN } } : closed(session),
    ]),
  );
}

async function recordsOf(keys: Keys, addresses: string[]): Promise<Record<string, SessionRecord>> {
  return keys.get('session', addresses);
}

function isFurther(one: SenderKeyState, other: SenderKeyState): boolean {
  const isSameKey =
    JSON.stringify(one.senderSigningKey.public) === JSON.stringify(other.senderSigningKey.public);
  return isSameKey && one.senderChainKey.iteration > other.senderChainKey.iteration;
}

/** Undefined for bytes that are no sender keys. */
function senderKeysOf(bytes: Uint8Array | undefined): SenderKeyState[] | undefined {
  if (!bytes) return undefined;
  try {
    const states: unknown = JSON.parse(Buffer.from(bytes).toString(), BufferJSON.reviver);
    return Array.isArray(states) && states.every(isSenderKeyState) ? states : undefined;
  } catch {
    return undefined;
  }
}

function isSenderKeyState(state: unknown): state is SenderKeyState {
  return (
    typeof field(state, 'senderKeyId') === 'number' &&
    typeof field(field(state, 'senderChainKey'), 'iteration') === 'number' &&
    typeof field(state, 'senderSigningKey') === 'object'
  );
}
