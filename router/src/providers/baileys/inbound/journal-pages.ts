import type { Journal } from '../../../core/ports/journal.ts';
import { type JournalledStanza, stanzasOf, type UnreadableEntry } from '../messages/stanza.ts';

const PAGE = 500;

/**
 * All that is journalled of an account, in stanza order, read a page at a time; what of a page cannot be read, after it.
 * @param untilReady awaited before each further page
 * @throws {StorageUnavailableError} the journal could not be read
 */
export async function* journalledStanzas(
  journal: Journal,
  accountId: string,
  untilReady: () => Promise<void>,
): AsyncGenerator<JournalledStanza | UnreadableEntry> {
  let afterOrder = 0n;
  for (;;) {
    const entries = await journal.pending(accountId, { afterOrder, limit: PAGE });
    const { stanzas, unreadable } = stanzasOf(entries);
    yield* stanzas;
    yield* unreadable;
    const last = entries.at(-1);
    if (!last || entries.length < PAGE) return;
    afterOrder = last.stanzaOrder;
    await untilReady();
  }
}
