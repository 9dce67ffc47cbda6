import type { AccountStatus, PasskeyInput } from './chat-provider.ts';
import type { NewAccount } from './cluster.ts';

/** How an account is to be paired; the phone number in digits. */
export type PairBy = { method: 'qr' } | { method: 'code'; phone: string };

/** The accounts of this service, for the API, the pages and the CLI. Undefined: no such account. */
export interface AccountControl {
  /** By id, including accounts of other nodes. */
  list(): AccountStatus[];
  get(accountId: string): AccountStatus | undefined;
  /** Adds an account, which a node then starts; `known` when there is one with this id. */
  create(accountId: string, as?: NewAccount): Promise<'added' | 'known'>;
  /** @throws {AccountNotHeldError} from this and the next four: no node that answers runs the account */
  pair(accountId: string, by: PairBy): Promise<AccountStatus | undefined>;
  /** As ChatProvider.usePasskey. */
  usePasskey(accountId: string, input: PasskeyInput): Promise<AccountStatus | undefined>;
  logout(accountId: string): Promise<AccountStatus | undefined>;
  /** Like `logout`, without pairing again: for an account that is being deleted. */
  unlink(accountId: string): Promise<AccountStatus | undefined>;
  restart(accountId: string): Promise<AccountStatus | undefined>;
  /**
   * Asks WhatsApp about a number, within a few seconds. Undefined: it did not say, such as while the account is not connected or
   * after many questions.
   * @param phone digits
   */
  isOnWhatsApp(accountId: string, phone: string): Promise<boolean | undefined>;
}
