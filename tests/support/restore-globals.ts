import { AsyncLocalStorage } from 'node:async_hooks';
import { afterAll, afterEach, vi } from 'vitest';

/** The globals before the worker's first file. This module runs again for each file. */
interface Found {
  timers: Record<'setTimeout' | 'setInterval' | 'setImmediate', unknown>;
  /** Used by the test that runs. */
  storages: Set<AsyncLocalStorage<unknown>>;
}

const worker = globalThis as typeof globalThis & { wa2aiFound?: Found };
worker.wa2aiFound ??= { timers: presentTimers(), storages: watchStorages() };
const { timers, storages } = worker.wa2aiFound;

/** Files share their worker: no clock, no spy and no storage of a test is left to the next. */
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  for (const storage of storages) storage.disable();
  storages.clear();
});

afterAll(() => {
  for (const [name, found] of Object.entries(timers)) {
    if (presentTimers()[name as keyof Found['timers']] !== found) throw new Error(`${name} was left mocked`);
  }
});

function presentTimers(): Found['timers'] {
  const { setTimeout, setInterval, setImmediate } = globalThis;
  return { setTimeout, setInterval, setImmediate };
}

/** In Node 20 each storage slows down every promise of the process, from its first use until it is disabled. */
function watchStorages(): Found['storages'] {
  const used: Found['storages'] = new Set();
  for (const method of ['run', 'enterWith'] as const) {
    const original = AsyncLocalStorage.prototype[method] as (...args: unknown[]) => unknown;
    Object.assign(AsyncLocalStorage.prototype, {
      [method](this: AsyncLocalStorage<unknown>, ...args: unknown[]) {
        used.add(this);
        return original.apply(this, args);
      },
    });
  }
  return used;
}
