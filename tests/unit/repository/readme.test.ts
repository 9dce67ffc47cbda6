import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envSchema } from '../../../router/src/config/config.ts';
import { type HttpApi, pathMatches, startHttpApi } from '../../support/http-api.ts';
import { repositoryRoot } from '../../support/repository.ts';

const readme = readFileSync(join(repositoryRoot, 'README.md'), 'utf8');

function found(pattern: RegExp): string[] {
  return [...new Set([...readme.matchAll(pattern)].map(([, name = '']) => name))];
}

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi();
});
afterAll(() => api.close());

describe('what README.md names is there', () => {
  it('its own chapters and the files it links to', () => {
    const chapters = found(/^#+ (.+)$/gm).map((title) =>
      title
        .toLowerCase()
        .replace(/[^\w\s-]/g, '')
        .replaceAll(' ', '-'),
    );
    const links = found(/\]\(([^)]+)\)/g).filter((link) => !/^https?:/.test(link));
    expect(links.length).toBeGreaterThan(5);
    for (const link of links) {
      if (link.startsWith('#')) expect(chapters, link).toContain(link.slice(1));
      else expect(existsSync(join(repositoryRoot, link)), link).toBe(true);
    }
  });

  it('commands', () => {
    const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'));
    const named = [...found(/npm run (?:-s )?([\w:]+)/g), 'start', 'test'];
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });

  it('calls of the API', () => {
    const known = ['/openapi.json', ...api.endpoints.map(({ path }) => path)];
    const paths = found(/`(?:GET|POST|PUT|PATCH|DELETE)(?:, `?[A-Z]+`?)* (\/[\w/:{},.-]*)/g);
    expect(paths.length).toBeGreaterThan(10);
    for (const path of paths.flatMap(written)) {
      // what agents offer, not wa2ai
      if (['/run', '/'].includes(path)) continue;
      expect(
        known.some((template) => pathMatches(template, path)),
        path,
      ).toBe(true);
    }
  });

  it('metrics', async () => {
    api.metrics.observeTurn({ state: 'answered', agentMs: 1 });
    api.view.nodes.push({
      ...{ nodeId: 'n1', host: 'h', url: '', version: '0', startedAtMs: 0, seenAtMs: 0, turns: 0 },
      ...{ isDraining: false, isAlive: true },
    });
    const { text } = await api.call('GET', '/metrics');
    const known = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '']) => name);
    const named = found(/\b(wa2ai_[a-z_]+)/g).map((name) => name.replace(/_bucket$/, ''));
    expect(named.length).toBeGreaterThan(8);
    for (const name of named) expect(known).toContain(name);
  });

  it('settings', () => {
    // PUBLISH_ADDRESS and the like are docker-compose.yml's own
    for (const name of found(/\b(WA2AI_[A-Z][A-Z_]*[A-Z])\b/g)) {
      // The second is for tests alone.
      if (name === 'WA2AI_RETENTION' || name === 'WA2AI_PROPERTY_RUNS') continue;
      expect(Object.keys(envSchema.shape)).toContain(name);
    }
  });
});

/** `/api/accounts/:id/{pair,logout}` stands for two. */
function written(path: string): string[] {
  const choice = /^(.*)\{([\w,]+)\}(.*)$/.exec(path);
  if (!choice) return [path];
  const [, before = '', words = '', after = ''] = choice;
  return words.split(',').map((word) => before + word + after);
}
