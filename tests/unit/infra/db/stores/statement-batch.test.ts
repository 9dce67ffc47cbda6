import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../../../../router/src/core/errors.ts';
import { StatementBatch } from '../../../../../router/src/infra/db/stores/rows.ts';

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
  it('executes calls of the same turn together, and those that arrive meanwhile', async () => {
    const { batch, executed, answer } = setup();
    const calls = [1, 2].map((item) => batch.add(item));
    await setImmediate();
    expect(executed).toEqual([[1, 2]]);
    calls.push(batch.add(3), batch.add(4));
    answer();
    expect(await Promise.all(calls.slice(0, 2))).toEqual(['row 1', 'row 2']);
    await setImmediate();
    expect(executed).toEqual([
      [1, 2],
      [3, 4],
    ]);
    answer();
    expect(await Promise.all(calls.slice(2))).toEqual(['row 3', 'row 4']);
  });

  it('limits the calls of one statement', async () => {
    const { batch, executed, answer } = setup(2);
    const calls = [1, 2, 3].map((item) => batch.add(item));
    for (const index of [0, 2]) {
      await setImmediate();
      answer();
      await calls[index];
    }
    expect(executed).toEqual([[1, 2], [3]]);
  });

  it('executes calls one by one when the database refuses one of them', async () => {
    const batch = new StatementBatch<number, string>(async (items) => {
      if (items.includes(2)) throw new Error(`refused of ${items.length}`);
      return items.map((item) => `row ${item}`);
    }, 10);
    const ends = await Promise.allSettled([1, 2, 3].map((item) => batch.add(item)));
    expect(ends).toEqual([
      { status: 'fulfilled', value: 'row 1' },
      { status: 'rejected', reason: new Error('refused of 1') },
      { status: 'fulfilled', value: 'row 3' },
    ]);
  });

  it('rejects all calls when the database does not answer', async () => {
    let statements = 0;
    const batch = new StatementBatch<number, string>(async () => {
      statements += 1;
      throw new StorageUnavailableError({ sentence: 'down' });
    }, 10);
    const ends = await Promise.allSettled([1, 2].map((item) => batch.add(item)));
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(statements).toBe(1);
  });

  it('rejects the calls of a failed statement, and executes later ones', async () => {
    const { batch, executed, ends, answer } = setup();
    const failed = batch.add(1);
    await setImmediate();
    const later = batch.add(2);
    ends.shift()?.reject(new Error('down'));
    await expect(failed).rejects.toThrow('down');
    await setImmediate();
    answer();
    expect(await later).toBe('row 2');
    const last = batch.add(3);
    await setImmediate();
    expect(executed).toEqual([[1], [2], [3]]);
    answer();
    expect(await last).toBe('row 3');
  });
});
