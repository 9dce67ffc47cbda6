import { describe, expect, it } from 'vitest';
import { StatementBatch } from '../../../../../router/src/infra/storage/stores/statement-batch.ts';

function setup(maxSize = 10) {
  const executed: Array<readonly number[]> = [];
  const ends: Array<{ resolve(results: string[]): void; reject(error: Error): void }> = [];
  const batch = new StatementBatch<number, string>((items) => {
    executed.push([...items]);
    return new Promise((resolve, reject) => ends.push({ resolve, reject }));
  }, maxSize);
  /** The statement that runs answers. */
  const answer = () => ends.shift()?.resolve((executed.at(-1) ?? []).map((item) => `row ${item}`));
  return { batch, executed, ends, answer };
}

describe('StatementBatch', () => {
  it('executes a call alone at once, and those that arrive meanwhile together', async () => {
    const { batch, executed, answer } = setup();
    const calls = [1, 2, 3].map((item) => batch.add(item));
    expect(executed).toEqual([[1]]);
    answer();
    expect(await calls[0]).toBe('row 1');
    expect(executed).toEqual([[1], [2, 3]]);
    answer();
    expect(await Promise.all(calls)).toEqual(['row 1', 'row 2', 'row 3']);
  });

  it('limits the calls of one statement', async () => {
    const { batch, executed, answer } = setup(2);
    const calls = [1, 2, 3, 4].map((item) => batch.add(item));
    for (const index of [0, 2, 3]) {
      answer();
      await calls[index];
    }
    expect(executed).toEqual([[1], [2, 3], [4]]);
  });

  it('rejects the calls of a failed statement, and executes later ones', async () => {
    const { batch, executed, ends, answer } = setup();
    const failed = batch.add(1);
    const later = batch.add(2);
    ends.shift()?.reject(new Error('down'));
    await expect(failed).rejects.toThrow('down');
    answer();
    expect(await later).toBe('row 2');
    const last = batch.add(3);
    expect(executed).toEqual([[1], [2], [3]]);
    answer();
    expect(await last).toBe('row 3');
  });
});
