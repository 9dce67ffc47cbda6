import sql from 'sql-template-tag';
import type { Fence } from '../../../core/ports/account-lease.ts';
import type { JournalEntry } from '../../../core/ports/journal.ts';
import {
  DAMAGED_VALUE,
  type KeyChange,
  type KeyName,
  type KeyScope,
  type KeyStore,
  type StoredKey,
} from '../../../core/ports/key-store.ts';
import { authKeyContext, journalContext } from '../encryption/secret-columns.ts';
import type { Statements } from '../postgres.ts';
import { fenceOf, type HeldRow, underFence } from './fence.ts';
import { storableId } from './storable-text.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

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
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const keys: StoredKey[] = [];
    for (const name of names) keys.push(...(await this.#orDamaged(scope, name)));
    return keys;
  }

  async #values(scope: KeyScope, names: readonly KeyName[]): Promise<StoredKey[]> {
    const rows = await withStorage('reading WhatsApp keys', () =>
      this.#postgres.query<{ category: string; key_id: string; value: string }>(sql`
        SELECT auth_key.category, auth_key.key_id, auth_key.value
        FROM unnest(${names.map((name) => name.category)}::text[], ${names.map((name) => name.keyId)}::text[])
          AS wanted(category, key_id)
        JOIN auth_key ON account_id = ${scope.accountId} AND generation = ${scope.generation}
          AND auth_key.category = wanted.category AND auth_key.key_id = wanted.key_id`),
    );
    return rows.map(({ category, key_id: keyId, value }) => {
      const name = { category, keyId };
      return { ...name, value: this.#open(value, scope, name) };
    });
  }

  async #orDamaged(scope: KeyScope, name: KeyName): Promise<StoredKey[]> {
    try {
      return await this.#values(scope, [name]);
    } catch (error) {
      if (error instanceof StorageDamagedError) return [{ ...name, value: DAMAGED_VALUE }];
      throw error;
    }
  }

  async commit(scope: KeyScope, { puts, deletes, journal }: KeyChange): Promise<void> {
    const sealed = puts.map((put) => ({ ...put, value: this.#seal(put.value, scope, put) }));
    if (deletes.length === 0 && journal.length === 0) return this.#put(scope, sealed);
    await this.#commitAll(scope, { puts: sealed, deletes, journal });
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

  /** The commonest step, keys alone, in its cheapest form. */
  async #put(scope: KeyScope, puts: KeyChange['puts']): Promise<void> {
    if (puts.length === 0) return;
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'storing WhatsApp keys', async () => {
      const written = await this.#postgres.execute(sql`
        INSERT INTO auth_key (account_id, generation, category, key_id, value)
        SELECT ${scope.accountId}, ${scope.generation}, put.category, put.key_id, put.value
        FROM lease_held(${scope.accountId}, ${owner}, ${epoch}::bigint),
             unnest(${puts.map((p) => p.category)}::text[], ${puts.map((p) => p.keyId)}::text[],
                    ${puts.map((p) => p.value)}::text[]) AS put(category, key_id, value)
        ON CONFLICT (account_id, generation, category, key_id) DO UPDATE SET value = excluded.value`);
      return [{ held: written }];
    });
  }

  async #commitAll(scope: KeyScope, { puts, deletes, journal }: KeyChange): Promise<void> {
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'storing WhatsApp keys', () =>
      this.#postgres.query<HeldRow>(sql`
        WITH held AS MATERIALIZED (
          SELECT * FROM lease_held(${scope.accountId}, ${owner}, ${epoch}::bigint)
        ), gone AS (
          DELETE FROM auth_key
          USING held, unnest(${deletes.map((d) => d.category)}::text[], ${deletes.map((d) => d.keyId)}::text[])
            AS old(category, key_id)
          WHERE account_id = ${scope.accountId} AND generation = ${scope.generation}
            AND auth_key.category = old.category AND auth_key.key_id = old.key_id
        ), journalled AS (
          INSERT INTO journal (account_id, ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza)
          SELECT ${scope.accountId}, entry.hash, entry.stanza_order, entry.wa_message_id,
                 decode(entry.plaintext, 'base64'), decode(entry.stanza, 'base64')
          FROM held,
               unnest(${journal.map((e) => e.ciphertextHash)}::text[],
                      ${journal.map((e) => e.stanzaOrder.toString())}::bigint[],
                      ${journal.map((e) => storableId(e.waMessageId))}::text[],
                      ${journal.map((e) => base64(this.#sealPlaintext(scope.accountId, e)))}::text[],
                      ${journal.map((e) => base64(e.stanza))}::text[])
            AS entry(hash, stanza_order, wa_message_id, plaintext, stanza)
          ON CONFLICT (account_id, ciphertext_hash) DO NOTHING
        ), put AS (
          INSERT INTO auth_key (account_id, generation, category, key_id, value)
          SELECT ${scope.accountId}, ${scope.generation}, put.category, put.key_id, put.value
          FROM held,
               unnest(${puts.map((p) => p.category)}::text[], ${puts.map((p) => p.keyId)}::text[],
                      ${puts.map((p) => p.value)}::text[]) AS put(category, key_id, value)
          ON CONFLICT (account_id, generation, category, key_id) DO UPDATE SET value = excluded.value
        )
        SELECT count(*)::integer AS held FROM held`),
    );
  }
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
