import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { envSchema } from '../../router/src/config/config.ts';
import { repositoryRoot } from '../support/repository.ts';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');

/** Sources of the COPY lines that copy from the repository, not from another step of the build. */
function copied(dockerfile: string): string[] {
  return [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
    sources.split(' '),
  );
}

/** `npm run test:docker` builds and runs them; these tests need no engine. */
describe('Dockerfile and docker-compose.yml', () => {
  it('copy only files that exist', () => {
    const sources = copied(read('Dockerfile'));
    expect(sources).toContain('router');
    const ignored = new Set(read('.dockerignore').split('\n'));
    for (const source of sources) {
      expect(existsSync(join(repositoryRoot, source)), source).toBe(true);
      expect(ignored.has(source), `${source} is in .dockerignore`).toBe(false);
    }
  });

  it('run as an unprivileged user with a Node version that package.json allows', () => {
    const dockerfile = read('Dockerfile');
    expect(dockerfile).toMatch(/^USER node$/m);
    const engines = JSON.parse(read('package.json')).engines.node;
    for (const [, major] of dockerfile.matchAll(/^FROM node:(\d+)-/gm)) {
      expect(engines).toMatch(new RegExp(`^>=${major}\\.`));
    }
  });

  it('set only known variables and no secret', () => {
    const compose = read('docker-compose.yml');
    const set = [...compose.matchAll(/^ +((?:WA2AI|DATABASE)_[A-Z_]+): (.+)$/gm)];
    expect(set.map(([, name]) => name)).toContain('DATABASE_URL');
    for (const [, name = '', value = ''] of set) {
      expect(Object.keys(envSchema.shape)).toContain(name);
      expect(name).not.toBe('WA2AI_API_KEY');
      if (name === 'DATABASE_URL') expect(new URL(value).password).toBe('');
    }
  });

  it('publish one port per node, on loopback by default', () => {
    const compose = read('docker-compose.yml');
    const ports = [...compose.matchAll(/^ +ports:\n((?: +- .+\n)+)/gm)].map(([, list = '']) => list.trim());
    expect(ports).toEqual([3000, 3001, 3002].map((port) => `- \${PUBLISH_ADDRESS:-127.0.0.1}:${port}:3000`));
  });

  it('keep secrets out of the image and out of git', () => {
    for (const path of ['.dockerignore', '.gitignore']) {
      expect(read(path)).toMatch(/^secrets\/?$/m);
      expect(read(path)).toMatch(/^\.env$/m);
    }
  });
});
