import {
  BufferJSON,
  DEFAULT_CONNECTION_CONFIG,
  isJidGroup,
  isLidUser,
  isPnUser,
  jidDecode,
  type LIDMapping,
  type SignalAuthState,
  type SignalDataTypeMap,
  type SignalKeyStore,
  type SignalKeyStoreWithTransaction,
  type SignalRepositoryWithLIDStore,
  type SocketConfig,
} from '@whiskeysockets/baileys';
import { field } from '../messages/proto-values.ts';
import { type AccountKeys, KeyTransaction } from './account-keys.ts';

type MakeRepository = SocketConfig['makeSignalRepository'];

/** The addresses of a stanza; JIDs. */
interface StanzaAddresses {
  /** Its `from`. */
  chatJid: string | undefined;
  /** The device that made the ciphertexts. */
  author: string;
  /** The number and the LID of the author, if the stanza names both. */
  pair: LIDMapping | undefined;
  /** The same of the chat partner, in a message that the account wrote. */
  recipientPair: LIDMapping | undefined;
}

/** What became of a pair of number and LID. */
interface LearnedPair {
  /** The base keys of the moved sessions that messages were encrypted with. */
  moved: string[];
  /** Neither address belonged to another pair. */
  isNew: boolean;
}

/** Signal for the decryption of one stanza, inside a step. */
interface StanzaDecryptor {
  /** For Baileys' `decryptMessageNode`; a part that fails leaves nothing in the unit. */
  repository: SignalRepositoryWithLIDStore;
  /** The plaintexts of the decrypted parts, in their order. */
  plaintexts: Uint8Array[];
  /** The author has another identity key than before: a new phone, a new installation, or another author. */
  isIdentityNew: boolean;
  /** Removes everything that the stanza changed, its pair included. Call it when no part of it was decrypted. */
  discard(): void;
}

/** Signal of one socket. */
export interface AccountSignal {
  /** For Baileys: every change is a step, and WhatsApp is queried for LIDs outside of steps. */
  repository: SignalRepositoryWithLIDStore;
  /**
   * For the step that has this unit. Learns the stanza's pair: a message may be encrypted with the session of either
   * address. The move and the decryption are one unit.
   */
  decryptor(unit: KeyTransaction, stanza: StanzaAddresses): Promise<StanzaDecryptor>;
  /**
   * Stores that a number and a LID are one person, and moves the number's sessions to the LID. Former
   * pairs of either are removed. Call it in a step.
   */
  learn(pair: LIDMapping): Promise<LearnedPair>;
}

const NOTHING_LEARNED: LearnedPair = { moved: [], isNew: false };

/**
 * Makes Signal over the account's steps; it replaces the repository of Baileys (`makeSignalRepository`). Workaround:
 * refs/baileys-workarounds.md.
 */
