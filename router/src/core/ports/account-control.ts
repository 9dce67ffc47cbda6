import type { AccountStatus } from './chat-provider.ts';

/** The accounts that this service holds, for the API, the pages and the CLI. Undefined: no such account. */
export interface AccountControl {
  list(): AccountStatus[];
  get(accountId: string): AccountStatus | undefined;
  pair(
    accountId: string,
    by: { method: 'qr' } | { method: 'code'; phone: string },
  ): Promise<AccountStatus | undefined>;
  logout(accountId: string): Promise<AccountStatus | undefined>;
  restart(accountId: string): Promise<AccountStatus | undefined>;
}
