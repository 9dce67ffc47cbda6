import type { ReplyDelivery } from '../delivery/deliver-reply.ts';
import type { NumberLookUps } from '../delivery/number-look-ups.ts';
import type { AccountStatus, ChatProvider } from '../ports/chat-provider.ts';

/** An account that this node runs: its connection, and the delivery of its replies. */
export interface RegisteredAccount {
  provider: ChatProvider;
  delivery: ReplyDelivery;
  /** Absent: WhatsApp is asked about nobody. */
  numbers?: Pick<NumberLookUps, 'lookUp'>;
}

/** The accounts that this node runs, by account id. */
export class AccountRegistry {
  readonly #accounts = new Map<string, RegisteredAccount>();

  add(account: RegisteredAccount): void {
    this.#accounts.set(account.provider.accountId, account);
  }

  /** Removes an account, unless it was added again meanwhile. */
  remove(account: RegisteredAccount): void {
    const { accountId } = account.provider;
    if (this.#accounts.get(accountId) === account) this.#accounts.delete(accountId);
  }

  provider(accountId: string): ChatProvider | undefined {
    return this.#accounts.get(accountId)?.provider;
  }

  delivery(accountId: string): ReplyDelivery | undefined {
    return this.#accounts.get(accountId)?.delivery;
  }

  numbers(accountId: string): RegisteredAccount['numbers'] | undefined {
    return this.#accounts.get(accountId)?.numbers;
  }

  /** Deliveries of all accounts. */
  deliveries(): ReplyDelivery[] {
    return [...this.#accounts.values()].map(({ delivery }) => delivery);
  }

  list(): AccountStatus[] {
    return [...this.#accounts.values()].map(({ provider }) => provider.status());
  }

  get(accountId: string): AccountStatus | undefined {
    return this.provider(accountId)?.status();
  }
}
