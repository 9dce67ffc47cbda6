import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { repositoryRoot } from '../support/repository.ts';

/** `line.msg === 'text'`, `msg.startsWith('text')` and the like, as tests of the built service wait for log lines. */
const AWAITED = /msg\)?(?:\s*===?\s*|\.(?:startsWith|includes)\()['"]([^'"]+)['"]/g;

function textsIn(...folders: string[]): string[] {
  return folders.flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|js)$/.test(entry.name))
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'utf8')),
  );
}

it('each log line that a test awaits is one that the service writes', () => {
  const sources = textsIn('router/src', 'tests/fixtures').join('\n');
  const awaited = textsIn('tests/e2e', 'tests/slow', 'tests/faults', 'tests/crash', 'tests/support').flatMap(
    (text) => [...text.matchAll(AWAITED)].map(([, line = '']) => line),
  );
  expect(awaited.length).toBeGreaterThan(20);
  expect(awaited.filter((line) => !sources.includes(line))).toEqual([]);
});
