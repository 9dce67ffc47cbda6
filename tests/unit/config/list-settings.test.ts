import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { envSchema, loadConfig } from '../../../router/src/config/config.ts';

const KEY = 'a-key-of-32-characters-for-tests';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-settings-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

function settingsOf(env: Record<string, string>, fromFile: string[] = []) {
  const { settings } = loadConfig(env, false, new Set(fromFile));
  return new Map(settings.map((setting) => [setting.name, setting]));
}

describe('listSettings', () => {
  it('lists every variable with its meaning, values and default', () => {
    const settings = settingsOf({});
    expect([...settings.keys()]).toEqual(Object.keys(envSchema.shape));
    expect(settings.get('WA2AI_PORT')).toEqual({
      name: 'WA2AI_PORT',
      group: 'Service',
      meaning: 'Port of the API and the pages. 0 chooses a free port.',
      values: '0 to 65535',
      default: '3000',
      value: '3000',
      isSecret: false,
      isSet: false,
      origin: 'default',
    });
    for (const { meaning, group } of settings.values()) {
      expect(meaning).toMatch(/^[A-Z].*\.$/);
      expect(group).not.toBe('');
    }
  });

  it('shows no value where neither a value nor a default is written', () => {
    const setting = settingsOf({}).get('WA2AI_NODE_ID');
    expect(setting).toMatchObject({ default: 'stable per data folder', isSet: false, origin: 'default' });
    expect(setting).not.toHaveProperty('value');
  });

  it('tells a variable of the process from a line of the file .env', () => {
    const settings = settingsOf({ WA2AI_PORT: ' 4000 ', WA2AI_LOG_LEVEL: 'debug' }, ['WA2AI_LOG_LEVEL']);
    expect(settings.get('WA2AI_PORT')).toMatchObject({ value: '4000', isSet: true, origin: 'environment' });
    expect(settings.get('WA2AI_LOG_LEVEL')).toMatchObject({ value: 'debug', origin: 'env-file' });
  });

  it('shows that a secret is set, by its file too, and never the secret', () => {
    const file = join(folder, 'key');
    writeFileSync(file, KEY);
    const settings = settingsOf({
      WA2AI_API_KEY_FILE: file,
      DATABASE_URL: 'postgresql://wa2ai:hunter2@db.test/wa2ai',
    });
    expect(settings.get('WA2AI_API_KEY')).toMatchObject({
      isSecret: true,
      isSet: true,
      origin: 'secret-file',
    });
    expect(settings.get('DATABASE_URL')).toMatchObject({
      isSecret: true,
      isSet: true,
      origin: 'environment',
    });
    const shown = JSON.stringify([...settings.values()]);
    expect(shown).not.toContain(KEY);
    expect(shown).not.toContain('hunter2');
  });
});
