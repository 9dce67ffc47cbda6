import { expect, it } from 'vitest';
import { journalledStanzas } from '../../../../../router/src/providers/baileys/inbound/journal-pages.ts';
import { encodeStanza } from '../../../../../router/src/providers/baileys/messages/stanza.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';

it('reads every stanza once, in order, its parts together, also where a page ends between them', async () => {
  const journal = new MemoryJournal();
  const stanza = encodeStanza({ attrs: { id: 'A', from: 'x' }, parts: 2, behind: [{ key: 'k', order: 3n }] });
  for (let order = 700n; order > 0n; order -= 1n) {
    const entry = { stanzaOrder: order, waMessageId: 'A', plaintext: Buffer.from('p'), stanza };
    journal.add('main', [
      { ...entry, ciphertextHash: `${order} key` },
      { ...entry, ciphertextHash: `${order} text` },
    ]);
  }
  let waits = 0;
  const orders: bigint[] = [];
  for await (const found of journalledStanzas(journal, 'main', async () => {
    waits += 1;
  })) {
    if ('unreadable' in found) throw new Error('an entry cannot be read');
    const { order, entries, parts, behind } = found;
    orders.push(order);
    expect([entries.length, parts, behind]).toEqual([2, 2, [{ key: 'k', order: 3n }]]);
  }
  expect(orders).toEqual(Array.from({ length: 700 }, (_, index) => BigInt(index + 1)));
  expect(waits).toBe(2);
});

it('reads nothing from an empty journal, and waits for nothing', async () => {
  const never = () => Promise.reject(new Error('waited'));
  for await (const _ of journalledStanzas(new MemoryJournal(), 'main', never)) expect.fail('a stanza');
});
