import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LeaseLostError } from '../../../../../router/src/core/errors.ts';
import { JournalTrim } from '../../../../../router/src/providers/baileys/inbound/journal-trim.ts';
import { MemoryJournal } from '../../../../doubles/memory-journal.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

let journal: MemoryJournal;
let trim: JournalTrim;

beforeEach(() => {
  vi.useFakeTimers();
  journal = new MemoryJournal();
  for (const hash of ['a', 'b']) {
    const plaintext = new Uint8Array([1]);
    journal.add('main', [
      { ciphertextHash: hash, stanzaOrder: 1n, waMessageId: hash, plaintext, stanza: plaintext },
    ]);
  }
  const clock = { now: () => 0, monotonicMs: () => Date.now(), sleep: () => Promise.resolve() };
  trim = new JournalTrim(journal, 'main', clock, recordingLog());
});
afterEach(() => {
  vi.useRealTimers();
});

const left = async () => {
  const entries = await journal.pending('main', { afterOrder: 0n, limit: 10 });
  return entries.map((entry) => entry.ciphertextHash);
};

it('drops what was received and receipted, some seconds later', async () => {
  trim.received(['a']);
  trim.receipted('a');
  expect(await left()).toEqual(['a', 'b']);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await left()).toEqual(['b']);
});

it('keeps what WhatsApp may deliver again because no receipt went out', async () => {
  trim.received(['a']);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await left()).toEqual(['a', 'b']);
  trim.receipted('a');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await left()).toEqual(['b']);
});

it('drops at once what was received and WhatsApp has the receipt of, and the rest of it once it is received', async () => {
  trim.received(['a']);
  trim.settled(['a', 'b']);
  await vi.advanceTimersByTimeAsync(0);
  expect(await left()).toEqual(['b']);
  trim.received(['b']);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await left()).toEqual([]);
});

it('drops what was received ten minutes ago and never came again', async () => {
  trim.received(['a']);
  await vi.advanceTimersByTimeAsync(11 * 60_000);
  expect(await left()).toEqual(['b']);
});

it('keeps what core would not take for the next start', async () => {
  trim.receipted('a');
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  await trim.finish();
  expect(await left()).toEqual(['a', 'b']);
});

it('tries again what could not be dropped', async () => {
  const forget = vi.spyOn(journal, 'forget').mockRejectedValueOnce(new Error('no database'));
  trim.received(['a']);
  trim.receipted('a');
  await vi.advanceTimersByTimeAsync(20_000);
  expect(forget.mock.calls.length).toBeGreaterThan(1);
  expect(await left()).toEqual(['b']);
});

it('leaves everything to the next owner once the account is lost', async () => {
  const forget = vi.spyOn(journal, 'forget').mockRejectedValue(new LeaseLostError('main'));
  trim.received(['a']);
  trim.receipted('a');
  await vi.advanceTimersByTimeAsync(60 * 60_000);
  await trim.finish();
  expect(forget).toHaveBeenCalledOnce();
  expect(await left()).toEqual(['a', 'b']);
});

it('drops at the end what is done, and keeps what was receipted just now for the next start', async () => {
  trim.received(['a', 'b']);
  trim.receipted('b');
  await vi.advanceTimersByTimeAsync(4_000);
  trim.receipted('a');
  await vi.advanceTimersByTimeAsync(999);
  await trim.finish();
  expect(await left()).toEqual(['a', 'b']);
  await vi.advanceTimersByTimeAsync(1);
  await trim.finish();
  expect(await left()).toEqual(['a']);
});
