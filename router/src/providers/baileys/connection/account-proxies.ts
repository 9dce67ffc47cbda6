import type { AccountProxy } from './account-proxy.ts';

/**
 * The proxies of accounts, as they are stored at the time of each call. An account whose proxy cannot be read gets an error, not a
 * direct connection.
 */
export class AccountProxies {
  readonly #urlOf: (accountId: string) => Promise<string | undefined>;
  readonly #open = new Map<string, { url: string; proxy: Promise<AccountProxy> }>();

  /** @param urlOf the stored URL; throws StorageUnavailableError and StorageDamagedError */
  constructor(urlOf: (accountId: string) => Promise<string | undefined>) {
    this.#urlOf = urlOf;
  }

  /** Undefined: the account connects directly. @throws {StorageUnavailableError} {StorageDamagedError} */
  async of(accountId: string): Promise<AccountProxy | undefined> {
    const url = await this.#urlOf(accountId);
    const known = this.#open.get(accountId);
    if (known && known.url === url) return known.proxy;
    this.#open.delete(accountId);
    void known?.proxy.then((proxy) => proxy.close());
    if (url === undefined) return undefined;
    // Most services have no account with a proxy.
    const proxy = import('./account-proxy.ts').then((loaded) => new loaded.AccountProxy(url));
    this.#open.set(accountId, { url, proxy });
    return proxy;
  }
}
