import type { SignalDataTypeMap } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { trySignalSessions } from '../../../../../router/src/providers/baileys/signal/signal-repository.ts';

const ADDRESS = '346.0';

interface Session {
  indexInfo: { used: number };
  ratchet: number;
}

/** The record of one address, and a decryption that only the session `reader` can do; each attempt steps the ratchets. */
function setup(sessions: Record<string, number>, reader?: string) {
  const entries = Object.entries(sessions).map(([name, used]) => [name, { indexInfo: { used }, ratchet: 0 }]);
  const stored = {
    record: { version: 'v1', _sessions: Object.fromEntries(entries) as Record<string, Session> },
  };
  const attempted: string[][] = [];
  const keys = {
    get: async () => ({ [ADDRESS]: stored.record }) as never,
    set: async ({ session }: { session?: Record<string, unknown> }) => {
      stored.record = session?.[ADDRESS] as typeof stored.record;
    },
  };
  const decrypt = async () => {
    const names = Object.keys(stored.record._sessions);
    attempted.push(names);
    for (const session of Object.values(stored.record._sessions)) session.ratchet += 1;
    if (reader === undefined || !names.includes(reader)) throw new Error(`not ${names.join()}`);
    return Buffer.from('text');
  };
  const ratchets = () =>
    Object.fromEntries(Object.entries(stored.record._sessions).map(([name, { ratchet }]) => [name, ratchet]));
  return { attempted, ratchets, run: () => trySignalSessions(keys, ADDRESS, decrypt) };
}

describe('trySignalSessions', () => {
  it('decrypts at once when the address has one session', async () => {
    const { run, attempted, ratchets } = setup({ a: 1 }, 'a');
    expect(Buffer.from(await run()).toString()).toBe('text');
    expect([attempted, ratchets()]).toEqual([[['a']], { a: 1 }]);
  });

  it('decrypts with each session alone, the most recently used first', async () => {
    const { run, attempted } = setup({ old: 1, latest: 9, middle: 5 }, 'old');
    await run();
    expect(attempted).toEqual([['latest'], ['middle'], ['old']]);
  });

  it('stores the step of the session that decrypted, and no other', async () => {
    const { run, ratchets } = setup({ old: 1, latest: 9, middle: 5 }, 'middle');
    await run();
    expect(ratchets()).toEqual({ old: 0, latest: 0, middle: 1 });
  });

  it('leaves the record unchanged when no session decrypts, and throws the error of the latest used', async () => {
    const { run, ratchets } = setup({ old: 1, latest: 9 });
    await expect(run()).rejects.toThrow('not latest');
    expect(ratchets()).toEqual({ old: 0, latest: 0 });
  });

  it('decrypts at once when there is no record', async () => {
    const keys = {
      get: async () => ({}) as { [id: string]: SignalDataTypeMap['session'] },
      set: async () => {},
    };
    const decrypt = async () => Buffer.from('first');
    const text = await trySignalSessions(keys as never, ADDRESS, decrypt);
    expect(Buffer.from(text).toString()).toBe('first');
  });
});
