import type { SignalKeyStoreWithTransaction } from '@whiskeysockets/baileys';
import type { AccountKeys } from './account-keys.ts';
import { Unit } from './unit.ts';

/**
 * Runs the Signal work of one account, one step at a time: encryption, decryption, sender keys, session migration. No
 * step can overwrite the changes of another. The writes of a step are one unit, appended to the group commit when it
 * succeeds.
 */
export class SignalSteps {
  readonly #keys: AccountKeys;
  #current: Unit | undefined;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(keys: AccountKeys) {
    this.#keys = keys;
  }

  /**
   * The keys for libsignal, inside steps: reads see the writes of the step, writes go to its unit. The step is the
   * transaction, so Baileys' own transactions need no lock and no context.
   */
  readonly keys: SignalKeyStoreWithTransaction = {
    get: async (category, keyIds) => {
      const unit = this.#current;
      if (!unit) return this.#keys.get(category, keyIds);
      const written: Awaited<ReturnType<typeof this.keys.get<typeof category>>> = {};
      const others = keyIds.filter((keyId) => {
        const write = unit.get(category, keyId);
        if (write?.value !== undefined) written[keyId] = write.value as (typeof written)[string];
        return !write;
      });
      if (others.length === 0) return written;
      try {
        return { ...(await this.#keys.get(category, others)), ...written };
      } catch (error) {
        unit.storageError = error;
        throw error;
      }
    },
    set: async (data) => {
      if (!this.#current) throw new Error('Signal keys were written outside a step');
      this.#current.set(data);
    },
    clear: async () => {
      throw new Error('Signal keys are never cleared');
    },
    isInTransaction: () => this.#current !== undefined,
    transaction: (work) => work(),
  };

  /**
   * Runs `work` alone, after all earlier steps. Do not call it inside a step: it would wait for itself.
   * @returns the result, and the number of the step's unit; 0 when it has nothing to store
   * @throws {StorageUnavailableError} a key could not be read, even if `work` catches that, or the unit cannot be stored
   */
  run<T>(work: (unit: Unit) => Promise<T>): Promise<{ result: T; unit: number }> {
    return this.#alone(async () => {
      const unit = new Unit();
      this.#current = unit;
      try {
        const result = await work(unit);
        if (unit.storageError) throw unit.storageError;
        return { result, unit: unit.isEmpty ? 0 : this.#keys.append(unit) };
      } finally {
        this.#current = undefined;
      }
    });
  }

  /** As `run`, without the number of the unit. */
  async step<T>(work: (unit: Unit) => Promise<T>): Promise<T> {
    return (await this.run(work)).result;
  }

  /** Resolves when every earlier step has ended. */
  async settled(): Promise<void> {
    await this.#tail;
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => undefined);
    return done;
  }
}
