import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { withTimeout } from '../../../../../router/src/infra/faces/rest/with-timeout.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('withTimeout returns the result of work that ends in time, and leaves no timer', async () => {
  expect(await withTimeout(1_000, Promise.resolve('done'), () => 'late')).toBe('done');
  expect(vi.getTimerCount()).toBe(0);
});

it('withTimeout returns the other result after the limit, or throws its error', async () => {
  const never = new Promise<string>(() => undefined);
  const late = withTimeout(1_000, never, () => 'late');
  const failing = withTimeout(1_000, never, () => {
    throw new Error('too late');
  });
  const failed = expect(failing).rejects.toThrow('too late');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await late).toBe('late');
  await failed;
});

it('withTimeout passes on the error of work that fails in time', async () => {
  await expect(withTimeout(1_000, Promise.reject(new Error('broken')), () => 'late')).rejects.toThrow(
    'broken',
  );
});
