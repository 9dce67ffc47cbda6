import { describe, expect, it } from 'vitest';
import { pruneSession } from '../../../../../router/src/providers/baileys/signal/account-keys.ts';

const SENDING = 1;
const RECEIVING = 2;
const chain = (chainType: number, key?: string, messageKeys: Record<string, string> = {}) => ({
  chainType,
  chainKey: { counter: 3, ...(key && { key }) },
  messageKeys,
});
const sessionOf = (chains: Record<string, unknown>) => ({
  version: 'v1',
  _sessions: { base: { _chains: chains } },
});

describe('pruning a session', () => {
  it('removes only receiving chains that cannot decrypt any more', () => {
    const session = sessionOf({
      finished: chain(RECEIVING),
      'with a late message': chain(RECEIVING, undefined, { 2: 'k' }),
      current: chain(RECEIVING, 'k'),
      sending: chain(SENDING),
    });
    pruneSession(session);
    expect(Object.keys(session._sessions.base._chains)).toEqual([
      'with a late message',
      'current',
      'sending',
    ]);
  });

  it('keeps the keys of late messages for the newest chains only', () => {
    const chains = Object.fromEntries(
      Array.from({ length: 60 }, (_, index) => [`chain ${index}`, chain(RECEIVING, undefined, { 1: 'k' })]),
    );
    const session = sessionOf(chains);
    pruneSession(session);
    const left = Object.keys(session._sessions.base._chains);
    expect(left).toHaveLength(40);
    expect(left.at(-1)).toBe('chain 59');
  });

  it.each([
    undefined,
    null,
    'x',
    {},
    { _sessions: null },
    { _sessions: { a: null } },
    { _sessions: { a: { _chains: 1 } } },
  ])('leaves a value that is not a session unchanged: %o', (value) => {
    const before = structuredClone(value);
    pruneSession(value);
    expect(value).toEqual(before);
  });
});
