import { type AuthenticationCreds, BufferJSON, initAuthCreds, proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { CredentialsDamagedError } from '../../../../../router/src/core/errors.ts';
import { DAMAGED_VALUE } from '../../../../../router/src/core/ports/key-store.ts';
import {
  decodeCreds,
  decodeKey,
  encodeCreds,
  encodeKey,
  isReadableKey,
} from '../../../../../router/src/providers/baileys/signal/account-keys.ts';

const bytes = (...values: number[]) => Buffer.from(values);

describe('a stored key', () => {
  it.each([
    ['session', { _sessions: { base: { indexInfo: { used: 1 } } }, version: 'v1' }],
    ['lid-mapping', '123'],
    ['device-list', ['0', '2']],
    ['pre-key', { public: bytes(1, 2), private: bytes(3, 4) }],
    ['identity-key', bytes(5, 6)],
  ] as const)('of category %s is read as it was written', (category, value) => {
    const text = encodeKey(category, value);
    expect(decodeKey(category, text)).toEqual(value);
    expect(isReadableKey(category, text)).toBe(true);
  });

  it('of category app-state-sync-key is read as a protobuf object', () => {
    const value = proto.Message.AppStateSyncKeyData.create({ keyData: bytes(1), timestamp: 7 });
    const read = decodeKey('app-state-sync-key', encodeKey('app-state-sync-key', value));
    expect(read).toBeInstanceOf(proto.Message.AppStateSyncKeyData);
    expect(Buffer.from(read.keyData ?? [])).toEqual(bytes(1));
  });

  it('of category sender-key contains bytes in the form that Baileys reads', () => {
    const written = Buffer.from(JSON.stringify([{ seed: { type: 'Buffer', data: [1, 2] } }]));
    const text = encodeKey('sender-key', written);
    const read = decodeKey('sender-key', text);
    const [state] = JSON.parse(Buffer.from(read).toString(), BufferJSON.reviver);
    expect(state.seed).toEqual(bytes(1, 2));
    expect(isReadableKey('sender-key', text)).toBe(true);
  });

  it('of category session has no chains that can decrypt nothing', () => {
    const chains = { finished: { chainType: 2, chainKey: {}, messageKeys: {} }, sending: { chainType: 1 } };
    const text = encodeKey('session', { _sessions: { base: { _chains: chains } } });
    expect(Object.keys(JSON.parse(text)._sessions.base._chains)).toEqual(['sending']);
  });

  it.each([
    ['session', DAMAGED_VALUE],
    ['session', '{'],
    ['session', '{}'],
    ['pre-key', '{"public":"x"}'],
    ['sender-key', '{}'],
    ['lid-mapping', 'null'],
  ] as const)('of category %s is not readable: %j', (category, text) => {
    expect(isReadableKey(category, text)).toBe(false);
  });
});

describe('stored credentials', () => {
  it('are read as they were written', () => {
    const creds = initAuthCreds();
    const read = decodeCreds(encodeCreds(creds));
    expect(read.registrationId).toBe(creds.registrationId);
    expect(read.noiseKey.private).toEqual(Buffer.from(creds.noiseKey.private));
  });

  it.each([
    ['no JSON', () => '{'],
    ['no object', () => 'null'],
    ['a key without its private part', () => without('noiseKey')],
    ['no signed pre-key', () => without('signedPreKey')],
    ['no registration id', () => without('registrationId')],
  ])('are damaged: %s', (_, text) => {
    expect(() => decodeCreds(text())).toThrow(CredentialsDamagedError);
  });
});

function without(name: keyof AuthenticationCreds): string {
  const creds = initAuthCreds();
  const rest = name === 'noiseKey' ? { noiseKey: { public: creds.noiseKey.public } } : { [name]: undefined };
  return encodeCreds({ ...creds, ...rest } as AuthenticationCreds);
}
