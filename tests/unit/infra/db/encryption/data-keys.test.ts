import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  dataKeysOfFolder,
  parseDataKeys,
  readDataKeys,
} from '../../../../../router/src/infra/db/encryption/secret-cipher.ts';

const HEX = '0123456789abcdef'.repeat(4);
const BASE64 = Buffer.from(HEX, 'hex').toString('base64');

describe('parseDataKeys', () => {
  it('takes a key a line as base64 or hexadecimal digits, and ignores comments and empty lines', () => {
    const keys = parseDataKeys(`# since June\r\n${BASE64}\r\n\n  ${'f'.repeat(64)}  \n`, 'file');
    expect(keys).toHaveLength(2);
    expect(keys[0]?.id).toMatch(/^[0-9a-f]{8}$/);
    expect(parseDataKeys(HEX, 'file')[0]?.id).toBe(keys[0]?.id);
    expect(keys[1]?.id).not.toBe(keys[0]?.id);
  });

  it.each([
    ['a passphrase', 'correct horse battery staple', /Line 1 of the key file the-file is not a key/],
    ['a key that is too short', `${BASE64}\n${BASE64.slice(4)}`, /Line 2/],
    ['nothing', '# none\n', /the-file contains no key/],
  ])('refuses %s, and does not repeat it', (_what, text, sentence) => {
    let message = '';
    try {
      parseDataKeys(text, 'the-file');
    } catch (error) {
      expect(error).toMatchObject({ code: 'DATABASE_KEY' });
      message = (error as Error).message;
    }
    expect(message).toMatch(sentence);
    expect(message).toMatch(/openssl rand -base64 32/);
    expect(message).not.toMatch(/battery|MzQ1/);
  });
});

describe('a key file', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wa2ai-key-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('is created in the data folder for its owner alone, once for several starts at the same time', async () => {
    const files = await Promise.all([1, 2, 3].map(() => dataKeysOfFolder(folder, true)));
    expect(new Set(files.map(({ keys }) => keys[0]?.id)).size).toBe(1);
    const file = join(folder, 'data-key');
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await dataKeysOfFolder(folder, true)).keys[0]?.id).toBe(files[0]?.keys[0]?.id);
    expect(await readFile(file, 'utf8')).toMatch(/^[A-Za-z0-9+/]{43}=\n$/);
  });

  it('is not created for a database that already has encrypted values', async () => {
    expect((await dataKeysOfFolder(folder, false)).keys).toEqual([]);
    await expect(stat(join(folder, 'data-key'))).rejects.toThrow('ENOENT');
  });

  it('that cannot be read is named with its variable', async () => {
    await expect(readDataKeys(join(folder, 'missing'))).rejects.toMatchObject({
      code: 'DATABASE_KEY',
      message: expect.stringMatching(/^WA2AI_DATA_KEY_FILE: the file .*missing cannot be read \(ENOENT\)/),
    });
    await writeFile(join(folder, 'data-key'), 'not a key');
    await expect(dataKeysOfFolder(folder, true)).rejects.toMatchObject({ code: 'DATABASE_KEY' });
  });
});
