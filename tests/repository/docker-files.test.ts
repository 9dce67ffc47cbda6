import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { KNOWN_VARIABLES } from '../../router/src/config/config.ts';
import { repositoryRoot } from '../support/repository.ts';

const read = (path: string) => readFileSync(join(repositoryRoot, path), 'utf8');

/** Sources of the COPY lines that copy from the repository, not from another step of the build. */
function copied(dockerfile: string): string[] {
  return [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, sources = '']) =>
    sources.split(' '),
  );
}

/** Versions of the Node images that a Dockerfile begins with. */
function nodeVersions(path: string): string[] {
  return [...read(path).matchAll(/^FROM node:([^-\s]+)-/gm)].map(([, version = '']) => version);
}

const { services } = z
  .object({
    services: z.record(
      z.string(),
      z.looseObject({ image: z.string(), cap_add: z.array(z.string()).optional() }),
    ),
  })
  .parse(parse(read('docker-compose.yml'), { merge: true }));

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
    const [, least = ''] = /^>=(\d+\.\d+)\.0$/.exec(JSON.parse(read('package.json')).engines.node) ?? [];
    for (const version of nodeVersions('Dockerfile')) {
      expect(Number.parseInt(version, 10)).toBeGreaterThan(Number.parseInt(least, 10));
    }
  });

  it('name base images by an exact version, the same Node everywhere', () => {
    const examples = readdirSync(join(repositoryRoot, 'examples/agents'), { withFileTypes: true })
      .map(({ name }) => `examples/agents/${name}/Dockerfile`)
      .filter((path) => existsSync(join(repositoryRoot, path)) && read(path).includes('FROM node:'));
    const found = ['Dockerfile', 'runtime-server/Dockerfile', ...examples].flatMap(nodeVersions);
    expect(found.length).toBeGreaterThan(3);
    expect(new Set(found)).toEqual(new Set([expect.stringMatching(/^24\.\d+\.\d+$/)]));
    expect(services.postgres?.image).toMatch(/^postgres:\d+\.\d+-\w+$/);
  });

  it('limit memory, processes, capabilities and what each container may write', () => {
    expect(Object.keys(services)).toEqual(['wa2ai', 'wa2ai-2', 'wa2ai-3', 'postgres']);
    for (const service of Object.values(services)) {
      expect(service).toMatchObject({
        mem_limit: '1g',
        pids_limit: 512,
        read_only: true,
        tmpfs: expect.arrayContaining(['/tmp']),
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
    // what its start as root needs, to become the user postgres
    expect(services.postgres?.cap_add).toEqual(['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'SETGID', 'SETUID']);
    expect(services.wa2ai?.cap_add).toBeUndefined();
  });

  it('set only known variables and no secret', () => {
    const compose = read('docker-compose.yml');
    const set = [...compose.matchAll(/^ +((?:WA2AI|DATABASE)_[A-Z_]+): (.+)$/gm)];
    expect(set.map(([, name]) => name)).toContain('DATABASE_URL');
    for (const [, name = '', value = ''] of set) {
      expect(KNOWN_VARIABLES).toContain(name);
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
