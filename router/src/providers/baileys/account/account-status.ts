import type { ClientVersion } from '../../../core/client-version.ts';
import { nextActionOf } from '../../../core/cluster/account-state.ts';
import type { AccountState } from '../../../core/models.ts';
import type { Phrase, Said } from '../../../core/phrases.ts';
import type { AccountRecord, AccountStore } from '../../../core/ports/account-store.ts';
import type { AccountStatus, PasskeyStatus } from '../../../core/ports/chat-provider.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';

/** The part of a status that the connection and the pairing determine. */
export interface Situation {
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
export interface Identity {
  phone?: string;
  lid?: string;
  name?: string;
}

export interface AccountStatusTrackerOptions {
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
