import type { Clock } from '../../../core/clock.ts';
import { StorageRejectedError } from '../../../core/errors.ts';
import type { InboundMessage } from '../../../core/messages/inbound-message.ts';
import type { JournalEntry, NewMessage, Stored } from '../../../core/ports/inbox.ts';
import type { KeyChange, KeyName, KeyScope, KeyStore } from '../../../core/ports/key-store.ts';

/** One key in its stored form; an undefined `value` deletes it. */
export interface StoredWrite extends KeyName {
  value: string | undefined;
}

/** Messages that the inbox has, by the unit that stored them. */
export type StoredUnits = ReadonlyMap<number, { message: InboundMessage; stored: Stored }>;

interface GroupCommitListener {
  /** Everything up to this unit is durable. */
  durable(unit: number, stored: StoredUnits): void;
  /** Every unit that is not durable is void. Called once for each failure. */
  failed(error: unknown): void;
  /** The database rejects the values of this unit of a stanza. It is void; the others are stored. Before `durable`. */
  rejected?(unit: number, error: StorageRejectedError): void;
  /** The inbox did not take the messages of a commit. Their journal entries are stored next, without them. */
  untaken?(error: unknown): void;
}

interface UnitOptions {
  journal?: JournalEntry | undefined;
  /** Stored instead of `journal` if the inbox takes it. */
  message?: NewMessage | undefined;
  isStanza?: boolean;
}

interface AppendedUnit extends UnitOptions {
  unit: number;
  writes: readonly StoredWrite[];
}

/** Waits before the second and third attempt of a commit: enough for a database that restarts its connections. */
const RETRY_AFTER_MS = [50, 250];

/**
 * Makes the units of one account durable, in the order of `append`: one commit contains all units that were appended
 * during the previous one. Units depend on each other, so after a failed commit nothing can be appended until
 * `recover`. Values that the database rejects are another matter: their units are found, and only those of stanzas are left
 * out. What a later unit has of such a unit is complete, because a write has the whole value of its key.
 */
export class GroupCommit {
  readonly #store: KeyStore;
  readonly #scope: KeyScope;
  readonly #clock: Clock;
  readonly #listeners = new Set<GroupCommitListener>();
  #next: AppendedUnit[] = [];
  #running: Promise<void> | undefined;
  #failure: { error: unknown } | undefined;
  #appended = 0;
  #durable = 0;

  constructor(store: KeyStore, scope: KeyScope, clock: Clock) {
    this.#store = store;
    this.#scope = scope;
    this.#clock = clock;
  }

  /** Number of the latest unit. */
  get appended(): number {
    return this.#appended;
  }

  /** Number of the latest durable unit. */
  get durable(): number {
    return this.#durable;
  }

  /**
   * @returns the unit's number, from 1
   * @throws {StorageUnavailableError} an earlier unit could not be stored, so this one is not
   */
  append(writes: readonly StoredWrite[], { journal, message, isStanza = false }: UnitOptions = {}): number {
    if (this.#failure) throw this.#failure.error;
    this.#appended += 1;
    this.#next.push({ unit: this.#appended, writes, journal, message, isStanza });
    this.#running ??= this.#run();
    return this.#appended;
  }

  /** @returns removes the listener */
  listen(listener: GroupCommitListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Resolves when everything appended so far is durable or void. */
  async settled(): Promise<void> {
    while (this.#running) await this.#running;
  }

  /**
   * Resolves when everything appended so far is durable.
   * @throws {StorageUnavailableError} some of it is void
   */
  async flush(): Promise<void> {
    await this.settled();
    if (this.#failure) throw this.#failure.error;
  }

  /** Accepts units again after a failure; call it when no step uses void writes any more. */
  async recover(): Promise<void> {
    await this.settled();
    this.#failure = undefined;
    this.#durable = this.#appended;
  }

  async #run(): Promise<void> {
    // Units of the same iteration of the event loop share the first commit.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#next.length > 0) {
      const batch = this.#next;
      const last = this.#appended;
      this.#next = [];
      let stored: StoredUnits;
      try {
        stored = await this.#commitBatch(batch);
      } catch (error) {
        this.#failure = { error };
        this.#next = [];
        this.#running = undefined;
        for (const listener of [...this.#listeners]) listener.failed(error);
        return;
      }
      this.#durable = last;
      for (const listener of [...this.#listeners]) listener.durable(last, stored);
    }
    this.#running = undefined;
  }

  async #commitBatch(batch: readonly AppendedUnit[]): Promise<StoredUnits> {
    if (batch.some(({ message }) => message)) {
      try {
        const results = (await this.#store.commit(this.#scope, changeOf(batch, true))).values();
        return new Map(
          batch.flatMap(({ unit, message: given }) =>
            given ? [[unit, { message: given.message, stored: results.next().value as Stored }]] : [],
          ),
        );
      } catch (error) {
        // Whatever keeps the inbox from taking a message must not keep a key from being stored: the journal takes it.
        for (const listener of [...this.#listeners]) listener.untaken?.(error);
      }
    }
    try {
      await this.#commit(changeOf(batch));
      return new Map();
    } catch (error) {
      if (!(error instanceof StorageRejectedError)) throw error;
    }
    for (const one of batch) {
      try {
        await this.#commit(changeOf([one]));
      } catch (error) {
        if (!(error instanceof StorageRejectedError && one.isStanza)) throw error;
        for (const listener of [...this.#listeners]) listener.rejected?.(one.unit, error);
      }
    }
    return new Map();
  }

  async #commit(change: KeyChange): Promise<void> {
    for (const waitMs of RETRY_AFTER_MS) {
      try {
        await this.#store.commit(this.#scope, change);
        return;
      } catch (error) {
        if (error instanceof StorageRejectedError) throw error;
        await this.#clock.sleep(waitMs);
      }
    }
    await this.#store.commit(this.#scope, change);
  }
}

function changeOf(units: readonly AppendedUnit[], withMessages = false): KeyChange {
  const writes = new Map<string, StoredWrite>();
  for (const unit of units) {
    for (const write of unit.writes) writes.set(`${write.category} ${write.keyId}`, write);
  }
  const change: KeyChange = {
    puts: [],
    deletes: [],
    journal: units.flatMap(({ journal, message }) => (journal && !(withMessages && message) ? journal : [])),
    ...(withMessages && { messages: units.flatMap(({ message }) => message ?? []) }),
  };
  for (const { category, keyId, value } of writes.values()) {
    if (value === undefined) change.deletes.push({ category, keyId });
    else change.puts.push({ category, keyId, value });
  }
  return change;
}
