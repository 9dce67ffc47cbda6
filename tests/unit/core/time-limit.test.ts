import { describe, expect, it } from 'vitest';
import { orAbort, within, withLimit } from '../../../router/src/core/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';

/** Work that ends only when its signal aborts, with the reason. */
const untilAborted = (signal: AbortSignal) =>
  new Promise<unknown>((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    signal.addEventListener('abort', () => resolve(signal.reason));
  });

const never = new Promise<never>(() => undefined);

describe('within', () => {
  it('returns the result of work that ends in time', async () => {
    expect(await within(new FakeClock(), 100, Promise.resolve('done'))).toBe('done');
  });

  it('returns undefined when the time is over', async () => {
    const clock = new FakeClock();
    const result = within(clock, 100, never);
    await clock.advanceMs(100);
    expect(await result).toBeUndefined();
  });

  it('throws what the work throws', async () => {
    await expect(within(new FakeClock(), 100, Promise.reject(new Error('broken')))).rejects.toThrow('broken');
  });
});

describe('withLimit', () => {
  it('aborts the work after the limit', async () => {
    const clock = new FakeClock();
    let isDone = false;
    const work = withLimit(clock, 1_000, undefined, untilAborted).then(() => {
      isDone = true;
    });
    await clock.advanceMs(999);
    expect(isDone).toBe(false);
    await clock.advanceMs(1);
    await work;
  });

  it('aborts the work with the reason of the outer signal, also when it aborted before', async () => {
    const outer = new AbortController();
    const work = withLimit(new FakeClock(), 1_000, outer.signal, untilAborted);
    outer.abort('stopped');
    expect(await work).toBe('stopped');
    expect(await withLimit(new FakeClock(), 1_000, outer.signal, untilAborted)).toBe('stopped');
  });

  it('leaves no wait behind when the work ends', async () => {
    const clock = new FakeClock();
    expect(await withLimit(clock, 1_000, undefined, async () => 7)).toBe(7);
    await expect(withLimit(clock, 1_000, undefined, () => Promise.reject(new Error('no')))).rejects.toThrow(
      'no',
    );
    expect(clock.sleeping).toBe(0);
  });
});

describe('orAbort', () => {
  it('returns the result, or throws the reason of the signal when it aborts first', async () => {
    const stop = new AbortController();
    expect(await orAbort(Promise.resolve(7), undefined)).toBe(7);
    expect(await orAbort(Promise.resolve(7), stop.signal)).toBe(7);
    const pending = orAbort(new Promise(() => undefined), stop.signal);
    stop.abort(new Error('stopped'));
    await expect(pending).rejects.toThrow('stopped');
    await expect(orAbort(Promise.resolve(7), stop.signal)).rejects.toThrow('stopped');
  });
});
