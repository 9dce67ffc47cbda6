import { randomBytes } from 'node:crypto';
import sql from 'sql-template-tag';
import { type StorageTrouble, StorageTroubleError, StorageUnavailableError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import type { StorageHealth } from '../../../core/ports/storage-health.ts';
import type { Postgres } from '../postgres.ts';
import { codeOf, withStorage } from '../stores/storage-errors.ts';
import { TROUBLE_SENTENCES, troubleOf } from './storage-faults.ts';
import { type MissingRight, missingRightSentence, missingRightsSql, TABLES } from './table-privileges.ts';

/** So much must fit on a disk that was full before it counts as free again: a few rows always find a gap somewhere. */
const PROBE_BYTES = 1_048_576;

export interface StorageCheckDeps {
  postgres: Postgres;
  /** This node's name: each has a probe of its own. */
  nodeId: string;
  /** Migrations that this version knows, by name. */
  migrations: readonly string[];
  /** What keeps a server of our own from running. */
  serverTrouble?(): StorageTroubleError | undefined;
  log: Logger;
}

/** How it failed to answer differs from one look to the next. */
const NO_ANSWER = 'The database does not answer.';

/** What the database looked like to a statement. */
interface Look {
  is_read_only: boolean;
  has_migrations: boolean;
}

/**
 * Looks whether the database takes what this service stores: it answers, is writable, has the tables and gives the
 * rights that every statement needs, was not migrated by a newer version, and, after it was full, has room again. Changes
 * are logged once.
 */
export class StorageCheck implements StorageHealth {
  readonly #deps: StorageCheckDeps;
  /** A statement found the disk full since a probe last fitted on it. */
  #wasFull = false;
  #told: string | undefined;
  #running: Promise<void> | undefined;

  constructor(deps: StorageCheckDeps) {
    this.#deps = deps;
  }

  get trouble(): string | undefined {
    return this.#told;
  }

  /** To be told of every error of a statement. */
  note(error: unknown): void {
    if (troubleOf(codeOf(error), error)?.kind === 'full') this.#wasFull = true;
  }

  /** Several at once share one look. */
  check(): Promise<void> {
    this.#running ??= this.#check().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #check(): Promise<void> {
    try {
      await this.#look();
      await this.#refuseNewer();
      await this.#probe();
      this.#tell(undefined);
    } catch (caught) {
      const isNamed = caught instanceof StorageTroubleError;
      const error = isNamed ? caught : (this.#deps.serverTrouble?.() ?? caught);
      if (error instanceof StorageUnavailableError) this.#tell(error);
      throw error;
    }
  }

  async #look(): Promise<void> {
    const { postgres } = this.#deps;
    const [look] = await withStorage('looking after it', () =>
      postgres.query<Look>(sql`
        SELECT current_setting('transaction_read_only') = 'on' AS is_read_only,
          to_regclass('_prisma_migrations') IS NOT NULL
            AND has_table_privilege(to_regclass('_prisma_migrations'), 'SELECT') AS has_migrations`),
    );
    if (look?.is_read_only) {
      throw trouble('read-only', TROUBLE_SENTENCES['read-only']);
    }
    const missing = await withStorage('looking after its rights', () =>
      postgres.query<MissingRight>(missingRightsSql(TABLES)),
    );
    const sentence = missingRightSentence(missing);
    if (sentence) throw trouble(missing[0]?.right === null ? 'schema' : 'rights', sentence);
    if (!look?.has_migrations) {
      throw trouble(
        'rights',
        'The database user lacks the right SELECT on "_prisma_migrations": GRANT SELECT ON _prisma_migrations TO that user.',
      );
    }
  }

  /** Another node may have brought a newer version along: what this one would write need not fit any more. */
  async #refuseNewer(): Promise<void> {
    const { postgres, migrations } = this.#deps;
    const applied = await withStorage('looking after its migrations', () =>
      postgres.query<{ migration_name: string }>(sql`
        SELECT migration_name FROM "_prisma_migrations" WHERE rolled_back_at IS NULL ORDER BY started_at`),
    );
    const unknown = applied.find(({ migration_name: name }) => !migrations.includes(name));
    if (!unknown) return;
    throw trouble(
      'newer',
      `A newer wa2ai has migrated the database ("${unknown.migration_name}"), which this version does not know: update this node.`,
    );
  }

  async #probe(): Promise<void> {
    if (!this.#wasFull) return;
    const { postgres, nodeId } = this.#deps;
    const name = `probe ${nodeId}`;
    const filler = randomBytes(PROBE_BYTES);
    await withStorage('trying whether there is room', () =>
      postgres.execute(sql`
        INSERT INTO journal (account_id, ciphertext_hash, stanza_order, wa_message_id, plaintext, stanza)
        VALUES ('', ${name}, 0, '', ${filler}, '')
        ON CONFLICT (account_id, ciphertext_hash) DO UPDATE SET plaintext = excluded.plaintext`),
    );
    await withStorage('trying whether there is room', () =>
      postgres.execute(sql`DELETE FROM journal WHERE account_id = '' AND ciphertext_hash = ${name}`),
    );
    this.#wasFull = false;
  }

  #tell(error: StorageUnavailableError | undefined): void {
    const sentence = error instanceof StorageTroubleError ? error.message : error && NO_ANSWER;
    if (sentence === this.#told) return;
    this.#told = sentence;
    if (sentence) this.#deps.log.error({ trouble: sentence }, 'the database takes nothing');
    else this.#deps.log.info({}, 'the database takes everything again');
  }
}

function trouble(kind: StorageTrouble, sentence: string): StorageTroubleError {
  return new StorageTroubleError(kind, sentence);
}
