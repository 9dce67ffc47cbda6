import sql from 'sql-template-tag';
import { accountProxyContext } from '../../infra/db/encryption/secret-columns.ts';
import type { Statements } from '../../infra/db/postgres.ts';
import { withStorage } from '../../infra/db/stores/storage-errors.ts';

/** The proxies of WhatsApp accounts in PostgreSQL: their URLs, encrypted because of user name and password. */
export class PostgresAccountProxies {
  readonly #postgres: Pick<Statements, 'query' | 'execute' | 'secrets'>;

  constructor(postgres: Pick<Statements, 'query' | 'execute' | 'secrets'>) {
    this.#postgres = postgres;
  }

  /**
   * The URL of an account's proxy; undefined: it has none.
   * @throws {StorageUnavailableError} · {StorageDamagedError} it cannot be decrypted
   */
  async urlOf(accountId: string): Promise<string | undefined> {
    const [row] = await withStorage('reading the proxy of a WhatsApp account', () =>
      this.#postgres.query<{ proxy: string | null }>(sql`SELECT proxy FROM account WHERE id = ${accountId}`),
    );
    const stored = row?.proxy;
    return stored ? this.#postgres.secrets.openText(stored, accountProxyContext(accountId)) : undefined;
  }

  /** @param url undefined: no proxy @returns whether there is such an account */
  async set(accountId: string, url: string | undefined): Promise<boolean> {
    const sealed =
      url === undefined ? null : this.#postgres.secrets.sealText(url, accountProxyContext(accountId));
    const changed = await withStorage('storing the proxy of a WhatsApp account', () =>
      this.#postgres.execute(sql`
        UPDATE account SET proxy = ${sealed} WHERE id = ${accountId} AND provider = 'baileys' AND deleting_at IS NULL`),
    );
    return changed > 0;
  }

  /** The WhatsApp accounts by id, and whether they have a proxy. @throws {StorageUnavailableError} */
  async list(): Promise<Array<{ accountId: string; hasProxy: boolean }>> {
    return withStorage('reading which WhatsApp accounts have a proxy', () =>
      this.#postgres.query(sql`
        SELECT id AS "accountId", proxy IS NOT NULL AS "hasProxy" FROM account
        WHERE provider = 'baileys' AND deleting_at IS NULL ORDER BY id`),
    );
  }
}
