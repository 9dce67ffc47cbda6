import sql from 'sql-template-tag';
import type { Clock } from '../../../core/clock.ts';
import { MediaError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { ListedFile, MediaStore } from '../../../core/ports/media.ts';
import type { Postgres } from '../postgres.ts';
import { withStorage } from '../stores/storage-errors.ts';

/** Between two runs over a store. */
const EVERY_MS = 6 * 3_600_000;
/** A file is stored before its row: a younger one may be about to get it. */
const MIN_AGE_MS = 24 * 3_600_000;
/** Names of one question to the database. */
const BATCH = 500;
/** Above this part of the limit, the oldest files are removed: of people, then of replies that WhatsApp acknowledged. */
const FULL = 0.9;

interface FileUpkeepDeps {
  postgres: Postgres;
  stores: readonly MediaStore[];
  /** Total size of the files of the store `disk`, in bytes. */
  maxDiskBytes: number;
  clock: Clock;
  log: Logger;
}

/**
 * Removes files of stores that no row names: those of rows that are gone, and those of a crash between the file and its row.
 * Every node may run it at any time.
 */
export class FileUpkeep {
  readonly #deps: FileUpkeepDeps;
  #lastMs = Number.NEGATIVE_INFINITY;

  constructor(deps: FileUpkeepDeps) {
    this.#deps = deps;
  }

  /** Does nothing until six hours after the run before. @throws {StorageUnavailableError} */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, stores, log } = this.#deps;
    if (clock.monotonicMs() - this.#lastMs < EVERY_MS) return;
    this.#lastMs = clock.monotonicMs();
    for (const store of stores) {
      try {
        const removed = await this.#runStore(store, signal);
        if (removed > 0) log.info({ store: store.name, removed }, 'files without a message removed');
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof MediaError)) throw error;
        log.warn({ err: error, store: store.name }, 'cannot remove old files, retrying in the next run');
      }
    }
  }

  async #runStore(store: MediaStore, signal: AbortSignal): Promise<number> {
    if (store.name === 'disk') await this.#makeRoom(store);
    let removed = 0;
    let batch: ListedFile[] = [];
    for await (const file of store.list()) {
      signal.throwIfAborted();
      if (this.#deps.clock.now() - file.storedAtMs < MIN_AGE_MS) continue;
      batch.push(file);
      if (batch.length < BATCH) continue;
      removed += await this.#removeUnnamed(store, batch);
      batch = [];
    }
    return removed + (await this.#removeUnnamed(store, batch));
  }

  async #removeUnnamed(store: MediaStore, files: readonly ListedFile[]): Promise<number> {
    if (files.length === 0) return 0;
    const locations = files.map(({ location }) => location);
    const named = await withStorage('looking for the messages of files', () =>
      this.#deps.postgres.query<{ location: string }>(sql`
        SELECT location FROM outbox_file WHERE store = ${store.name} AND location = ANY (${locations}::text[])
        UNION ALL
        SELECT location FROM message_file WHERE store = ${store.name} AND location = ANY (${locations}::text[])`),
    );
    const kept = new Set(named.map(({ location }) => location));
    const unnamed = locations.filter((location) => !kept.has(location));
    for (const location of unnamed) await store.remove(location);
    return unnamed.length;
  }

  /** Removes the oldest files while the store is nearly full; a reply that waits keeps its file. */
  async #makeRoom(store: MediaStore): Promise<void> {
    const sizes = new Map<string, number>();
    for await (const { location, sizeBytes } of store.list()) sizes.set(location, sizeBytes);
    let usedBytes = [...sizes.values()].reduce((sum, size) => sum + size, 0);
    while (usedBytes > this.#deps.maxDiskBytes * FULL) {
      const received = await withStorage('removing old files', () =>
        this.#deps.postgres.query<{ location: string }>(sql`
          DELETE FROM message_file WHERE message_id IN (
            SELECT message_id FROM message_file WHERE store = ${store.name} ORDER BY stored_at LIMIT 20 FOR UPDATE SKIP LOCKED)
          RETURNING location`),
      );
      const gone =
        received.length > 0
          ? received
          : await withStorage('removing old files', () =>
              this.#deps.postgres.query<{ location: string }>(sql`
          WITH old AS (
            SELECT f.outbox_id, f.location FROM outbox_file f JOIN outbox o ON o.id = f.outbox_id
            WHERE f.store = ${store.name} AND o.state IN ('acked', 'delivered', 'read')
            ORDER BY f.outbox_id LIMIT 20 FOR UPDATE OF f SKIP LOCKED)
          UPDATE outbox_file f SET store = NULL, location = NULL FROM old WHERE f.outbox_id = old.outbox_id
          RETURNING old.location`),
            );
      if (gone.length === 0) return;
      for (const { location } of gone) {
        await store.remove(location);
        usedBytes -= sizes.get(location) ?? 0;
      }
    }
  }
}
