import { executionAsyncResource } from 'node:async_hooks';

/**
 * How many AsyncLocalStorages each asynchronous step of this process carries along: those in use, by one symbol each. None
 * from Node 24 on, which keeps them elsewhere.
 */
export function exportedStores(): Promise<number> {
  return new Promise((resolve) => {
    setImmediate(() => resolve(Object.getOwnPropertySymbols(executionAsyncResource()).length));
  });
}
