import type { AccountControl } from './ports/account-control.ts';
import type { AccountStatus, ChatProvider } from './ports/chat-provider.ts';

/** The providers of this process by account id, behind the face that the API, the pages and the CLI use. */
export class AccountRegistry implements AccountControl {
  readonly #providers = new Map<string, ChatProvider>();

  add(provider: ChatProvider): void {
    this.#providers.set(provider.accountId, provider);
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

  async pair(
    accountId: string,
    by: { method: 'qr' } | { method: 'code'; phone: string },
  ): Promise<AccountStatus | undefined> {
    return this.#providers.get(accountId)?.pair(by);
  }

  async logout(accountId: string): Promise<AccountStatus | undefined> {
    return this.#providers.get(accountId)?.logout();
  }

  async restart(accountId: string): Promise<AccountStatus | undefined> {
    return this.#providers.get(accountId)?.restart();
  }
}
