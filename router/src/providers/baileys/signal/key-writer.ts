import type { Clock } from '../../../core/ports/clock.ts';
import type { KeyChange, KeyScope, KeyStore } from '../../../core/ports/key-store.ts';

interface Batch {
  keys: Map<string, { category: string; keyId: string; value: string | undefined }>;
  journal: Map<string, KeyChange['journal'][number]>;
  done: Promise<void>;
}

/** Waits before the second and third try of a commit: a database that restarts its connections is back by then. */
const RETRY_AFTER_MS = [50, 250];

/**
 * Writes key changes in the order of calls, one commit at a time; what is asked for while a commit runs goes together in
 * the next one. So two writes of one key can never swap places, and a busy account needs fewer commits than messages.
 * Later changes build on earlier ones, so after a commit that failed every write fails until `recover`.
 */
export class KeyWriter {
  readonly #store: KeyStore;
  readonly #scope: KeyScope;
  readonly #clock: Clock;
  #running: Promise<void> = Promise.resolve();
  #next: Batch | undefined;
  #failure: { error: unknown } | undefined;

  constructor(store: KeyStore, scope: KeyScope, clock: Clock) {
    this.#store = store;
    this.#scope = scope;
    this.#clock = clock;
  }

  /** Resolves when the change is durable. @throws {StorageUnavailableError} nothing of it was stored, after 3 tries */
  write(change: KeyChange): Promise<void> {
    if (this.#failure) return Promise.reject(this.#failure.error);
    const batch = this.#next ?? this.#openBatch();
    for (const { category, keyId } of change.deletes) {
      batch.keys.set(`${category} ${keyId}`, { category, keyId, value: undefined });
    }
    for (const put of change.puts) batch.keys.set(`${put.category} ${put.keyId}`, put);
    for (const entry of change.journal) batch.journal.set(entry.ciphertextHash, entry);
    return batch.done;
  }

  /** Resolves when every write so far has ended, well or not. */
  async settled(): Promise<void> {
    await this.#next?.done.catch(() => undefined);
    await this.#running;
  }

  /** Takes writes again, after a failure; call when nothing builds on what was not stored any more. */
  async recover(): Promise<void> {
    await this.settled();
    this.#failure = undefined;
  }

  #openBatch(): Batch {
    const batch: Batch = { keys: new Map(), journal: new Map(), done: this.#running };
    this.#next = batch;
    batch.done = this.#running.then(() => {
      this.#next = undefined;
      if (this.#failure) throw this.#failure.error;
      return this.#commit(changeOf(batch));
    });
    this.#running = batch.done.catch((error: unknown) => {
      this.#failure ??= { error };
    });
    return batch;
  }

  async #commit(change: KeyChange): Promise<void> {
    for (const waitMs of RETRY_AFTER_MS) {
      try {
        return await this.#store.commit(this.#scope, change);
      } catch {
        await this.#clock.sleep(waitMs);
      }
    }
    await this.#store.commit(this.#scope, change);
  }
}

function changeOf(batch: Batch): KeyChange {
  const change: KeyChange = { puts: [], deletes: [], journal: [...batch.journal.values()] };
  for (const { category, keyId, value } of batch.keys.values()) {
    if (value === undefined) change.deletes.push({ category, keyId });
    else change.puts.push({ category, keyId, value });
  }
  return change;
}
