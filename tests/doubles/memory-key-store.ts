import { StorageRejectedError } from '../../router/src/core/errors.ts';
import type { Stored } from '../../router/src/core/ports/inbox.ts';
import type {
  KeyChange,
  KeyName,
  KeyScope,
  KeyStore,
  StoredKey,
} from '../../router/src/core/ports/key-store.ts';
import type { MemoryInbox } from './memory-inbox.ts';
import { MemoryJournal } from './memory-journal.ts';

/** Keys in memory, for tests; journal entries and messages go to the given journal and inbox. */
export class MemoryKeyStore implements KeyStore {
  readonly #values = new Map<string, string>();
  readonly #journal: MemoryJournal;
  readonly #inbox: (() => Pick<MemoryInbox, 'add'>) | undefined;

  /** @param inbox without one a commit with messages fails */
  constructor(journal = new MemoryJournal(), inbox?: () => Pick<MemoryInbox, 'add'>) {
    this.#journal = journal;
    this.#inbox = inbox;
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

  async commit(scope: KeyScope, change: KeyChange): Promise<Stored[]> {
    const { messages = [] } = change;
    const inbox = this.#inbox?.();
    if (messages.length > 0 && !inbox)
      throw new StorageRejectedError({ sentence: 'This store has no inbox.' });
    const stored: Stored[] = [];
    for (const { message, node } of messages) stored.push(await (inbox as MemoryInbox).add(message, node));
    for (const key of change.deletes) this.#values.delete(nameOf(scope, key));
    for (const put of change.puts) this.#values.set(nameOf(scope, put), put.value);
    this.#journal.add(scope.accountId, change.journal);
    return stored;
  }
}

function nameOf(scope: KeyScope, key: KeyName): string {
  return JSON.stringify([scope.accountId, scope.generation, key.category, key.keyId]);
}
