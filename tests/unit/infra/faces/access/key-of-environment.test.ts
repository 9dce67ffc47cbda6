import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { keyOfEnvironment } from '../../../../../router/src/infra/faces/access/key-of-environment.ts';

it('reads the key of the variable, or of the file', () => {
  expect(keyOfEnvironment({})).toBeUndefined();
  expect(keyOfEnvironment({ WA2AI_API_KEY: '' })).toBeUndefined();
  expect(keyOfEnvironment({ WA2AI_API_KEY: 'abc' })).toBe('abc');
  const folder = mkdtempSync(join(tmpdir(), 'wa2ai-key-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'key');
  writeFileSync(file, ' from-file \n');
  expect(keyOfEnvironment({ WA2AI_API_KEY_FILE: file, WA2AI_API_KEY: 'abc' })).toBe('from-file');
  expect(() => keyOfEnvironment({ WA2AI_API_KEY_FILE: join(folder, 'none') })).toThrow('cannot be read');
});
