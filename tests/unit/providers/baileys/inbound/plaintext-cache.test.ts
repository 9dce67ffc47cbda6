import { expect, it } from 'vitest';
import type { JournalEntry } from '../../../../../router/src/core/ports/journal.ts';
import { PlaintextCache } from '../../../../../router/src/providers/baileys/inbound/plaintext-cache.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';

const entry = (ciphertextHash: string, plaintext: Uint8Array = Buffer.from('text')): JournalEntry => ({
  ciphertextHash,
  stanzaOrder: 1n,
  waMessageId: 'A',
  plaintext,
  stanza: Buffer.from('{}'),
});

it('finds what it remembers at hand, and what is older in the journal', async () => {
  const journal = new MemoryJournal();
  journal.add('main', [entry('older')]);
  const recalled = new PlaintextCache(journal, 'main');
  recalled.remember(entry('newer'));
  expect(recalled.atHand('newer')).toMatchObject({ ciphertextHash: 'newer' });
  expect(recalled.atHand('older')).toBeUndefined();
  expect(await recalled.find('newer')).toMatchObject({ ciphertextHash: 'newer' });
  expect(await recalled.find('older')).toMatchObject({ ciphertextHash: 'older' });
  expect(await recalled.find('unknown')).toBeUndefined();
});

it('keeps no memory but the bytes themselves', () => {
  const recalled = new PlaintextCache(new MemoryJournal(), 'main');
  recalled.remember(entry('a', Buffer.from(new ArrayBuffer(8_192), 0, 10)));
  expect(recalled.atHand('a')?.plaintext.buffer.byteLength).toBe(10);
});

it('remembers a bounded number, the latest', () => {
  const recalled = new PlaintextCache(new MemoryJournal(), 'main');
  for (let number = 0; number <= 1_000; number++) recalled.remember(entry(`hash ${number}`));
  expect(recalled.atHand('hash 0')).toBeUndefined();
  expect(recalled.atHand('hash 1000')).toBeDefined();
});
