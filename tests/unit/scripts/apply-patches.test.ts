import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../../support/repository.ts';

const module = pathToFileURL(join(repositoryRoot, 'scripts/apply-patches.mjs')).href;

const PATCH = `Why it is there.

--- a/lib/one.js
+++ b/lib/one.js
@@ -1,3 +1,3 @@
 first
-second
+2nd
 third
@@ -7,2 +7,3 @@
 seventh
+and a half
 eighth
`;

describe('applyPatches', () => {
  let folder: string;
  const file = () => join(folder, 'node_modules/@some/package/lib/one.js');
  const patch = (name = '@some+package+1.2.3.patch') => join(folder, 'patches', name);

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'wa2ai patches '));
    mkdirSync(join(folder, 'patches'));
    mkdirSync(join(file(), '..'), { recursive: true });
    writeFileSync(join(folder, 'node_modules/@some/package/package.json'), '{"version":"1.2.3"}');
    writeFileSync(file(), 'first\nsecond\nthird\n\n\nsixth\nseventh\neighth\n');
    writeFileSync(patch(), PATCH);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const apply = () =>
    promisify(execFile)(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { applyPatches } from ${JSON.stringify(module)}; applyPatches(${JSON.stringify(folder)});`,
    ]);

  it('changes the lines of the patch, once', async () => {
    await apply();
    const patched = 'first\n2nd\nthird\n\n\nsixth\nseventh\nand a half\neighth\n';
    expect(readFileSync(file(), 'utf8')).toBe(patched);
    await apply();
    expect(readFileSync(file(), 'utf8')).toBe(patched);
  });

  it.each([
    [
      'of another version',
      () => writeFileSync(patch('@some+package+1.2.4.patch'), PATCH),
      /is for 1\.2\.4, and 1\.2\.3 is installed/,
    ],
    [
      'whose lines the package does not have',
      () => writeFileSync(file(), 'other\n'),
      /one\.js has other lines/,
    ],
    ['that is no unified diff', () => writeFileSync(patch(), 'nothing'), /not a unified diff/],
    ['with another name', () => writeFileSync(patch('one.patch'), PATCH), /<package>\+<version>\.patch/],
  ])('ends with a sentence at a patch %s', async (_, change, sentence) => {
    change();
    await expect(apply()).rejects.toMatchObject({ code: 1, stderr: expect.stringMatching(sentence) });
  });

  it('has applied each patch of the repository to the packages that tests load', async () => {
    const { parsePatch } = await import(module);
    const patches = readdirSync(join(repositoryRoot, 'patches'));
    expect(patches).not.toEqual([]);
    for (const name of patches) {
      const home = join(repositoryRoot, 'node_modules', ...name.split('+').slice(0, -1));
      for (const [path, hunks] of parsePatch(readFileSync(join(repositoryRoot, 'patches', name), 'utf8'))) {
        const text = readFileSync(join(home, path), 'utf8');
        for (const { after } of hunks) expect(text).toContain(after);
      }
    }
  });
});