export function createAccountSignal(
  steps: SignalSteps,
  creds: SignalAuthState['creds'],
  logger: Parameters<MakeRepository>[1],
  queryWhatsApp: Parameters<MakeRepository>[2],
  withoutLid: NumbersWithoutLid,
): AccountSignal {
  const { keys } = steps;
  // It must not query WhatsApp: no step waits for the network.
  const inner = DEFAULT_CONNECTION_CONFIG.makeSignalRepository({ creds, keys }, logger, undefined);

  const learn = async ({ pn, lid }: LIDMapping): Promise<LearnedPair> => {
    const phone = jidDecode(pn);
    const user = jidDecode(lid)?.user;
    if (!phone || !user || !isPnUser(pn) || !isLidUser(lid)) return NOTHING_LEARNED;
    const number = phone.user;
    const known = await keys.get('lid-mapping', [number, `${user}_reverse`]);
    const [oldLid, oldNumber] = [known[number], known[`${user}_reverse`]];
    const isKnown = oldLid === user && oldNumber === number;
    const device = String(phone.device ?? jidDecode(lid)?.device ?? 0);
    const devices = new Set([device]);
    if (!isKnown) {
      const oldKeys = [...(oldLid ? [`${oldLid}_reverse`] : []), ...(oldNumber ? [oldNumber] : [])];
      const old = await keys.get('lid-mapping', oldKeys);
      await keys.set({
        'lid-mapping': {
          ...(oldLid && old[`${oldLid}_reverse`] === number && { [`${oldLid}_reverse`]: null }),
          ...(oldNumber && old[oldNumber] === user && { [oldNumber]: null }),
          [number]: user,
          [`${user}_reverse`]: number,
        },
      });
      // Baileys caches pairs, also those that are removed here.
      inner.lidMapping.close();
      const { [number]: listed } = await keys.get('device-list', [number]);
      for (const other of ['0', ...(listed ?? [])]) devices.add(other);
    }
    const isNew = (oldLid ?? user) === user && (oldNumber ?? number) === number;
    const moved: string[] = [];
    for (const each of devices) {
      const session = await moveSessions(keys, `${number}.${each}`, `${user}_1.${each}`, isNew);
      if (session) moved.push(session);
    }
    return { moved, isNew };
  };

  const storedPair = async (jid: string): Promise<LIDMapping | undefined> => {
    if (isPnUser(jid)) {
      const lid = await inner.lidMapping.getLIDForPN(jid);
      return lid ? { pn: jid, lid } : undefined;
    }
    const pn = await inner.lidMapping.getPNForLID(jid);
    return pn ? { pn, lid: jid } : undefined;
  };

  const repository: SignalRepositoryWithLIDStore = {
    ...inner,
    lidMapping: lidMappingsOver(inner.lidMapping, { steps, learn, queryWhatsApp, withoutLid }),
    decryptMessage: (options) => steps.step(() => inner.decryptMessage(options)),
    decryptGroupMessage: (options) => steps.step(() => inner.decryptGroupMessage(options)),
    encryptMessage: (options) =>
      steps.step((unit) => {
        unit.isEncryption = true;
        return inner.encryptMessage(options);
      }),
    encryptGroupMessage: (options) => steps.step(() => inner.encryptGroupMessage(options)),
    // From stanzas that Baileys decrypts: status updates and broadcast lists. Keys of groups come in the stanzas of groups.
    processSenderKeyDistributionMessage: async (options) => {
      if (!options.item.groupId?.endsWith('@broadcast')) return;
      await steps.step(() => inner.processSenderKeyDistributionMessage(options));
    },
    getSenderKeyDistributionMessage: (options) =>
      steps.step(() => inner.getSenderKeyDistributionMessage(options)),
    injectE2ESession: (options) => steps.step(() => inner.injectE2ESession(options)),
    deleteSession: (jids) => steps.step(() => inner.deleteSession(jids)),
    // That of Baileys replaces the sessions of the LID.
    migrateSession: async (from, to) => {
      const { moved } = await steps.step(() => learn({ pn: from, lid: to }));
      return { migrated: moved.length, skipped: 0, total: moved.length };
    },
    validateSession: (jid) => steps.step(() => inner.validateSession(jid)),
    getSessionInfo: (jid) => steps.step(() => inner.getSessionInfo(jid)),
    hasSenderKey: (options) => steps.step(() => inner.hasSenderKey(options)),
  };

  const decryptor = async (
    unit: KeyTransaction,
    { chatJid, author, pair: named, recipientPair }: StanzaAddresses,
  ): Promise<StanzaDecryptor> => {
    unit.isStanza = true;
    const before = unit.savepoint();
    // A step that was void may have filled the cache.
    inner.lidMapping.close();
    if (recipientPair) await learn(recipientPair);
    const pair = named ?? (await storedPair(author));
    const { moved, isNew } = pair ? await learn(pair) : NOTHING_LEARNED;
    const plaintexts: Uint8Array[] = [];
    const part = async (decrypt: () => Promise<Uint8Array>): Promise<Uint8Array> => {
      const savepoint = unit.savepoint();
      try {
        const plaintext = await decrypt();
        plaintexts.push(plaintext);
        return plaintext;
      } catch (error) {
        unit.rollbackTo(savepoint);
        throw error;
      }
    };
    const decryptor: StanzaDecryptor = {
      plaintexts,
      isIdentityNew: false,
      discard: () => {
        unit.rollbackTo(before);
        inner.lidMapping.close();
      },
      repository: {
        ...inner,
        // The author chooses the group's name in the message; the stanza's group is the true one.
        processSenderKeyDistributionMessage: async ({ item, authorJid }) => {
          if (!chatJid || !isJidGroup(chatJid)) return;
          await inner.processSenderKeyDistributionMessage({ item: { ...item, groupId: chatJid }, authorJid });
          const lid = isPnUser(authorJid) && (await inner.lidMapping.getLIDForPN(authorJid));
          if (!lid) return;
          const [number, sessions] = [authorJid, lid].map((jid) => inner.jidToSignalProtocolAddress(jid));
          if (number && sessions) await copyIdentity(keys, sessions, number);
        },
        decryptGroupMessage: (options) =>
          part(async () => {
            const other = otherAddress();
            const address = inner.jidToSignalProtocolAddress(author);
            if (other) await moveSenderKeys(keys, options.group, other, address, isNew);
            return inner.decryptGroupMessage(options);
          }),
        decryptMessage: (options) =>
          part(async () => {
            const decrypt = () => inner.decryptMessage(options);
            const address = inner.jidToSignalProtocolAddress(options.jid);
            if (options.type === 'pkmsg') {
              return noteIdentity(address, () => decryptFirstMessage(keys, address, decrypt, moved));
            }
            return trySignalSessions(keys, address, decrypt, moved);
          }),
      },
    };
    /** The author's device under the other address of the pair. */
    const otherAddress = (): string | undefined => {
      const jid = pair && (isLidUser(author) ? pair.pn : pair.lid);
      const user = jid && jidDecode(jid)?.user;
      const device = jidDecode(author)?.device ?? 0;
      return user && `${user}${isLidUser(author) ? '' : '_1'}.${device}`;
    };
    const noteIdentity = async <T>(address: string, decrypt: () => Promise<T>): Promise<T> => {
      const { [address]: before } = await keys.get('identity-key', [address]);
      const plaintext = await decrypt();
      const { [address]: after } = await keys.get('identity-key', [address]);
      if (before && after && Buffer.compare(before, after) !== 0) decryptor.isIdentityNew = true;
      return plaintext;
    };
    return decryptor;
  };

  return { repository, decryptor, learn };
}

