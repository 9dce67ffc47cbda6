import { SessionCipher } from 'libsignal';
import { describe, expect, it } from 'vitest';
import {
  sendingPosition,
  withReserve,
} from '../../../../../router/src/providers/baileys/signal/account-keys.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

const sessionOf = (closed: number, chain: object) => ({
  indexInfo: { closed },
  currentRatchet: { ephemeralKeyPair: { pubKey: 'own' } },
  _chains: { own: chain, other: { chainType: 2, chainKey: { counter: 4, key: KEY }, messageKeys: {} } },
});
const sending = (counter: number) => ({ chainType: 1, chainKey: { counter, key: KEY }, messageKeys: {} });
const recordOf = (sessions: object) => ({ version: 'v1', _sessions: sessions });

/** The chain as libsignal itself advances it. */
function advancedByLibsignal(counter: number, count: number): { counter: number; key: string } {
  const chain = { chainKey: { counter, key: Buffer.from(KEY, 'base64') }, messageKeys: {} };
  const { fillMessageKeys } = SessionCipher.prototype as unknown as {
    fillMessageKeys(this: unknown, of: typeof chain, upTo: number): void;
  };
  fillMessageKeys.call(SessionCipher.prototype, chain, counter + count);
  return { counter: chain.chainKey.counter, key: chain.chainKey.key.toString('base64') };
}

describe('a session with reserved message keys', () => {
  it.each([
    [-1, 8],
    [0, 1],
    [5, 32],
  ])('has the sending chain of libsignal, from %i on %i messages later', (counter, count) => {
    const record = recordOf({
      old: sessionOf(1_700_000_000_000, sending(90)),
      base: sessionOf(-1, sending(counter)),
    });
    const before = structuredClone(record);
    const reserved = withReserve(record, count);
    expect(reserved?.reserve).toEqual({ chain: 'own', counter: counter + count });
    const chain = { ...sending(counter), chainKey: advancedByLibsignal(counter, count) };
    expect(reserved?.record).toEqual(
      recordOf({ old: sessionOf(1_700_000_000_000, sending(90)), base: sessionOf(-1, chain) }),
    );
    expect(record).toEqual(before);
    expect(sendingPosition(record)).toEqual({ chain: 'own', counter });
  });

  it.each([
    undefined,
    null,
    'x',
    {},
    { _sessions: null },
    recordOf({ base: null }),
    recordOf({ base: sessionOf(1_700_000_000_000, sending(1)) }),
    recordOf({ base: sessionOf(-1, { ...sending(1), chainType: 2 }) }),
    recordOf({ base: sessionOf(-1, { ...sending(1), chainKey: { counter: 1 } }) }),
    recordOf({ base: { ...sessionOf(-1, sending(1)), currentRatchet: {} } }),
  ])('does not exist without an open sending chain: %o', (record) => {
    expect(withReserve(record, 8)).toBeUndefined();
    expect(sendingPosition(record)).toBeUndefined();
  });
});
