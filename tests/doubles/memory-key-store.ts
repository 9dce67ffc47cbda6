import type { KeyChange, KeyName, KeyScope, KeyStore } from '../../router/src/core/ports/key-store.ts';
import { MemoryJournal } from './memory-journal.ts';

/** Keys in memory, for tests; journal entries go to the given journal. */
export class MemoryKeyStore implements KeyStore {
  readonly #values = new Map<string, string>();
  readonly #journal: MemoryJournal;

  constructor(journal: MemoryJournal = new MemoryJournal()) {
    this.#journal = journal;
  }

  async read(scope: KeyScope, category: string, keyIds: readonly string[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    for (const keyId of keyIds) {
      const value = this.#values.get(nameOf(scope, { category, keyId }));
      if (value !== undefined) found.set(keyId, value);
    }
    return found;
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
