import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { codeBlocksOf, readDocument } from '../../support/documents.ts';
import { repositoryRoot } from '../../support/repository.ts';

const page = readDocument('docs/architecture.md');

/** Paths of the folder list, by indentation of two spaces per level. */
function listedPaths(): string[] {
  const list = codeBlocksOf(page).find(({ code }) => code.startsWith('router/src/'))?.code ?? '';
  const parents: string[] = [];
  return list
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const [, indent = '', name = ''] = /^( *)(\S+)/.exec(line) ?? [];
      const depth = indent.length / 2;
      const path = [...parents.slice(0, depth), name].join('');
      parents[depth] = name;
      return path;
    });
}

/** Folders of `router/src` that contain source files, relative to the repository. */
function sourceFolders(): string[] {
  const files = readdirSync(join(repositoryRoot, 'router/src'), { recursive: true, encoding: 'utf8' });
  const folders = files.filter((path) => path.endsWith('.ts')).map((path) => path.replace(/[^/\\]+$/, ''));
  return [...new Set(folders)]
    .filter((path) => !path.includes('generated'))
    .map((path) => `router/src/${path}`);
}

interface Step {
  name: string;
  file: string;
  /** Lines of the file; undefined where an earlier step has the same file. */
  lines: number | undefined;
  calls: string[];
}

/** The rows of the table of the main path. */
function mainPath(): Step[] {
  const rows = page.matchAll(/^\| \d+ \| `(\w+)` \| `(router\/src\/[^`]+)` \| (\d+|–) \|([^|]*)\|/gm);
  return [...rows].map(([, name = '', file = '', lines = '', calls = '']) => ({
    name,
    file,
    lines: lines === '–' ? undefined : Number(lines),
    calls: [...calls.matchAll(/`(\w+)`/g)].map(([, call = '']) => call),
  }));
}

const read = (file: string) => readFileSync(join(repositoryRoot, file), 'utf8');

describe('docs/architecture.md', () => {
  it('lists folders and files that exist', () => {
    const paths = listedPaths();
    expect(paths).toContain('router/src/core/ports/');
    for (const path of paths) expect(existsSync(join(repositoryRoot, path)), path).toBe(true);
  });

  it('lists every folder of the source down to the subject', () => {
    const paths = listedPaths();
    const missing = sourceFolders().filter((folder) => {
      // The list has subjects, not their parts (infra/agents/abi/codec).
      const subject = folder.split('/').slice(0, 5).join('/').replace(/\/?$/, '/');
      return !paths.includes(folder) && !paths.includes(subject);
    });
    expect(missing).toEqual([]);
  });

  it('lists a main path whose steps exist and call the next one by name', () => {
    const steps = mainPath();
    expect(steps.length).toBeGreaterThan(5);
    for (const { name, file, calls } of steps) {
      const source = read(file);
      const declared = new RegExp(`(?:function\\*?|class|const) ${name}\\b|^ +(?:async )?#?${name}[<(]`, 'm');
      expect(source, `${name} in ${file}`).toMatch(declared);
      for (const call of calls) {
        expect(source, `${name} calls ${call}`).toMatch(new RegExp(`\\b${call}[<(]|new ${call}\\b`));
        expect(
          steps.some((step) => step.name === call),
          `${call} is a step`,
        ).toBe(true);
      }
    }
  });

  it('gives the line counts of the main path within 25 %', () => {
    const files = mainPath().filter(({ lines }) => lines !== undefined);
    expect(new Set(files.map(({ file }) => file)).size).toBe(files.length);
    for (const { file, lines = 0 } of files) {
      const actual = read(file).split('\n').length - 1;
      expect(Math.abs(actual - lines), `${file} has ${actual} lines`).toBeLessThanOrEqual(lines / 4 + 10);
    }
  });
});
