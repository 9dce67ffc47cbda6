import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import {
  hasHash,
  hashOf,
  isSame,
  keyIdIn,
  newKey,
  prefixOf,
} from '../../../../router/src/infra/operations/access.ts';

describe('a new key', () => {
  it('has its id in its visible start, and 256 random bits after it', () => {
    const { id, text } = newKey();
    expect(text.startsWith(`${prefixOf(id)}_`)).toBe(true);
    expect(prefixOf(id)).toBe(`wa2ai_${id}`);
    const secret = text.slice(prefixOf(id).length + 1);
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
    expect(keyIdIn(text)).toBe(id);
  });

  it('is another one each time', () => {
    const keys = Array.from({ length: 100 }, newKey);
    expect(new Set(keys.map(({ id }) => id)).size).toBe(100);
    expect(new Set(keys.map(({ text, id }) => text.replace(id, ''))).size).toBe(100);
  });

  it('is stored as the SHA-256 of its text', () => {
    const { text, secretHash } = newKey();
    expect(secretHash).toEqual(createHash('sha256').update(text).digest());
    expect(hasHash(text, secretHash)).toBe(true);
  });
});

describe('keyIdIn', () => {
  const { text } = newKey();
  it.each([
    '',
    'a-key-of-32-characters-for-tests',
    text.slice(1),
    text.slice(0, -1),
    `${text}a`,
    `${text}\n`,
  ])('finds none in %j', (other) => {
    expect(keyIdIn(other)).toBeUndefined();
  });
});

describe('comparisons', () => {
  it.each(['', 'secreT', 'secret ', 'secre', 'secret\0'])('%j is not the secret', (other) => {
    expect(isSame('secret', 'secret')).toBe(true);
    expect(isSame(other, 'secret')).toBe(false);
    expect(hasHash(other, hashOf('secret'))).toBe(false);
  });

  it('a damaged hash belongs to no key', () => {
    expect(hasHash('secret', hashOf('secret').subarray(1))).toBe(false);
    expect(hasHash('secret', Buffer.alloc(0))).toBe(false);
  });
});
