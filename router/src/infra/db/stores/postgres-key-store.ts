import sql, { type Sql } from 'sql-template-tag';
import { StorageRejectedError } from '../../../core/errors.ts';
import type { Fence } from '../../../core/ports/cluster.ts';
import type { JournalEntry, Stored } from '../../../core/ports/inbox.ts';
import {
  DAMAGED_VALUE,
  type KeyChange,
  type KeyName,
  type KeyScope,
  type KeyStore,
  type StoredKey,
} from '../../../core/ports/key-store.ts';
import { authKeyContext, journalContext } from '../encryption/secret-cipher.ts';
import type { Statements } from '../postgres.ts';
import { fenceOf, type HeldRow, underFence } from './postgres-account-lease.ts';
import { messageDocument, STORED, type StoredRow } from './postgres-inbox.ts';
import { storableId } from './rows.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

/**
 * How long a commit with messages waits for the lock of a chat: all chats of the account wait for it meanwhile. Shorter than
 * PostgreSQL's deadlock_timeout.
 */
const LOCK_TIMEOUT = '300ms';

/** Keys in PostgreSQL, one row a key. Every commit is one statement, so one transaction and one round trip. */
export class PostgresKeyStore implements KeyStore {
  readonly #postgres: Statements;
  readonly #fence: Fence | undefined;

  /** @param fence the lease that every commit is made under; without one they are not fenced */
  constructor(postgres: Statements, fence?: Fence) {
    this.#postgres = postgres;
    this.#fence = fence;
  }

  async read(scope: KeyScope, names: readonly KeyName[]): Promise<StoredKey[]> {
    try {
      return await this.#values(scope, names);
    } catch (error) {
      if (!(error instanceof StorageDamagedError || error instanceof StorageRejectedError)) throw error;
    }
    const keys: StoredKey[] = [];
    for (const name of names) keys.push(...(await this.#one(scope, name)));
    return keys;
  }

  async #values(scope: KeyScope, names: readonly KeyName[]): Promise<StoredKey[]> {
    const rows = await withStorage('reading WhatsApp keys', () =>
      this.#postgres.query<{ category: string; key_id: string; value: string }>(sql`
        SELECT auth_key.category, auth_key.key_id, auth_key.value
        FROM unnest(${names.map((name) => name.category)}::text[], ${names.map((name) => name.keyId)}::text[])
          AS wanted(category, key_id)
        -- A limit for each key: without statistics a join would read all keys of the account.
        CROSS JOIN LATERAL (
          SELECT k.category, k.key_id, k.value FROM auth_key k
          WHERE k.account_id = ${scope.accountId} AND k.generation = ${scope.generation}
            AND k.category = wanted.category AND k.key_id = wanted.key_id
          LIMIT 1) AS auth_key`),
    );
    return rows.map(({ category, key_id: keyId, value }) => {
      const name = { category, keyId };
      return { ...name, value: this.#open(value, scope, name) };
    });
  }

  async #one(scope: KeyScope, name: KeyName): Promise<StoredKey[]> {
    try {
      return await this.#values(scope, [name]);
    } catch (error) {
      if (error instanceof StorageDamagedError) return [{ ...name, value: DAMAGED_VALUE }];
      if (error instanceof StorageRejectedError) return [];
      throw error;
    }
  }

  async commit(scope: KeyScope, change: KeyChange): Promise<Stored[]> {
    const { puts, deletes, journal, messages = [] } = change;
    if (puts.length + deletes.length + journal.length + messages.length === 0) return [];
    const keys = this.#commitKeys(scope, change);
    if (messages.length === 0) {
      await underFence(this.#fence, 'storing WhatsApp keys', () =>
        this.#postgres.query<HeldRow>(sql`SELECT ${keys} AS held`),
      );
      return [];
    }
    const given = messages.map(({ message }) => messageDocument(this.#postgres, message));
    let rows: StoredRow[] = [];
    await underFence(this.#fence, 'storing WhatsApp keys and messages', async () => {
      // Without the lease commit_keys is 0, and nothing is added.
      rows = await this.#postgres.query<StoredRow>(sql`
        SELECT held, ${STORED}
        FROM (SELECT ${keys} AS held
              FROM (SELECT set_config('lock_timeout', ${LOCK_TIMEOUT}, true)) AS limited OFFSET 0) AS keys,
          unnest(${given.map(({ document }) => document)}::jsonb[], ${messages.map(({ node }) => node)}::text[])
            WITH ORDINALITY AS given (document, node, place),
          LATERAL inbox_add(CASE WHEN held = 1 THEN document END, node)
        WHERE held = 1 ORDER BY place`);
      return rows;
    });
    return given.map(({ storedOf }, index) => storedOf(rows[index] as StoredRow));
  }

  #commitKeys({ accountId, generation }: KeyScope, { puts, deletes, journal }: KeyChange): Sql {
    const { owner, epoch } = fenceOf(this.#fence);
    return sql`commit_keys(${accountId}, ${owner}, ${epoch}::bigint, ${generation}::integer,
      ${deletes.map((d) => d.category)}::text[], ${deletes.map((d) => d.keyId)}::text[],
      ${journal.map((e) => e.ciphertextHash)}::text[], ${journal.map((e) => e.stanzaOrder.toString())}::bigint[],
      ${journal.map((e) => storableId(e.waMessageId))}::text[],
      ${journal.map((e) => base64(this.#sealPlaintext(accountId, e)))}::text[],
      ${journal.map((e) => base64(e.stanza))}::text[],
      ${puts.map((p) => p.category)}::text[], ${puts.map((p) => p.keyId)}::text[],
      ${puts.map((p) => this.#seal(p.value, { accountId, generation }, p))}::text[])`;
  }

  #seal(value: string, scope: KeyScope, name: KeyName): string {
    const { accountId, generation } = scope;
    return this.#postgres.secrets.sealText(
      value,
      authKeyContext(accountId, generation, name.category, name.keyId),
    );
  }

  #open(value: string, scope: KeyScope, name: KeyName): string {
    const { accountId, generation } = scope;
    return this.#postgres.secrets.openText(
      value,
      authKeyContext(accountId, generation, name.category, name.keyId),
    );
  }

  #sealPlaintext(accountId: string, { ciphertextHash, plaintext }: JournalEntry): Uint8Array {
    return this.#postgres.secrets.sealBytes(plaintext, journalContext(accountId, ciphertextHash));
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
