import { AsyncLocalStorage } from 'node:async_hooks';
import { afterEach, vi } from 'vitest';

/** In Node 20 each of these slows every promise of the process down from its first use until it is disabled. */
const shared = globalThis as typeof globalThis & { wa2aiUsedStorages?: Set<AsyncLocalStorage<unknown>> };

if (!shared.wa2aiUsedStorages) {
  const used = new Set<AsyncLocalStorage<unknown>>();
  shared.wa2aiUsedStorages = used;
  for (const method of ['run', 'enterWith'] as const) {
    const original = AsyncLocalStorage.prototype[method] as (...args: unknown[]) => unknown;
    Object.assign(AsyncLocalStorage.prototype, {
      [method](this: AsyncLocalStorage<unknown>, ...args: unknown[]) {
        used.add(this);
        return original.apply(this, args);
      },
    });
  }
}

/** Files of unit tests share their worker: no clock, no spy and no storage of a test is left to the next. */
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const storage of shared.wa2aiUsedStorages ?? []) storage.disable();
  shared.wa2aiUsedStorages?.clear();
});
