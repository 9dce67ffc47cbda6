import sql from 'sql-template-tag';
import type { Fence } from '../../../core/ports/cluster.ts';
import type { DamagedEntry, Journal, JournalEntry } from '../../../core/ports/inbox.ts';
import { journalContext } from '../encryption/secret-cipher.ts';
import type { Statements } from '../postgres.ts';
import { fenceOf, type HeldRow, underFence } from './postgres-account-lease.ts';
import { StorageDamagedError, withStorage } from './storage-errors.ts';

interface JournalRow {
  ciphertext_hash: string;
  stanza_order: bigint;
  wa_message_id: string;
  plaintext: Uint8Array;
  stanza: Uint8Array;
  is_done?: boolean | null;
  suspicion?: number;
}

/**
 * Rows at the end of the message table among which the messages of entries are searched, so that no index is needed: more than arrive in
 * the seconds for which an entry outlives its message.
 */
const NEWEST_MESSAGES = 2_000;

/** Rows at the end of the message table that are searched for the highest order; ids grow nearly as orders do. */
const LAST_MESSAGES = 200;

/** Journal in PostgreSQL; its rows are written by PostgresKeyStore. */
export class PostgresJournal implements Journal {
  readonly #postgres: Statements;
  readonly #fence: Fence | undefined;

  /** @param fence the lease under which entries are dropped; without one that is not fenced */
  constructor(postgres: Statements, fence?: Fence) {
    this.#postgres = postgres;
    this.#fence = fence;
  }

  async find(accountId: string, ciphertextHash: string): Promise<JournalEntry | undefined> {
    const rows = await withStorage('reading the journal', () =>
      this.#postgres.query<JournalRow>(sql`
        SELECT ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza FROM journal
        WHERE account_id = ${accountId} AND ciphertext_hash = ${ciphertextHash}`),
    );
    return rows[0] && this.#entry(accountId, rows[0]);
  }

  async pending(
    accountId: string,
    page: { afterOrder: bigint; limit: number },
  ): Promise<Array<JournalEntry | DamagedEntry>> {
    try {
      const rows = await withStorage('reading the journal', () =>
        this.#postgres.query<JournalRow>(sql`
          SELECT ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza, suspicion,
            (stanza_order, wa_message_id) IN (
              SELECT stanza_order, wa_message_id FROM (
                SELECT stanza_order, wa_message_id, state FROM message
                WHERE account_id = ${accountId} ORDER BY id DESC LIMIT ${NEWEST_MESSAGES}
              ) AS newest WHERE state <> 'received'
            ) AS is_done
          FROM journal
          WHERE account_id = ${accountId} AND stanza_order > ${page.afterOrder}
          ORDER BY stanza_order FETCH FIRST ${page.limit} ROWS WITH TIES`),
      );
      return rows.map((row) => this.#entry(accountId, row));
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
      return this.#oneByOne(accountId, page);
    }
  }

  async #oneByOne(
    accountId: string,
    page: { afterOrder: bigint; limit: number },
  ): Promise<Array<JournalEntry | DamagedEntry>> {
    const rows = await withStorage('reading the journal', () =>
      this.#postgres.query<Omit<JournalRow, 'plaintext' | 'stanza'>>(sql`
        SELECT ciphertext_hash, stanza_order, wa_message_id FROM journal
        WHERE account_id = ${accountId} AND stanza_order > ${page.afterOrder}
        ORDER BY stanza_order FETCH FIRST ${page.limit} ROWS WITH TIES`),
    );
    const entries: Array<JournalEntry | DamagedEntry> = [];
    for (const row of rows) entries.push(await this.#orDamaged(accountId, row));
    return entries;
  }

  async #orDamaged(
    accountId: string,
    row: Omit<JournalRow, 'plaintext' | 'stanza'>,
  ): Promise<JournalEntry | DamagedEntry> {
    const { ciphertext_hash: ciphertextHash, stanza_order: stanzaOrder, wa_message_id: waMessageId } = row;
    const damaged: DamagedEntry = { ciphertextHash, stanzaOrder, waMessageId, isDamaged: true };
    try {
      const entry = await this.find(accountId, ciphertextHash);
      return entry ?? damaged;
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
    }
    try {
      const [found] = await withStorage('reading the journal', () =>
        this.#postgres.query<{ stanza: Uint8Array }>(sql`
          SELECT stanza FROM journal WHERE account_id = ${accountId} AND ciphertext_hash = ${ciphertextHash}`),
      );
      return found ? { ...damaged, stanza: found.stanza } : damaged;
    } catch (error) {
      if (!(error instanceof StorageDamagedError)) throw error;
      return damaged;
    }
  }

  async forget(accountId: string, ciphertextHashes: readonly string[]): Promise<void> {
    if (ciphertextHashes.length === 0) return;
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'deleting journal entries', () =>
      this.#postgres.query<HeldRow>(sql`
        WITH held AS MATERIALIZED (
          SELECT * FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)
        ), gone AS (
          DELETE FROM journal USING held
          WHERE account_id = ${accountId} AND ciphertext_hash = ANY(${[...ciphertextHashes]}::text[])
        )
        SELECT count(*)::integer AS held FROM held`),
    );
  }

  async setAlone(accountId: string, ciphertextHash: string, runsAlone: boolean): Promise<void> {
    const { owner, epoch } = fenceOf(this.#fence);
    await underFence(this.#fence, 'storing that a journal entry is handled alone', () =>
      this.#postgres.query<HeldRow>(sql`
        WITH held AS MATERIALIZED (
          SELECT * FROM lease_held(${accountId}, ${owner}, ${epoch}::bigint)
        ), changed AS (
          UPDATE journal SET runs_alone = ${runsAlone}::boolean FROM held
          WHERE account_id = ${accountId} AND ciphertext_hash = ${ciphertextHash}
        )
        SELECT count(*)::integer AS held FROM held`),
    );
  }

  async lastOrder(accountId: string): Promise<bigint> {
    const [row] = await withStorage('reading the journal', () =>
      this.#postgres.query<{ last: bigint | null }>(sql`
        SELECT greatest(
          (SELECT max(stanza_order) FROM journal WHERE account_id = ${accountId}),
          (SELECT max(stanza_order) FROM (
            SELECT stanza_order FROM message WHERE account_id = ${accountId} ORDER BY id DESC LIMIT ${LAST_MESSAGES}
          ) AS newest)
        ) AS last`),
    );
    return row?.last ?? 0n;
  }

  /** @throws {StorageDamagedError} the plaintext cannot be decrypted */
  #entry(accountId: string, row: JournalRow): JournalEntry {
    const { secrets } = this.#postgres;
    return {
      ciphertextHash: row.ciphertext_hash,
      stanzaOrder: row.stanza_order,
      waMessageId: row.wa_message_id,
      plaintext: secrets.openBytes(row.plaintext, journalContext(accountId, row.ciphertext_hash)),
      stanza: row.stanza,
      ...(row.is_done === true && { isDone: true }),
      ...(row.suspicion && { suspicion: row.suspicion }),
    };
  }
}
