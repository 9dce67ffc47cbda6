import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { walletKeyOf, withSecretFiles } from '../../../router/src/config/secret-files.ts';

let folder: string;
const fileWith = (text: string) => {
  const path = join(folder, 'secret');
  writeFileSync(path, text);
  return path;
};

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-secret-files-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The variables after the files were read, and the names of the wrong ones. */
function read(variables: Record<string, string>) {
  const wrong: string[] = [];
  const result = withSecretFiles(variables, (name, sentence) => wrong.push(`${name}: ${sentence}`));
  return { result, wrong };
}

describe('withSecretFiles', () => {
  it('sets the key from a file, without the spaces around it', () => {
    const { result, wrong } = read({ WA2AI_API_KEY_FILE: fileWith(' s3cret\n') });
    expect(result.WA2AI_API_KEY).toBe('s3cret');
    expect(wrong).toEqual([]);
  });

  it('encodes the password in DATABASE_URL, and does not change its argument', () => {
    const variables = { DATABASE_URL: 'postgresql://u@db/x', DATABASE_PASSWORD_FILE: fileWith('p/@:w') };
    const { result } = read(variables);
    expect(decodeURIComponent(new URL(result.DATABASE_URL ?? '').password)).toBe('p/@:w');
    expect(variables.DATABASE_URL).toBe('postgresql://u@db/x');
  });

  it.each<[string, Record<string, string>]>([
    ['a key and its file', { WA2AI_API_KEY: 'k', WA2AI_API_KEY_FILE: 'FILE' }],
    ['a password file without a URL', { DATABASE_PASSWORD_FILE: 'FILE' }],
    [
      'a password file and a password',
      { DATABASE_URL: 'postgresql://u:p@db/x', DATABASE_PASSWORD_FILE: 'FILE' },
    ],
    ['a missing file', { WA2AI_API_KEY_FILE: '/nowhere/secret' }],
  ])('reports %s, without the secret', (_name, variables) => {
    const path = fileWith('s3cret');
    const given = Object.entries(variables).map(([name, value]) => [name, value === 'FILE' ? path : value]);
    const { wrong } = read(Object.fromEntries(given));
    expect(wrong).toHaveLength(1);
    expect(wrong[0]).toMatch(/_FILE: must /);
    expect(wrong[0]).not.toContain('s3cret');
  });

  it('reports an empty file', () => {
    expect(read({ WA2AI_API_KEY_FILE: fileWith('\n') }).wrong).toHaveLength(1);
  });
});

describe('walletKeyOf', () => {
  const keyIn = (text: string) => {
    const wrong: string[] = [];
    const variables = { WA2AI_NPC_WALLET_KEY_FILE: fileWith(text) };
    const key = walletKeyOf(variables, (name, sentence) => wrong.push(`${name} ${sentence}`));
    return { key, wrong };
  };

  it('reads a key with or without 0x', () => {
    const key = `0x${'0a'.repeat(32)}`;
    expect(keyIn(`${'0A'.repeat(32)}\n`)).toEqual({ key, wrong: [] });
    expect(keyIn(key)).toEqual({ key, wrong: [] });
    expect(walletKeyOf({}, () => expect.fail('nothing is wrong'))).toBeUndefined();
  });

  it.each(['my secret words', '0'.repeat(64), 'f'.repeat(64), '0x12'])(
    'refuses %s, and does not quote it',
    (text) => {
      const { key, wrong } = keyIn(text);
      expect(key).toBeUndefined();
      expect(wrong).toEqual([
        'WA2AI_NPC_WALLET_KEY_FILE must name a file that contains a private key: 64 hexadecimal digits',
      ]);
    },
  );
});
