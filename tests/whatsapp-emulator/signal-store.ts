import { SessionRecord, type SignalStorage } from 'libsignal';
import type { SignalIdentity } from './signal-identity.ts';

interface StoredChain {
  chainKey: { counter: number; key?: string };
  chainType: number;
  messageKeys: Record<string, string>;
}

interface StoredSession {
  indexInfo: { closed: number; used: number };
  _chains: Record<string, StoredChain>;
}

/** The form of a session in libsignal's store; `closed` is -1 while the session is in use. */
interface StoredRecord {
  _sessions: Record<string, StoredSession>;
  version: string;
}

const RECEIVING = 2;

/**
 * The sessions of one virtual device, in memory, in the form of libsignal. Each session is kept serialised,
 * so that a failed decryption, which changes the loaded copy, has no effect.
 */
export class SignalStore implements SignalStorage {
  readonly #identity: SignalIdentity;
  readonly #records = new Map<string, StoredRecord>();

  constructor(identity: SignalIdentity) {
    this.#identity = identity;
  }

  async loadSession(address: string): Promise<SessionRecord | null> {
    const stored = this.#records.get(address);
    // libsignal's types call the serialised form bytes; it is the object that serialize() returned
    return stored ? SessionRecord.deserialize(stored as unknown as Uint8Array) : null;
  }

  async storeSession(address: string, record: SessionRecord): Promise<void> {
    const stored = record.serialize() as unknown as StoredRecord;
    dropFinishedChains(stored);
    this.#records.set(address, stored);
  }

  /** Closes all sessions with that device; they still decrypt messages in transit. */
  closeSessions(address: string): void {
    const stored = this.#records.get(address);
    if (!stored) return;
    const copy = structuredClone(stored);
    for (const session of Object.values(copy._sessions)) {
      if (session.indexInfo.closed === -1) session.indexInfo.closed = Date.now();
    }
    this.#records.set(address, copy);
  }

  /** The state for `restore` after a failure. */
  snapshot(address: string): unknown {
    return this.#records.get(address);
  }

  restore(address: string, snapshot: unknown): void {
    if (snapshot === undefined) this.#records.delete(address);
    else this.#records.set(address, snapshot as StoredRecord);
  }

  /** Whether a session that can encrypt exists. */
  hasOpenSession(address: string): boolean {
    const sessions = Object.values(this.#records.get(address)?._sessions ?? {});
    return sessions.some((session) => session.indexInfo.closed === -1);
  }

  /** Whether the other device opened a session with this base key (base64) before. */
  knowsBaseKey(address: string, baseKey: string): boolean {
    return this.#records.get(address)?._sessions[baseKey] !== undefined;
  }

  /**
   * The keys of the sessions to try for a message with this ratchet key (base64), most likely first: the one that
   * has a chain for it, else all, the most recently used first.
   */
  sessionsFor(address: string, ratchetKey: string): string[] {
    const sessions = Object.entries(this.#records.get(address)?._sessions ?? {});
    const owner = sessions.find(([, session]) => session._chains[ratchetKey]);
    if (owner) return [owner[0]];
    return sessions.sort(([, a], [, b]) => b.indexInfo.used - a.indexInfo.used).map(([key]) => key);
  }

  /** Keeps only one session. @returns the full record, for `merge` or `restore` */
  isolate(address: string, sessionKey: string): unknown {
    const full = this.#records.get(address);
    const session = full?._sessions[sessionKey];
    if (full && session) {
      this.#records.set(address, { version: full.version, _sessions: { [sessionKey]: session } });
    }
    return full;
  }

  /** Adds the sessions that `isolate` removed to the one that was used. */
  merge(address: string, full: unknown): void {
    const { version, _sessions } = full as StoredRecord;
    const used = this.#records.get(address)?._sessions;
    this.#records.set(address, { version, _sessions: { ..._sessions, ...used } });
  }

  /** Deletes all sessions of that device, as after a reinstallation. */
  forget(address: string): void {
    this.#records.delete(address);
  }

  /** Any identity is trusted, because people change phones. */
  isTrustedIdentity(): boolean {
    return true;
  }

  async loadPreKey(keyId: number | string): Promise<{ privKey: Buffer; pubKey: Buffer } | undefined> {
    return this.#identity.oneTimeKeyPair(Number(keyId));
  }

  removePreKey(keyId: number): void {
    this.#identity.dropOneTimeKey(keyId);
  }

  loadSignedPreKey(): { privKey: Buffer; pubKey: Buffer } {
    return this.#identity.signedPreKeyPair();
  }

  getOurRegistrationId(): number {
    return this.#identity.registrationId;
  }

  getOurIdentity(): { privKey: Buffer; pubKey: Buffer } {
    return this.#identity.ownIdentity();
  }
}

/** libsignal never deletes a receiving chain; one without keys decrypts nothing and slows down a long chat. */
function dropFinishedChains(record: StoredRecord): void {
  for (const session of Object.values(record._sessions)) {
    for (const [key, chain] of Object.entries(session._chains)) {
      const isFinished = chain.chainKey.key === undefined && Object.keys(chain.messageKeys).length === 0;
      if (chain.chainType === RECEIVING && isFinished) delete session._chains[key];
    }
  }
}
