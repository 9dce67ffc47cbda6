import { describe, expect, it } from 'vitest';
import { ProxyFailedError } from '../../../../../router/src/core/errors.ts';
import {
  actionFor,
  disconnectOf,
} from '../../../../../router/src/providers/baileys/connection/connection.ts';

const linked = (code: number | undefined, reason = 'x') => ({ code, reason, isLinked: true });
const unlinked = (code: number | undefined, reason = 'x') => ({ code, reason, isLinked: false });

describe('the action after a disconnect', () => {
  it.each([
    [401, 'logged-out'],
    [403, 'logged-out'],
    [406, 'logged-out'],
    [411, 'logged-out'],
    [402, 'restricted'],
    [405, 'outdated'],
    [409, 'outdated'],
    [408, 'back-off'],
    [428, 'back-off'],
    [429, 'restricted'],
    [440, 'replaced'],
    [463, 'restricted'],
    [500, 'back-off'],
    [503, 'back-off'],
    [515, 'reconnect-now'],
    [599, 'back-off'],
    [undefined, 'back-off'],
  ])('on %s it is %s', (code, kind) => {
    expect(actionFor(linked(code)).kind).toBe(kind);
  });

  it('is never a logout while pairing', () => {
    expect(actionFor(unlinked(401)).kind).toBe('back-off');
  });

  it('is a reconnect with new codes when the codes of a connection are used up', () => {
    expect(actionFor(unlinked(408, 'QR refs attempts ended')).kind).toBe('reconnect-now');
    expect(actionFor(unlinked(408, 'Connection was lost')).kind).toBe('back-off');
  });

  it('waits for a person when WhatsApp asks for a passkey', () => {
    const disconnect = { ...unlinked(undefined, 'A passkey.'), isPasskeyRequired: true };
    expect(actionFor(disconnect)).toEqual({ kind: 'passkey-required', reason: 'A passkey.' });
  });

  it.each([
    [false, 'unreachable'],
    [true, 'refuses'],
  ] as const)(
    'names the proxy that did not connect, also inside of an error of Baileys',
    (isRefusal, proxy) => {
      const error = new ProxyFailedError({ sentence: 'The proxy is down.' }, { isRefusal });
      const wrapped = Object.assign(boom(408), { data: error });
      for (const each of [error, wrapped]) {
        expect(actionFor(disconnectOf(each, true))).toEqual({
          kind: 'back-off',
          reason: 'The proxy is down.',
          proxy,
        });
      }
    },
  );

  it('waits as long as WhatsApp says after a temporary ban', () => {
    const disconnect = disconnectOf(boom(402, { reason: '402', expire: '120' }), true);
    expect(actionFor(disconnect)).toMatchObject({ kind: 'restricted', forMs: 120_000 });
  });
});

describe('reading a disconnect', () => {
  it.each([undefined, null, 'gone', 7, new Error(''), {}])('accepts %s', (error) => {
    expect(disconnectOf(error, true)).toMatchObject({ code: undefined, reason: 'Connection closed' });
  });

  it('takes code and reason from the error of Baileys', () => {
    expect(disconnectOf(boom(503), false)).toEqual({ code: 503, reason: 'Stream Errored', isLinked: false });
  });
});

function boom(statusCode: number, data?: unknown): Error {
  return Object.assign(new Error('Stream Errored'), { output: { statusCode }, data });
}
