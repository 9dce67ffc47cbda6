import type { Journal } from '../../core/ports/journal.ts';
import { type JournalledStanza, stanzasOf } from './stanza.ts';

const PAGE = 500;

/**
 * All that is journalled of an account, in stanza order, read a page at a time.
 * @param untilReady awaited before each further page
 * @throws {StorageUnavailableError} the journal could not be read
 */
export async function* journalledStanzas(
  journal: Journal,
  accountId: string,
  untilReady: () => Promise<void>,
): AsyncGenerator<JournalledStanza> {
  let afterOrder = 0n;
  for (;;) {
    const entries = await journal.pending(accountId, { afterOrder, limit: PAGE });
    yield* stanzasOf(entries);
    const last = entries.at(-1);
    if (!last || entries.length < PAGE) return;
    afterOrder = last.stanzaOrder;
    await untilReady();
  }
}
