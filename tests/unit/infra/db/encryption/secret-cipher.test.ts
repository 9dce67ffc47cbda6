import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { StorageTroubleError } from '../../../../../router/src/core/errors.ts';
import {
  PLAIN,
  parseDataKeys,
  SecretCipher,
} from '../../../../../router/src/infra/db/encryption/secret-cipher.ts';
import { StorageDamagedError } from '../../../../../router/src/infra/db/stores/storage-errors.ts';
import { anyText } from '../../../../support/any-text.ts';

const [first, second] = parseDataKeys(`${'a'.repeat(64)}\n${'b'.repeat(64)}`, 'test');
if (!first || !second) throw new Error('two keys were given');
const cipher = new SecretCipher([first]);

describe('SecretCipher', () => {
  it('gives back every text and all bytes that it encrypted', () => {
    fc.assert(
      fc.property(anyText(), fc.uint8Array(), fc.string(), (text, bytes, context) => {
        const sealed = cipher.sealText(text, context);
        expect(cipher.openText(sealed, context)).toBe(Buffer.from(text).toString());
        const sealedBytes = cipher.sealBytes(bytes, context);
        expect(Buffer.from(cipher.openBytes(sealedBytes, context))).toEqual(Buffer.from(bytes));
      }),
    );
  });

  it('never gives the same ciphertext twice, and none contains the plaintext', () => {
    const [one, two] = [cipher.sealText('a secret', 'c'), cipher.sealText('a secret', 'c')];
    expect(one).not.toBe(two);
    expect(one).not.toContain('a secret');
    expect(one).not.toContain(Buffer.from('a secret').toString('base64'));
  });

  it('reads what was stored without encryption, and stores so without keys', () => {
    const none = new SecretCipher();
    expect(none.writeKeyId).toBe(PLAIN);
    expect(none.sealText('{"a":1}', 'c')).toBe('{"a":1}');
    expect(cipher.openText('{"a":1}', 'c')).toBe('{"a":1}');
    const bytes = Buffer.from('0a0568656c6c6f', 'hex');
    expect(none.sealBytes(bytes, 'c')).toBe(bytes);
    expect(cipher.openBytes(bytes, 'c')).toBe(bytes);
    expect(cipher.openBytes(new Uint8Array(), 'c')).toEqual(new Uint8Array());
  });

  it('reads the values of a former key, and encrypts with the first one', () => {
    const rotated = new SecretCipher([second, first]);
    const former = cipher.sealText('a secret', 'c');
    expect(rotated.openText(former, 'c')).toBe('a secret');
    expect(() => cipher.openText(rotated.sealText('a secret', 'c'), 'c')).toThrow(
      `encrypted with the key ${second.id}`,
    );
  });

  it('refuses a ciphertext of another context, and one that was changed anywhere', () => {
    const sealed = cipher.sealText('a secret', 'account 1');
    expect(() => cipher.openText(sealed, 'account 2')).toThrow(StorageDamagedError);
    const bytes = Buffer.from(cipher.sealBytes(Buffer.from('a secret'), 'c'));
    for (let at = 11; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => cipher.openBytes(changed, 'c')).toThrow(StorageDamagedError);
      expect(() => cipher.openBytes(bytes.subarray(0, at), 'c')).toThrow(StorageDamagedError);
    }
  });

  it('names the key that this node does not have, and does not call the value damaged', () => {
    const sealed = cipher.sealText('a secret', 'c');
    for (const other of [new SecretCipher(), new SecretCipher([second])]) {
      expect(() => other.openText(sealed, 'c')).toThrow(StorageTroubleError);
      expect(() => other.openText(sealed, 'c')).toThrow(`encrypted with the key ${first.id}`);
    }
  });
});
