import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import {
  openConfig,
  parseDataKeys,
  SecretCipher,
  sealConfig,
} from '../../../../../router/src/infra/db/encryption/secret-cipher.ts';

const config = { adk: { appName: 'app', headers: { authorization: 'Bearer hunter2' } } };
const cipher = new SecretCipher(parseDataKeys('0'.repeat(64), 'the test key'));
const plain = new SecretCipher();

describe('sealConfig', () => {
  it('encrypts the whole config, which openConfig returns', () => {
    const sealed = sealConfig(cipher, JSON.stringify(config));
    expect(Object.keys(JSON.parse(sealed))).toEqual(['encrypted']);
    expect(sealed).not.toContain('app');
    expect(openConfig(cipher, JSON.parse(sealed))).toEqual(config);
  });

  it('returns the config itself without a key', () => {
    expect(sealConfig(plain, JSON.stringify(config))).toBe(JSON.stringify(config));
  });
});

describe('openConfig', () => {
  it.each([[config], [{ encrypted: 7 }], [null], ['text'], [[]]])(
    'returns %j, which is not encrypted, as it is',
    (stored) => {
      expect(openConfig(cipher, stored)).toBe(stored);
    },
  );

  it('reports a config of another key, or one that was changed', () => {
    const { encrypted } = JSON.parse(sealConfig(cipher, JSON.stringify(config)));
    expect(() => openConfig(plain, { encrypted })).toThrow(expect.objectContaining({ code: 'STORAGE_KEY' }));
    expect(() => openConfig(cipher, { encrypted: `${encrypted.slice(0, -8)}AAAAAAA=` })).toThrow(
      expect.objectContaining({ code: 'STORAGE_DAMAGED' }),
    );
  });

  it('reports text that is no config as damaged, without quoting it', () => {
    let error: unknown;
    try {
      openConfig(cipher, { encrypted: 'hunter2' });
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ code: 'STORAGE_DAMAGED', disposition: 'dead' });
    expect(inspect(error)).not.toContain('hunter2');
  });
});
