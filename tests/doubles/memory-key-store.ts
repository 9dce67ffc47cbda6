import type {
  KeyChange,
  KeyName,
  KeyScope,
  KeyStore,
  StoredKey,
} from '../../router/src/core/ports/key-store.ts';
import { MemoryJournal } from './memory-journal.ts';

/** Keys in memory, for tests; journal entries go to the given journal. */
export class MemoryKeyStore implements KeyStore {
  readonly #values = new Map<string, string>();
  readonly #journal: MemoryJournal;

  constructor(journal: MemoryJournal = new MemoryJournal()) {
    this.#journal = journal;
  }

  stored(scope: KeyScope, key: KeyName): string | undefined {
    return this.#values.get(nameOf(scope, key));
  }

  async read(scope: KeyScope, names: readonly KeyName[]): Promise<StoredKey[]> {
    return names.flatMap((name) => {
      const value = this.#values.get(nameOf(scope, name));
      return value === undefined ? [] : [{ ...name, value }];
    });
  }

  async commit(scope: KeyScope, change: KeyChange): Promise<void> {
    for (const key of change.deletes) this.#values.delete(nameOf(scope, key));
    for (const put of change.puts) this.#values.set(nameOf(scope, put), put.value);
    this.#journal.add(scope.accountId, change.journal);
  }
}

function nameOf(scope: KeyScope, key: KeyName): string {
  return JSON.stringify([scope.accountId, scope.generation, key.category, key.keyId]);
}
