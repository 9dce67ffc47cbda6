import { addTransactionCapability } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { createBaileysLogger } from '../../../../../router/src/providers/baileys/connection/baileys-logger.ts';
import { releasesStorage } from '../../../../../router/src/providers/baileys/connection/transaction-storage.ts';
import { exportedStores } from '../../../../support/export-stores.ts';
import { quietLog } from '../../../../support/quiet-log.ts';

function keysOfSocket() {
  const stored: unknown[] = [];
  const state = {
    get: async () => ({}),
    set: async (data: object) => {
      stored.push(data);
    },
  };
  const options = { maxCommitRetries: 1, delayBetweenTriesMs: 0 };
  return { stored, keys: addTransactionCapability(state, createBaileysLogger(quietLog), options) };
}

const session = (id: string) => ({ session: { [id]: Uint8Array.of(1) } });

describe('what a socket keeps of the process', () => {
  it('is given back at its end, however many there were', async () => {
    const before = await exportedStores();
    for (let socket = 0; socket < 20; socket += 1) {
      const { keys, stored } = keysOfSocket();
      const release = releasesStorage(keys);
      await keys.transaction(async () => await keys.set(session('ana')), 'account');
      expect(stored).toEqual([session('ana')]);
      release();
    }
    expect(await exportedStores()).toBe(before);
  });

  it('stays until its last transaction is stored, all of it at once, and also when one begins after its end', async () => {
    const before = await exportedStores();
    const { keys, stored } = keysOfSocket();
    const release = releasesStorage(keys);
    let go: () => void = () => undefined;
    const isReleased = new Promise<void>((resolve) => {
      go = resolve;
    });
    const first = keys.transaction(async () => {
      await keys.set(session('ana'));
      await isReleased;
      await keys.set(session('bob'));
      expect(keys.isInTransaction()).toBe(true);
    }, 'account');
    release();
    go();
    await first;
    expect(stored).toEqual([{ session: { ...session('ana').session, ...session('bob').session } }]);
    await keys.transaction(async () => await keys.set(session('eve')), 'account');
    expect(stored).toHaveLength(2);
    expect(await exportedStores()).toBe(before);
  });
});
