import { lidJid, parseJid, phoneJid } from '../../../core/chat-id.ts';
import type { ClientVersion } from '../../../core/client-version.ts';
import type { Clock } from '../../../core/clock.ts';
import { nextActionOf } from '../../../core/cluster/account-state.ts';
import { CredentialsDamagedError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { ChatAddress } from '../../../core/messages/inbound-message.ts';
import type { AccountState } from '../../../core/models.ts';
import type { Phrase, Said } from '../../../core/phrases.ts';
import type { AccountLimit, AccountRecord, AccountStore } from '../../../core/ports/account-store.ts';
import type { AccountStatus, PasskeyStatus } from '../../../core/ports/chat-provider.ts';
import type { KeyStore } from '../../../core/ports/key-store.ts';
import type { OwnJids } from '../inbound/read-stanza.ts';
import { type AuthState, openAuthState } from '../signal/auth-state.ts';

/** The part of a status that the connection and the pairing determine. */
interface Situation {
  state: AccountState;
  reason?: string;
  /** Of the reason. */
  phrase?: Phrase;
  retryAtMs?: number;
  isConnected?: boolean;
  isStorageTrouble?: boolean;
  pairingBy?: 'qr' | 'code';
  qr?: string;
  pairingCode?: string;
  passkey?: PasskeyStatus;
  expiresAtMs?: number;
}

/** The linked account, bare digits. */
interface Identity {
  phone?: string;
  lid?: string;
  name?: string;
}

interface AccountStatusTrackerOptions {
  accountId: string;
  store: AccountStore;
  onChange(status: AccountStatus): void;
  /** Problems that the state does not show. */
  problems(): Said[];
  /** The version of WhatsApp Web that the last login announced. */
  version(): ClientVersion | undefined;
  /** The account's proxy, without user name and password. */
  proxy?(): string | undefined;
  clock: Clock;
  log: Logger;
}

/** The status of an account: reported on every change, and stored for the next process. */
export class AccountStatusTracker {
  readonly #options: AccountStatusTrackerOptions;
  #situation: Situation = { state: 'starting' };
  #identity: Identity = {};
  #isRemembered = false;
  #sinceMs: number;
  #stored: string | undefined;
  #saving: Promise<void> = Promise.resolve();
  #watchers = new Set<() => void>();

  constructor(options: AccountStatusTrackerOptions) {
    this.#options = options;
    this.#sinceMs = options.clock.now();
  }

  get state(): AccountState {
    return this.#situation.state;
  }

  /** Uses the linked account that the last process stored. Nothing is stored before: it would erase that account. */
  remember(record: AccountRecord): void {
    this.#identity = { phone: record.phone, lid: record.lid, name: record.pushName };
    this.#isRemembered = true;
    this.#save();
  }

  set(situation: Situation, identity: Identity = this.#identity): void {
    const { clock } = this.#options;
    if (situation.state !== this.#situation.state) this.#sinceMs = clock.now();
    this.#situation = situation;
    this.#identity = identity;
    this.#save();
    this.report();
    for (const check of [...this.#watchers]) check();
  }

  /** Reports the status; call it when something else than the situation has changed. */
  report(): void {
    const { onChange, log } = this.#options;
    try {
      onChange(this.status());
    } catch (error) {
      log.error({ err: error }, 'status change not processed');
    }
  }

  status(): AccountStatus {
    const {
      state,
      pairingBy,
      qr,
      pairingCode,
      passkey,
      reason,
      phrase,
      expiresAtMs,
      retryAtMs,
      isConnected,
      isStorageTrouble,
    } = this.#situation;
    const problems = this.#options.problems();
    const clientVersion = this.#options.version();
    const proxy = this.#options.proxy?.();
    const hasCode = qr !== undefined || pairingCode !== undefined;
    return {
      accountId: this.#options.accountId,
      state,
      nextAction: nextActionOf(state, {
        pairingBy,
        hasCode,
        passkeyStep: passkey?.step,
        retryAtMs,
        isConnected,
        isStorageTrouble,
      }),
      sinceMs: this.#sinceMs,
      isConnected: isConnected ?? false,
      ...(reason !== undefined && { reason }),
      ...(phrase && { phrase }),
      ...(qr !== undefined && { qr }),
      ...(pairingCode !== undefined && { pairingCode }),
      ...(passkey !== undefined && { passkey }),
      ...(expiresAtMs !== undefined && { expiresAtMs }),
      ...(retryAtMs !== undefined && { retryAtMs }),
      ...(problems.length > 0 && {
        problems: problems.map(({ sentence }) => sentence),
        problemPhrases: problems.map(({ phrase }) => phrase ?? null),
      }),
      ...(clientVersion && { clientVersion }),
      ...(proxy !== undefined && { proxy }),
      ...definedOf(this.#identity),
    };
  }

  /** Resolves with the first status that fits, now or later; after `timeoutMs` with the status of that moment. */
  async until(fits: (status: AccountStatus) => boolean, timeoutMs: number): Promise<AccountStatus> {
    if (fits(this.status())) return this.status();
    const seen = new AbortController();
    const check = () => {
      if (fits(this.status())) seen.abort();
    };
    this.#watchers.add(check);
    try {
      await this.#options.clock.sleep(timeoutMs, seen.signal).catch(() => undefined);
    } finally {
      this.#watchers.delete(check);
    }
    return this.status();
  }

  /** Resolves when the last change is stored, or could not be. */
  async saved(): Promise<void> {
    await this.#saving;
  }

  #save(): void {
    if (!this.#isRemembered) return;
    const { state, reason, phrase } = this.#situation;
    const { phone, lid, name: pushName } = this.#identity;
    const record = { state, reason, ...(phrase && { phrase }), phone, lid, pushName };
    const text = JSON.stringify(record);
    // Connecting takes seconds, so the next process does not need this state.
    if (state === 'connecting' || text === this.#stored) return;
    this.#stored = text;
    this.#saving = this.#saving.then(async () => {
      try {
        await this.#options.store.save(this.#options.accountId, record);
      } catch (error) {
        this.#stored = undefined;
        this.#options.log.warn({ err: error }, 'account state not stored');
      }
    });
  }
}

function definedOf(identity: Identity): Identity {
  const { phone, lid, name } = identity;
  return {
    ...(phone !== undefined && { phone }),
    ...(lid !== undefined && { lid }),
    ...(name !== undefined && { name }),
  };
}

interface LinkedAccountOptions {
  accountId: string;
  accountStore: AccountStore;
  keyStore: KeyStore;
  clock: Clock;
  /** The account's record and limits were read. */
  onLoaded(record: AccountRecord, limits: readonly AccountLimit[]): void;
  /** As AuthStateOptions. */
  onStorageFailed(error: unknown): void;
  onKeyUnreadable(category: string): void;
}

/** An account's keys and its identity at WhatsApp: from the keys, or from the stored record before they are loaded. */
export class LinkedAccount {
  readonly #options: LinkedAccountOptions;
  #auth: AuthState | undefined;
  #record: AccountRecord | undefined;

  constructor(options: LinkedAccountOptions) {
    this.#options = options;
  }

  /** The keys in use; undefined before `load`, and after they were archived. */
  get auth(): AuthState | undefined {
    return this.#auth;
  }

  /** The account's record at the time when the keys were loaded. */
  get record(): AccountRecord | undefined {
    return this.#record;
  }

  isLinked(): boolean {
    return this.#auth?.isLinked() ?? false;
  }

  /**
   * Loads the keys of the account's current generation, or makes new ones. Later calls return the same keys.
   * @throws {StorageUnavailableError} call again
   * @throws {CredentialsDamagedError} the stored keys cannot be read
   */
  async load(): Promise<AuthState> {
    if (this.#auth) return this.#auth;
    const { accountStore, keyStore, clock, accountId, onLoaded, onStorageFailed, onKeyUnreadable } =
      this.#options;
    const record = await accountStore.load(accountId);
    const limits = await accountStore.limits(accountId);
    this.#record = record;
    onLoaded(record, limits);
    const scope = { accountId, generation: record.generation };
    this.#auth = await openAuthState({ store: keyStore, scope, clock, onStorageFailed, onKeyUnreadable });
    return this.#auth;
  }

  /**
   * Loads the keys, or makes new ones when the stored keys cannot be read; those stay archived in the database.
   * @throws {StorageUnavailableError} call again
   */
  async loadOrReplace(): Promise<AuthState> {
    try {
      return await this.load();
    } catch (error) {
      if (!(error instanceof CredentialsDamagedError)) throw error;
    }
    await this.#options.accountStore.nextGeneration(this.#options.accountId);
    return this.load();
  }

  /**
   * Begins a new generation, so that the next `load` makes new keys. Does nothing when no phone is linked.
   * @throws {StorageUnavailableError} the keys stay in use
   */
  async archiveKeys(): Promise<void> {
    if (!this.#auth?.isLinked()) return;
    await this.#auth.flush();
    await this.#options.accountStore.nextGeneration(this.#options.accountId);
    this.#auth = undefined;
  }

  /** JIDs; empty strings while unknown. */
  jids(): OwnJids {
    const me = this.#auth?.creds.me;
    const id = me?.id ?? (this.#record?.phone ? phoneJid(this.#record.phone) : '');
    const lid = me?.lid ?? (this.#record?.lid ? lidJid(this.#record.lid) : '');
    return { id, lid };
  }

  identity(): Identity {
    const { id, lid } = this.jids();
    const phone = parseJid(id);
    const ownLid = parseJid(lid);
    const name = this.#auth?.creds.me?.name;
    return {
      ...(phone?.kind === 'phone' && { phone: phone.phone }),
      ...(ownLid?.kind === 'lid' && { lid: ownLid.lid }),
      ...(name && { name }),
    };
  }

  /** The number of a LID, digits, from Baileys' own mapping (Signal/lid-mapping.js); does not query WhatsApp. */
  async phoneOfLid(lid: string): Promise<string | undefined> {
    const name = `${lid}_reverse`;
    const found = await this.#auth?.keys.get('lid-mapping', [name]);
    return digitsOf(found?.[name]);
  }

  /** The chat of a JID with all known addresses; undefined for a JID of neither a person nor a group. */
  async chatOf(jid: string): Promise<ChatAddress | undefined> {
    const address = parseJid(jid);
    if (address?.kind === 'group') return { kind: 'group', groupId: address.groupId };
    if (address?.kind === 'lid') {
      return { kind: 'person', lid: address.lid, phone: await this.phoneOfLid(address.lid) };
    }
    if (address?.kind !== 'phone') return undefined;
    const found = await this.#auth?.keys.get('lid-mapping', [address.phone]);
    return { kind: 'person', phone: address.phone, lid: digitsOf(found?.[address.phone]) };
  }

  /** Whether both JIDs belong to one person, by number or LID. */
  async isSamePerson(jid: string, other: string): Promise<boolean> {
    const [one, two] = await Promise.all([this.chatOf(jid), this.chatOf(other)]);
    if (one?.kind !== 'person' || two?.kind !== 'person') return false;
    const isPhone = one.phone !== undefined && one.phone === two.phone;
    return isPhone || (one.lid !== undefined && one.lid === two.lid);
  }
}

function digitsOf(user: string | undefined): string | undefined {
  return user ? /^\d+/.exec(user)?.[0] : undefined;
}