type StoredRecord = SignalDataTypeMap['session'] & { _sessions?: Record<string, StoredSession> };

/**
 * Decrypts a message with one stored session of an address after the other, the most recently used first. During an
 * attempt the record contains that session only.
 *
 * libsignal attempts them in this order too, but stores the changes of failed attempts: an attempt advances the ratchet
 * of a session that the message does not belong to, and that session can decrypt nothing afterwards.
 * Run in a Signal step: a failure leaves the record unchanged. Workaround: refs/baileys-workarounds.md.
 * @param decrypt decrypts with the stored record of the address, and stores the advanced ratchet in it
 * @param moved base keys of sessions that come from the other address of the person. The device has moved there too and may
 *   have no other session, so the one that decrypts is used for the next messages to it.
 * @throws the error of the most recently used session
 */
export async function trySignalSessions(
  keys: Pick<SignalKeyStore, 'get' | 'set'>,
  address: string,
  decrypt: () => Promise<Uint8Array>,
  moved: readonly string[] = [],
): Promise<Uint8Array> {
  const read = async (): Promise<StoredRecord | undefined> => (await keys.get('session', [address]))[address];
  const write = (record: StoredRecord) => keys.set({ session: { [address]: record } });
  const record = await read();
  const sessions = Object.entries(record?._sessions ?? {});
  if (!record || sessions.length < 2) return decrypt();

  const byUse = sessions.toSorted(([, a], [, b]) => (b.indexInfo?.used ?? 0) - (a.indexInfo?.used ?? 0));
  let firstError: unknown;
  for (const [name, session] of byUse) {
    await write(structuredClone({ ...record, _sessions: { [name]: session } }));
    try {
      const plaintext = await decrypt();
      const advanced = (await read())?._sessions?.[name] ?? session;
      const merged = Object.fromEntries(
        sessions.map(([other, value]) => [other, other === name ? advanced : value]),
      );
      const _sessions = moved.includes(name) ? withOpenSession(merged, name) : merged;
      await write({ ...record, _sessions });
      return plaintext;
    } catch (error) {
      firstError ??= error;
    }
  }
  await write(record);
  throw firstError;
}

