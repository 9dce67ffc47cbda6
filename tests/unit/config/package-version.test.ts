import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageVersion, projectFolder } from '../../../router/src/config/package-version.ts';
import { repositoryRoot } from '../../support/repository.ts';

describe('projectFolder', () => {
  it('is the folder of package.json', () => {
    expect(resolve(projectFolder())).toBe(resolve(repositoryRoot));
  });
});

describe('packageVersion', () => {
  it('is the version in package.json', () => {
    const manifest = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'));
    expect(packageVersion()).toBe(manifest.version);
    expect(packageVersion()).toMatch(/^\d+\.\d+\.\d+/);
  });
});
