import { describe, expect, it } from 'vitest';
import type { ChatAddress } from '../../../../../router/src/core/messages/inbound-message.ts';
import { ChatLocks } from '../../../../../router/src/providers/baileys/account/chat-locks.ts';
import type { AuthState } from '../../../../../router/src/providers/baileys/signal/auth-state.ts';
import { recordingLog } from '../../../../support/quiet-log.ts';

/** Keys of an account whose app state was read up to a version; 0: never. */
function keysAt(version: number) {
  let known: object | null = version === 0 ? null : { version };
  const keys = {
    get: async () => (known ? { regular_low: known } : {}),
    set: async (data: { 'app-state-sync-version': { regular_low: null } }) => {
      known = data['app-state-sync-version'].regular_low;
    },
  };
  return { auth: { keys } as unknown as Pick<AuthState, 'keys'>, version: () => known };
}

function setup(given: { store?(): Promise<void>; resync?(): Promise<void> } = {}) {
  const stored: Array<[ChatAddress, boolean]> = [];
  const failures: unknown[] = [];
  const reads: unknown[][] = [];
  const log = recordingLog();
  const locks = new ChatLocks({
    chatOf: async (jid) => (jid.endsWith('@lid') ? { kind: 'person', lid: jid.split('@')[0] } : undefined),
    store: async (chat, isLocked) => {
      await given.store?.();
      stored.push([chat, isLocked]);
    },
    onStorageFailed: (error) => void failures.push(error),
    log,
  });
  const socket = {
    resyncAppState: async (...args: unknown[]) => {
      reads.push(args);
      await given.resync?.();
    },
  };
  return { locks, socket, stored, failures, reads, log };
}

describe('ChatLocks', () => {
  it('reads all locks once with the keys of an account, from the beginning', async () => {
    const { locks, socket, reads } = setup();
    const { auth, version } = keysAt(7);
    await locks.opened(socket, auth);
    expect([reads, version()]).toEqual([[[['regular_low'], true]], null]);
    await locks.opened(socket, auth);
    expect(reads).toHaveLength(1);
    await locks.opened(socket, keysAt(0).auth);
    expect(reads).toHaveLength(2);
  });

  it('reads again when the phone sends its key, also while a read without the key is under way', async () => {
    const { locks, socket, reads } = setup();
    const { auth } = keysAt(0);
    await Promise.all([locks.opened(socket, auth), locks.keyArrived(socket, auth)]);
    expect(reads).toHaveLength(2);
    await locks.opened(socket, auth);
    expect(reads).toHaveLength(2);
  });

  it('reads again with the next connection when WhatsApp did not answer', async () => {
    let calls = 0;
    const resync = async () => {
      calls += 1;
      if (calls === 1) throw new Error('timed out');
    };
    const { locks, socket, reads, log } = setup({ resync });
    const { auth } = keysAt(0);
    for (let connection = 0; connection < 3; connection++) await locks.opened(socket, auth);
    expect(reads).toHaveLength(2);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'locked chats not read, retrying with the next connection',
    ]);
  });

  it('stores the changes of chats in their order, also when the first one takes longer', async () => {
    const waits = [new Promise<void>((resolve) => setImmediate(resolve))];
    const { locks, stored } = setup({ store: async () => waits.shift() });
    const chat = { kind: 'person', lid: '1' };
    await Promise.all([
      locks.changed('1@lid', true),
      locks.changed('status@broadcast', true),
      locks.changed('1@lid', false),
    ]);
    expect(stored).toEqual([
      [chat, true],
      [chat, false],
    ]);
  });

  it('reports a change that could not be stored, and reads all again', async () => {
    const trouble = new Error('no database');
    const { locks, socket, failures, reads } = setup({ store: () => Promise.reject(trouble) });
    const { auth } = keysAt(0);
    await locks.opened(socket, auth);
    await locks.changed('1@lid', true);
    expect(failures).toEqual([trouble]);
    await locks.opened(socket, auth);
    expect(reads).toHaveLength(2);
  });
});
