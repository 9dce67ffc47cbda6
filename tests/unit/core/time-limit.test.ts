import { describe, expect, it } from 'vitest';
import { orAbort, within, withLimit } from '../../../router/src/core/time-limit.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

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
  it('aborts the signal of the work when the time is over', async () => {
    const clock = new FakeClock();
    let limited: AbortSignal | undefined;
    void withLimit(clock, 100, undefined, (signal) => {
      limited = signal;
      return never;
    });
    expect(limited?.aborted).toBe(false);
    await clock.advanceMs(100);
    expect(limited?.aborted).toBe(true);
  });

  it('aborts with the reason of the outer signal', async () => {
    const outer = new AbortController();
    let limited: AbortSignal | undefined;
    void withLimit(new FakeClock(), 100, outer.signal, (signal) => {
      limited = signal;
      return never;
    });
    outer.abort('stopping');
    await settle();
    expect(limited?.reason).toBe('stopping');
  });
});

describe('orAbort', () => {
  it("throws the signal's reason when it aborts before the wait ends", async () => {
    const stopping = new AbortController();
    const result = orAbort(never, stopping.signal);
    stopping.abort(new Error('stopping'));
    await expect(result).rejects.toThrow('stopping');
  });

  it('returns the result of a wait that ends first', async () => {
    expect(await orAbort(Promise.resolve(1), new AbortController().signal)).toBe(1);
  });
});
