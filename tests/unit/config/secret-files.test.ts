import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { walletKeyOf } from '../../../router/src/config/secret-files.ts';

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
