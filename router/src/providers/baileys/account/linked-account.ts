import { lidJid, parseJid, phoneJid } from '../../../core/chat-id.ts';
import { CredentialsDamagedError } from '../../../core/errors.ts';
import type { ChatAddress } from '../../../core/messages/inbound-message.ts';
import type { AccountLimit, AccountRecord, AccountStore } from '../../../core/ports/account-store.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { KeyStore } from '../../../core/ports/key-store.ts';
import type { OwnJids } from '../inbound/read-stanza.ts';
import { type AuthState, openAuthState } from '../signal/auth-state.ts';
import type { Identity } from './account-status.ts';

export interface LinkedAccountOptions {
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
