import type { Reason } from '../../../core/phrases.ts';
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

/** The temporary limits of WhatsApp on an account. All but that of connections hold back messages to people who never wrote only. */
export class AccountLimits {
  /** A lock on messages to people who never wrote to the account. */
  readonly newContacts: Restriction;
  /** The number of chats that the account may begin in a cycle. */
  readonly newChats: Restriction;
  /** The rate of messages. */
  readonly rate: Restriction;
  /** On connecting. */
  readonly connection: Restriction;
  readonly #all: Restriction[];
  readonly #stopping = new AbortController();

  constructor(options: AccountLimitsOptions) {
    const of = (kind: LimitKind) => new Restriction({ ...options, kind, stopping: this.#stopping.signal });
    this.newContacts = of('new-contacts');
    this.newChats = of('new-chats');
    this.rate = of('rate');
    this.connection = of('connection');
    this.#all = [this.newContacts, this.newChats, this.rate, this.connection];
  }

  /** The limit on messages to people who never wrote that ends last, with its remaining time in milliseconds. */
  current(): (Reason & { leftMs: number }) | undefined {
    const active = [this.newContacts, this.newChats, this.rate].flatMap((limit) => limit.current() ?? []);
    return active.sort((one, other) => other.leftMs - one.leftMs)[0];
  }

  /** All active limits. */
  list(): Array<Reason & { kind: LimitKind; leftMs: number }> {
    return this.#all.flatMap((limit) => {
      const current = limit.current();
      return current ? [{ kind: limit.kind, ...current }] : [];
    });
  }

  /** Applies limits that an earlier process stored, unless newer ones are known. */
  restore(limits: readonly AccountLimit[]): void {
    for (const limit of this.#all) limit.restore(limits);
  }

  /** Forgets all limits: they belong to the linked number, and the next link may have another one. */
  forget(): void {
    for (const limit of this.#all) limit.forget();
  }

  /** Ends the timers. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Resolves when the last changes are stored, or could not be. */
  async saved(): Promise<void> {
    await Promise.all(this.#all.map((limit) => limit.saved()));
  }
}