/**
 * Decrypts a first message (`pkmsg`), which names its session. libsignal opens a session that is new. One that it knows already, because
 * the sender has had no answer yet, is opened here when it comes from the other address of the person: Signal makes the
 * session of the last message that was decrypted the current one. Run in a Signal step. Workaround: refs/baileys-workarounds.md.
 * @param moved as in `trySignalSessions`
 * @throws the error of `decrypt`
 */
async function decryptFirstMessage(
  keys: Pick<SignalKeyStore, 'get' | 'set'>,
  address: string,
  decrypt: () => Promise<Uint8Array>,
  moved: readonly string[],
): Promise<Uint8Array> {
  if (moved.length === 0) return decrypt();
  const read = async (): Promise<StoredRecord | undefined> => (await keys.get('session', [address]))[address];
  const write = (record: StoredRecord) => keys.set({ session: { [address]: record } });
  // Without `indexInfo`, which changes when another session is opened.
  const ratchetOf = (record: StoredRecord | undefined, name: string) => {
    const { indexInfo: _, ...ratchet } = record?._sessions?.[name] ?? {};
    return JSON.stringify(ratchet);
  };
  const before = await read();
  const ratchets = new Map(moved.map((name) => [name, ratchetOf(before, name)]));
  const plaintext = await decrypt();
  const record = await read();
  const name = moved.find((each) => ratchetOf(record, each) !== ratchets.get(each));
  if (record?._sessions && name !== undefined) {
    await write({ ...record, _sessions: withOpenSession(record._sessions, name) });
  }
  return plaintext;
}

type MappingStore = SignalRepositoryWithLIDStore['lidMapping'];

/** Numbers without a LID at WhatsApp, cached so that not every message queries WhatsApp. */
interface NumbersWithoutLid {
  has(phoneJid: string): boolean;
  add(phoneJid: string): void;
}

interface LidMappingsOptions {
  steps: SignalSteps;
  /** Stores that a number and a LID are one person; called in a step. */
  learn(pair: LIDMapping): Promise<unknown>;
  queryWhatsApp: ((phoneJids: string[]) => Promise<LIDMapping[] | undefined>) | undefined;
  withoutLid: NumbersWithoutLid;
}

/**
 * The pairs of number and LID that are one person, for Baileys outside of Signal steps. Each call that learns pairs is
 * a separate step; WhatsApp is queried for unknown numbers outside of steps.
 * @param stored Baileys' store, which does not query WhatsApp; it has the methods that only read
 */
export function lidMappingsOver(stored: MappingStore, options: LidMappingsOptions): MappingStore {
  const { steps, learn, queryWhatsApp, withoutLid } = options;

  const storeLIDPNMappings = async (pairs: LIDMapping[]): Promise<void> => {
    if (pairs.length === 0) return;
    await steps.step(async () => {
      for (const pair of pairs) await learn(pair);
    });
  };

  /** @returns whether anything was learned */
  const queryFor = async (phoneJids: readonly string[]): Promise<boolean> => {
    const users = new Set(phoneJids.map((jid) => jidDecode(jid)?.user).filter((user) => user !== undefined));
    const jids = [...users].map((user) => `${user}@s.whatsapp.net`).filter((jid) => !withoutLid.has(jid));
    if (!queryWhatsApp || jids.length === 0) return false;
    let found: LIDMapping[];
    try {
      found = (await queryWhatsApp(jids)) ?? [];
    } catch {
      // Baileys would treat the error as a missing session.
      return false;
    }
    const answered = new Set(found.map((mapping) => jidDecode(mapping.pn)?.user));
    for (const jid of jids) if (!answered.has(jidDecode(jid)?.user)) withoutLid.add(jid);
    await storeLIDPNMappings(found);
    return found.length > 0;
  };

  const getLIDsForPNs = async (phoneJids: string[]): Promise<LIDMapping[] | null> => {
    const known = (await stored.getLIDsForPNs(phoneJids)) ?? [];
    const unknown = phoneJids.filter((jid) => !known.some((mapping) => mapping.pn === jid));
    const found = (await queryFor(unknown)) ? ((await stored.getLIDsForPNs(unknown)) ?? []) : [];
    const all = [...known, ...found];
    return all.length > 0 ? all : null;
  };

  const getLIDForPN = async (phoneJid: string) => (await getLIDsForPNs([phoneJid]))?.[0]?.lid ?? null;

  return Object.assign(Object.create(stored), { storeLIDPNMappings, getLIDsForPNs, getLIDForPN });
}

