import { AsyncLocalStorage } from 'node:async_hooks';
import type { SignalKeyStoreWithTransaction } from '@whiskeysockets/baileys';

/**
 * Baileys makes an AsyncLocalStorage with every socket, and Node before 24 keeps each one that was ever used: every await
 * of the process then costs a little more with each reconnect, for good. The returned function takes the storage of a
 * socket that has ended out of use, as soon as no key transaction of it is under way: inside of one it is needed still.
 */
export function releasesStorage(keys: SignalKeyStoreWithTransaction): () => void {
  const storage = storageOf(keys);
  const { transaction } = keys;
  let underWay = 0;
  let isOver = false;
  const releaseWhenIdle = () => {
    if (isOver && underWay === 0) storage?.disable();
  };
  keys.transaction = async (work, name) => {
    underWay += 1;
    try {
      return await transaction(work, name);
    } finally {
      underWay -= 1;
      releaseWhenIdle();
    }
  };
  return () => {
    isOver = true;
    releaseWhenIdle();
  };
}

/** Baileys shows its storage to nobody; it is the one that is asked whether a transaction is under way. */
function storageOf(keys: SignalKeyStoreWithTransaction): AsyncLocalStorage<unknown> | undefined {
  const { getStore } = AsyncLocalStorage.prototype;
  let asked: AsyncLocalStorage<unknown> | undefined;
  AsyncLocalStorage.prototype.getStore = function (this: AsyncLocalStorage<unknown>) {
    asked ??= this;
    return getStore.call(this);
  };
  try {
    keys.isInTransaction();
  } finally {
    AsyncLocalStorage.prototype.getStore = getStore;
  }
  return asked;
}
