import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../../router/src/cli/cli.ts';
import { createProgram } from '../../router/src/cli/program.ts';
import { KNOWN_VARIABLES } from '../../router/src/config/config.ts';
import { hostOf } from '../support/cli.ts';
import { anchorsOf, codeBlocksOf, documents, readDocument, withoutCode } from '../support/documents.ts';
import { type HttpApi, pathMatches, startHttpApi } from '../support/http-api.ts';
import { repositoryRoot } from '../support/repository.ts';

const pages = documents();
const MAX_PICTURE_BYTES = 60_000;
/** Calls of agents, not of wa2ai. */
const OF_AGENTS = ['/run', '/', '/list-apps', '/v1/models', '/chat', '/history', '/invocations'];

/** Pages about wa2ai itself; those of `refs/` are about other servers. */
const ownPages = pages.filter(({ path }) => !path.startsWith('refs/'));

/** The first group of every match in the pages about wa2ai, once each. */
function found(pattern: RegExp): string[] {
  return [
    ...new Set(ownPages.flatMap(({ text }) => [...text.matchAll(pattern)].map(([, name = '']) => name))),
  ];
}

let api: HttpApi;
beforeAll(async () => {
  api = await startHttpApi();
});
afterAll(() => api.close());

describe('the documentation', () => {
  it.each(pages)('links only to files and headings that exist: $path', ({ path, text }) => {
    const links = [...withoutCode(text).matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => link);
    for (const link of links.filter((target) => !/^https?:/.test(target))) {
      const [file = '', anchor] = link.split('#');
      const target = file === '' ? path : normalize(join(dirname(path), file));
      expect(existsSync(join(repositoryRoot, target)), `${link} in ${path}`).toBe(true);
      if (anchor !== undefined)
        expect(anchorsOf(readDocument(target)), `${link} in ${path}`).toContain(anchor);
    }
  });

  it('has every page of docs/ in its list', () => {
    const list = readDocument('docs/README.md');
    for (const { path } of pages.filter(({ path }) => /^docs\/(?!README)/.test(path))) {
      expect(list).toContain(`](${path.replace('docs/', '')})`);
    }
  });

  it('has at most 24 pages', () => {
    expect(pages.filter(({ path }) => path.startsWith('docs/')).length).toBeLessThanOrEqual(24);
  });

  it.each(pages)('has headings in each table: $path', ({ text }) => {
    const lines = withoutCode(text).split('\n');
    const firsts = lines.flatMap((line, index) =>
      line.startsWith('|') && !lines[index - 1]?.startsWith('|') ? [index] : [],
    );
    for (const first of firsts) expect(lines[first + 1], lines[first]).toMatch(/^\|( ?-+ ?\|)+$/);
  });

  it('names only commands and options of wa2ai that exist', () => {
    const program = createProgram(new Cli(hostOf().host));
    const named = [
      ...found(/`wa2ai ((?!is ready|does not)[a-z][^`\n]*)`/g),
      ...found(/(?:wa2ai -- |cli\.js )([a-z][^`\n]*)/g),
    ];
    expect(named.length).toBeGreaterThan(60);
    for (const words of named.map((text) => text.split(/\s+/))) {
      // Agent kinds add options to it.
      if (words[0] === 'agent') continue;
      let command = program;
      for (const word of words) command = command.commands.find((each) => each.name() === word) ?? command;
      expect(command, words.join(' ')).not.toBe(program);
      const known = [...command.options, ...program.options, ...command.createHelp().visibleOptions(command)];
      for (const word of words.filter((each) => /^--[a-z]/.test(each))) {
        expect(
          known.map(({ long }) => long),
          words.join(' '),
        ).toContain(word.replace(/=.*/, ''));
      }
    }
  });

  it.each([
    ['docs/webhook-agents.md', 'examples/webhook-agent/agent.js'],
    ['docs/api.md', 'examples/webhook-receiver/receiver.js'],
  ])('shows in %s the example %s as it is', (page, example) => {
    const [shown] = codeBlocksOf(readDocument(page)).filter(({ info, language }) => {
      return language === 'js' && !info;
    });
    expect(shown?.code.trim()).toBe(readDocument(example).trim());
  });

  it('has small pictures, each of them used', () => {
    const folder = join(repositoryRoot, 'docs/images');
    for (const name of readdirSync(folder)) {
      expect(statSync(join(folder, name)).size, name).toBeLessThan(MAX_PICTURE_BYTES);
      expect(
        pages.some(({ text }) => text.includes(`images/${name}`)),
        name,
      ).toBe(true);
    }
  });

  it('names only npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8'));
    const named = [...found(/npm run (?:-s )?([\w:]+)/g), 'start', 'test'];
    for (const name of named) expect(Object.keys(scripts)).toContain(name);
  });

  it('names only files that exist', () => {
    const named = found(/`((?:scripts|tests|examples|prisma|refs|router)\/[\w./-]+)`/g);
    expect(named.length).toBeGreaterThan(3);
    for (const path of named) expect(existsSync(join(repositoryRoot, path)), path).toBe(true);
  });

  it('names only calls of the API that exist', () => {
    const known = ['/openapi.json', '/mcp', ...api.endpoints.map(({ path }) => path)];
    const calls = found(/`(?:GET|POST|PUT|PATCH|DELETE)(?:`, `[A-Z]+)* (\/[\w/:{},.-]*)/g);
    expect(calls.length).toBeGreaterThan(10);
    for (const path of calls.filter((call) => !OF_AGENTS.includes(call))) {
      expect(
        known.some((template) => pathMatches(template, path)),
        path,
      ).toBe(true);
    }
  });

  it('lists every call of the API in docs/api.md', () => {
    const text = readDocument('docs/api.md').replaceAll(/`, `\//g, '`, `GET /');
    const listed = [
      ...text.matchAll(/`((?:GET|POST|PUT|PATCH|DELETE)(?:`, `[A-Z]+)*) (\/[\w/:.-]*)/g),
    ].flatMap(([, methods = '', path = '']) => methods.split('`, `').map((method) => `${method} ${path}`));
    const pagesOnly = new Set(['GET /', 'POST /login', 'POST /logout']);
    for (const { method, path } of api.endpoints) {
      const call = `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
      if (!pagesOnly.has(call)) expect(listed).toContain(call);
    }
  });

  it('names only metrics that exist', async () => {
    api.metrics.observeTurn({ state: 'answered', agentMs: 1 });
    api.view.nodes.push({
      ...{ nodeId: 'n1', host: 'h', url: '', version: '0', startedAtMs: 0, seenAtMs: 0, turns: 0 },
      ...{ isDraining: false, isAlive: true },
    });
    const { text } = await api.call('GET', '/metrics');
    const known = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '']) => name);
    const named = found(
      /\b(wa2ai_(?!(?:msg|time|name|chat|quoted|quoted_by|edit_of|mentions|number|lid|subject|language|kind|file|card|transcript|session|device)\b)[a-z_]+)/g,
    ).map((name) => name.replace(/_bucket$/, ''));
    expect(named.length).toBeGreaterThan(8);
    for (const name of named) expect(known).toContain(name);
  });

  it('names only settings that exist', () => {
    const ofTests = ['WA2AI_PROPERTY_RUNS'];
    for (const name of found(/\b(WA2AI_[A-Z][A-Z_]*[A-Z])\b/g)) {
      expect([...KNOWN_VARIABLES, ...ofTests]).toContain(name);
    }
  });
});
