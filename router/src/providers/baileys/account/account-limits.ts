import type { AccountLimit, AccountStore, LimitKind } from '../../../core/ports/account-store.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { Restriction } from './restriction.ts';

export interface AccountLimitsOptions {
  accountId: string;
  store: AccountStore;
  clock: Clock;
  log: Logger;
  /** A limit began, was replaced or ended. */
  onChange(): void;
}

/** The temporary limits of WhatsApp on an account. */
export class AccountLimits {
  /** On messages to people who never wrote to the account. */
  readonly newContacts: Restriction;
  /** On connecting. */
  readonly connection: Restriction;
  readonly #stopping = new AbortController();

  constructor(options: AccountLimitsOptions) {
    const of = (kind: LimitKind) => new Restriction({ ...options, kind, stopping: this.#stopping.signal });
    this.newContacts = of('new-contacts');
    this.connection = of('connection');
  }

  /** Applies limits that an earlier process stored, unless newer ones are known. */
  restore(limits: readonly AccountLimit[]): void {
    this.newContacts.restore(limits);
    this.connection.restore(limits);
  }

  /** Forgets all limits: they belong to the linked number, and the next link may have another one. */
  forget(): void {
    this.newContacts.forget();
    this.connection.forget();
  }

  /** Ends the timers. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Resolves when the last changes are stored, or could not be. */
  async saved(): Promise<void> {
    await Promise.all([this.newContacts.saved(), this.connection.saved()]);
  }
}
