import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readDocument } from '../support/documents.ts';
import { repositoryRoot } from '../support/repository.ts';

const PAGE = 'refs/baileys-workarounds.md';
const SOURCES = 'router/src/providers/baileys';
const TESTS = 'tests/unit/providers/baileys';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');
const rows = readDocument(PAGE)
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|').map((cell) => cell.trim()));
const listed = rows.map(([, file = '']) => file.replaceAll('`', ''));

describe(PAGE, () => {
  it('lists exactly the files that name it', () => {
    const naming = readdirSync(join(repositoryRoot, SOURCES), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && read(join(SOURCES, path)).includes(PAGE))
      .sort();
    expect(naming).toEqual([...new Set(listed)].sort());
    expect(listed.length).toBeGreaterThan(5);
  });

  it.each(rows.map((row) => [row[1] ?? '', row[4] ?? '']))('names tests of %s that exist', (_, proof) => {
    const tests = [...proof.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, path = '']) => path);
    expect(tests).not.toEqual([]);
    for (const path of tests)
      expect(read(path.startsWith('tests/') ? path : join(TESTS, path))).toMatch(/\bit(\.each)?\(/);
  });
});
