import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { savedSettings, settingsText } from '../../../router/src/features/backup/backup-commands.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('savedSettings', () => {
  it('returns what is set, without what is of the machine', () => {
    const saved = savedSettings({
      WA2AI_ENVIRONMENT: ' prod ',
      WA2AI_LOG_LEVEL: '',
      WA2AI_DATA_DIR: '/data',
      WA2AI_PORT: '4000',
      DATABASE_URL: 'postgresql://u:p@h/d',
      WA2AI_NPC_WALLET_KEY: '0a'.repeat(32),
      HOME: '/root',
    });
    expect(saved).toEqual({ WA2AI_ENVIRONMENT: 'prod' });
  });

  it('returns what has an earlier name by its name of now', () => {
    expect(savedSettings({ WA2AI_RETENTION_TEXT_DAYS: '20' })).toEqual({ WA2AI_RETENTION_TEXTS: '20d' });
  });

  it('returns the admin key that a file contains', () => {
    const file = join(folder, 'key');
    writeFileSync(file, 'an-admin-key-of-a-test\n');
    expect(savedSettings({ WA2AI_API_KEY_FILE: file })).toEqual({ WA2AI_API_KEY: 'an-admin-key-of-a-test' });
  });
});

describe('settingsText', () => {
  it.each(['prod', 'a b', "it's", 'a#b', 'both \' and "', 'a`b', 'back\\nslash'])(
    'is read back by Node as it was: %s',
    (value) => {
      const file = join(folder, '.env');
      writeFileSync(file, settingsText({ WA2AI_TEST_OF_SETTINGS_TEXT: value }));
      process.loadEnvFile(file);
      expect(process.env.WA2AI_TEST_OF_SETTINGS_TEXT).toBe(value);
      delete process.env.WA2AI_TEST_OF_SETTINGS_TEXT;
    },
  );
});
