import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const program = promisify(execFile);

/** In a project with packages: `sharp` is outside of the bundle and depends on `inner`, `express` is in it. */
describe.runIf(process.platform === 'linux')('node scripts/slim-image.mjs', () => {
  let folder: string;
  let node: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wa2ai image '));
    node = join(folder, 'node');
    for (const name of ['slim-image', 'bundle', 'code-cache', 'steps']) {
      cpSync(join(repositoryRoot, 'scripts', `${name}.mjs`), join(folder, 'scripts', `${name}.mjs`));
    }
    write('package.json', '{}');
    write('dist/service/main.js', 'const sharp=await import(`sharp`);say("express");');
    const packages = {
      'node_modules/sharp': {
        dependencies: { inner: '1.0.0', superjson: '1.0.0' },
        optionalDependencies: { absent: '1.0.0' },
      },
      'node_modules/inner': {},
      'node_modules/sharp/node_modules/inner': {},
      'node_modules/express': {},
      'node_modules/superjson': {},
    };
    write('node_modules/.package-lock.json', JSON.stringify({ packages }));
    for (const path of Object.keys(packages)) {
      const files = [
        'package.json',
        'LICENSE.md',
        'README.md',
        'lib/index.js',
        'lib/index.js.map',
        'lib/index.d.ts',
      ];
      for (const file of files) write(`${path}/${file}`, '');
    }
    write('node_modules/superjson/src/data.json', '');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  function write(file: string, text: string): void {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }

  const has = (path: string) => existsSync(join(folder, 'node_modules', path));
  const slim = () => program(process.execPath, [join(folder, 'scripts/slim-image.mjs'), node]);

  it('keeps what runs of the packages outside of the bundle, and of those they depend on', async () => {
    await slim();
    for (const name of ['sharp', 'sharp/node_modules/inner']) {
      expect(has(`${name}/lib/index.js`)).toBe(true);
      expect(has(`${name}/LICENSE.md`)).toBe(true);
      for (const file of ['README.md', 'lib/index.js.map', 'lib/index.d.ts'])
        expect(has(`${name}/${file}`)).toBe(false);
    }
  });

  it('keeps manifest and licence of the other packages', async () => {
    await slim();
    for (const name of ['express', 'inner']) {
      for (const file of ['package.json', 'LICENSE.md']) expect(has(`${name}/${file}`)).toBe(true);
      for (const file of ['README.md', 'lib']) expect(has(`${name}/${file}`)).toBe(false);
    }
  });

  it.each([
    'await import("express")',
    'import{a}from"express";',
    'createRequire(import.meta.url)(`express/lib/index.js`)',
    'require.resolve("express")',
  ])('ends with a sentence when the service loads another package: %s', async (code) => {
    write('dist/service/chunk.js', code);
    await expect(slim()).rejects.toThrow(
      /chunk\.js loads the package express\. Name it in EXTERNAL of scripts\/bundle\.mjs\./,
    );
    expect(has('express/lib/index.js')).toBe(true);
  });

  it('writes a smaller Node that runs', async () => {
    await slim();
    expect(statSync(node).size).toBeLessThan(statSync(process.execPath).size);
    const { stdout } = await program(node, ['--print', 'process.version']);
    expect(stdout).toBe(`${process.version}\n`);
  });
});
