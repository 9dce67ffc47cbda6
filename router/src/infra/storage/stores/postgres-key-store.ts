import sql from 'sql-template-tag';
import type { Fence } from '../../../core/ports/account-lease.ts';
import {
  DAMAGED_VALUE,
  type KeyChange,
  type KeyScope,
  type KeyStore,
} from '../../../core/ports/key-store.ts';
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

  async read(scope: KeyScope, category: string, keyIds: readonly string[]): Promise<Map<string, string>> {
    try {
      return await this.#values(scope, category, keyIds);
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    const values = new Map<string, string>();
    for (const keyId of keyIds) {
      for (const [found, value] of await this.#orDamaged(scope, category, keyId)) values.set(found, value);
    }
    return values;
  }

  async #values(scope: KeyScope, category: string, keyIds: readonly string[]): Promise<Map<string, string>> {
    const rows = await withStorage('reading WhatsApp keys', () =>
      this.#postgres.query<{ key_id: string; value: string }>(sql`
        SELECT key_id, value FROM auth_key
        WHERE account_id = ${scope.accountId} AND generation = ${scope.generation}
          AND category = ${category} AND key_id = ANY(${[...keyIds]}::text[])`),
    );
    return new Map(rows.map((row) => [row.key_id, row.value]));
  }

  async #orDamaged(scope: KeyScope, category: string, keyId: string): Promise<Map<string, string>> {
    try {
      return await this.#values(scope, category, [keyId]);
    } catch (error) {
      if (error instanceof StorageDamagedError) return new Map([[keyId, DAMAGED_VALUE]]);
      throw error;
    }
  }

  async commit(scope: KeyScope, change: KeyChange): Promise<void> {
    if (change.deletes.length === 0 && change.journal.length === 0) return this.#put(scope, change.puts);
    await this.#commitAll(scope, change);
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
        ), noted AS (
          INSERT INTO journal (account_id, ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza)
          SELECT ${scope.accountId}, entry.hash, entry.stanza_order, entry.wa_message_id,
                 decode(entry.plaintext, 'base64'), decode(entry.stanza, 'base64')
          FROM held,
               unnest(${journal.map((e) => e.ciphertextHash)}::text[],
                      ${journal.map((e) => e.stanzaOrder.toString())}::bigint[],
                      ${journal.map((e) => storableId(e.waMessageId))}::text[],
                      ${journal.map((e) => base64(e.plaintext))}::text[],
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
