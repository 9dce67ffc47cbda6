import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { passphraseOf } from '../../../router/src/features/backup/sealed-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-passphrase-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const env = { WA2AI_BACKUP_PASSPHRASE: 'of the environment' };

describe('passphraseOf', () => {
  it('reads a file without its last line end, before the variables', async () => {
    const file = join(folder, 'passphrase');
    writeFileSync(file, ' of the file \n');
    expect(await passphraseOf({ file, env, isNew: true })).toBe(' of the file ');
    const named = { ...env, WA2AI_BACKUP_PASSPHRASE_FILE: file };
    expect(await passphraseOf({ file: undefined, env: named, isNew: true })).toBe(' of the file ');
    expect(await passphraseOf({ file: undefined, env, isNew: true })).toBe('of the environment');
  });

  it.each([
    ['there is none', {}, true, /passphrase is missing/],
    ['a new one is short', { WA2AI_BACKUP_PASSPHRASE: 'short' }, true, /fewer than 12 characters/],
  ])('refuses when %s', async (_, given, isNew, message) => {
    const found = passphraseOf({ file: undefined, env: given, isNew });
    await expect(found).rejects.toMatchObject({ code: 'BACKUP_PASSPHRASE', message });
  });

  it('accepts a short one of a backup that exists', async () => {
    expect(
      await passphraseOf({ file: undefined, env: { WA2AI_BACKUP_PASSPHRASE: 'short' }, isNew: false }),
    ).toBe('short');
  });

  it('refuses a file that it cannot read', async () => {
    const found = passphraseOf({ file: join(folder, 'none'), env, isNew: true });
    await expect(found).rejects.toMatchObject({
      code: 'BACKUP_PASSPHRASE',
      message: /cannot be read \(ENOENT\)/,
    });
  });
});
