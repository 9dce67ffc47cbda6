import type { PairBy } from '../ports/account-control.ts';
import type { AccountStatus, ChatProvider } from '../ports/chat-provider.ts';

/** The providers of the accounts that this node holds, by account id. */
export class AccountRegistry {
  readonly #providers = new Map<string, ChatProvider>();

  add(provider: ChatProvider): void {
    this.#providers.set(provider.accountId, provider);
  }

  /** Takes the provider off, unless another one of the same account took its place. */
  remove(provider: ChatProvider): void {
    if (this.#providers.get(provider.accountId) === provider) this.#providers.delete(provider.accountId);
  }

  provider(accountId: string): ChatProvider | undefined {
    return this.#providers.get(accountId);
  }

  list(): AccountStatus[] {
    return [...this.#providers.values()].map((provider) => provider.status());
  }

  get(accountId: string): AccountStatus | undefined {
    return this.#providers.get(accountId)?.status();
  }

  async pair(accountId: string, by: PairBy): Promise<AccountStatus | undefined> {
    return this.#providers.get(accountId)?.pair(by);
  }

  async logout(accountId: string): Promise<AccountStatus | undefined> {
    return this.#providers.get(accountId)?.logout();
  }

  async restart(accountId: string): Promise<AccountStatus | undefined> {
    return this.#providers.get(accountId)?.restart();
  }
}