/**
 * Runs the Signal work of one account, one step at a time: encryption, decryption, sender keys, session migration. No
 * step can overwrite the changes of another. The writes of a step are one unit, appended to the group commit when it
 * succeeds.
 */
export class SignalSteps {
  readonly #keys: AccountKeys;
  #current: KeyTransaction | undefined;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(keys: AccountKeys) {
    this.#keys = keys;
  }

  /**
   * The keys for libsignal, inside steps: reads see the writes of the step, writes go to its unit. The step is the
   * transaction, so Baileys' own transactions need no lock and no context.
   */
  readonly keys: SignalKeyStoreWithTransaction = {
    get: async (category, keyIds) => {
      const unit = this.#current;
      if (!unit) return this.#keys.get(category, keyIds);
      const written: Awaited<ReturnType<typeof this.keys.get<typeof category>>> = {};
      const others = keyIds.filter((keyId) => {
        const write = unit.get(category, keyId);
        if (write?.value !== undefined) written[keyId] = write.value as (typeof written)[string];
        return !write;
      });
      if (others.length === 0) return written;
      try {
        return { ...(await this.#keys.get(category, others)), ...written };
      } catch (error) {
        unit.storageError = error;
        throw error;
      }
    },
    set: async (data) => {
      if (!this.#current) throw new Error('Signal keys were written outside a step');
      this.#current.set(data);
    },
    clear: async () => {
      throw new Error('Signal keys are never cleared');
    },
    isInTransaction: () => this.#current !== undefined,
    transaction: (work) => work(),
  };

  /**
   * Runs `work` alone, after all earlier steps. Do not call it inside a step: it would wait for itself.
   * @returns the result, and the number of the step's unit; 0 when it has nothing to store
   * @throws {StorageUnavailableError} a key could not be read, even if `work` catches that, or the unit cannot be stored
   */
  run<T>(work: (unit: KeyTransaction) => Promise<T>): Promise<{ result: T; unit: number }> {
    return this.#alone(async () => {
      const unit = new KeyTransaction();
      this.#current = unit;
      try {
        const result = await work(unit);
        if (unit.storageError) throw unit.storageError;
        return { result, unit: unit.isEmpty ? 0 : this.#keys.append(unit) };
      } finally {
        this.#current = undefined;
      }
    });
  }

  /** As `run`, without the number of the unit. */
  async step<T>(work: (unit: KeyTransaction) => Promise<T>): Promise<T> {
    return (await this.run(work)).result;
  }

  /** Resolves when every earlier step has ended. */
  async settled(): Promise<void> {
    await this.#tail;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => undefined);
    return done;
  }
}

/** The keys of a Signal step. */
type Keys = Pick<SignalKeyStore, 'get' | 'set'>;
type SessionRecord = SignalDataTypeMap['session'] & { _sessions?: Record<string, StoredSession> };

/** A session in a serialised libsignal record, by its base key. */
interface StoredSession {
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
async function moveSessions(
  keys: Keys,
  from: string,
  to: string,
  isNewAddress: boolean,
): Promise<string | undefined> {
  const { [from]: source } = await recordsOf(keys, [from]);
  if (!source?._sessions) return undefined;
  const records = { [from]: source, ...(await recordsOf(keys, [to])) };
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
async function moveSenderKeys(
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
async function copyIdentity(keys: Keys, from: string, to: string): Promise<void> {
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
function withOpenSession(
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
