import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/repository.ts';

const IMPORT =
  /(?:^|\n)\s*(?:import|export)\s(?:[^;'"]*?\sfrom\s)?['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)/g;

/** The files of router/src and tests with what each imports, types included: paths from the repository, names of packages. */
function importGraph(): Map<string, string[]> {
  const files = ['router/src', 'tests'].flatMap((folder) =>
    readdirSync(join(repositoryRoot, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && /\.(ts|mjs|js)$/.test(entry.name))
      .map((entry) => relative(repositoryRoot, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
      .filter((path) => !/node_modules|\/generated\//.test(path)),
  );
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(repositoryRoot, file), 'utf8');
      const imports = [...text.matchAll(IMPORT)].map(([, from, dynamic]) => from ?? dynamic ?? '');
      const fromHere = (path: string) =>
        path.startsWith('.') ? posix.join(posix.dirname(file), path) : path;
      return [file, imports.map(fromHere)];
    }),
  );
}

/** Each group of files that import one another in a cycle (strongly connected components, after Tarjan). */
function cyclesIn(graph: Map<string, string[]>): string[][] {
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const cycles: string[][] = [];
  const visit = (file: string): number => {
    const index = order.size;
    order.set(file, index);
    lowest.set(file, index);
    stack.push(file);
    for (const imported of graph.get(file) ?? []) {
      if (!graph.has(imported)) continue;
      if (!order.has(imported)) visit(imported);
      if (!stack.includes(imported)) continue;
      lowest.set(file, Math.min(lowest.get(file) ?? 0, lowest.get(imported) ?? 0));
    }
    if (lowest.get(file) === index) {
      const group = stack.splice(stack.indexOf(file));
      if (group.length > 1 || graph.get(file)?.includes(file)) cycles.push(group);
    }
    return index;
  };
  for (const file of graph.keys()) if (!order.has(file)) visit(file);
  return cycles;
}

/** Imports for which `isForbidden` is true, as "file -> imported file". */
function forbidden(isForbidden: (file: string, imported: string) => boolean): string[] {
  return [...graph].flatMap(([file, imports]) =>
    imports.filter((imported) => isForbidden(file, imported)).map((imported) => `${file} -> ${imported}`),
  );
}

const graph = importGraph();
const production = new Map([...graph].filter(([file]) => file.startsWith('router/src/')));

/** What a file of each folder may import besides its own folder and core. */
const ALLOWED: Record<string, readonly string[]> = {
  config: [],
  'infra/agents': ['config', 'infra/clock', 'infra/http-agent-client.ts'],
  'infra/clock': [],
  'infra/db': ['config', 'infra/agents', 'infra/clock', 'infra/files'],
  'infra/engine': ['infra/db'],
  'infra/files': [],
  'infra/formatting': [],
  'infra/http-agent-client.ts': ['infra/agents', 'infra/clock'],
  'infra/logging': [],
  'infra/matching': [],
  'infra/media': ['infra/agents/transport'],
  'infra/operations': ['config', 'infra/agents', 'infra/clock', 'infra/logging'],
  'infra/speech': ['infra/agents/transport'],
  'providers/baileys': [],
  'providers/playground': [],
  'infra/watchdog': [],
};

/** The features, each with those that it is built on. All may import core, config and infra. */
const FEATURES: Record<string, readonly string[]> = {
  a2a: ['tasks'],
  access: [],
  accounts: [],
  audit: [],
  backup: [],
  chats: ['accounts'],
  'dead-letters': [],
  doctor: ['backup'],
  drafts: [],
  hosting: ['routes'],
  live: [],
  mcp: ['accounts', 'chats', 'hosting', 'routes', 'tasks'],
  nodes: [],
  npc: [],
  pages: ['access', 'accounts'],
  playground: [],
  routes: ['accounts'],
  settings: ['mcp'],
  stats: [],
  tasks: [],
  webhooks: [],
};

/** The only folders that use a library. All other libraries may be used everywhere but in core, which uses zod only. */
const LIBRARIES: Array<[library: RegExp, folders: string[]]> = [
  [/^@a2a-js\//, ['infra/agents', 'features/a2a']],
  [/^@dbos-inc\//, ['infra/engine']],
  [/^pg$/, ['infra/engine', 'infra/db', 'features/backup']],
  [/^rate-limiter-flexible$/, ['infra/db']],
  [/^(@whiskeysockets\/|libsignal)/, ['providers/baileys']],
  [/^(express|helmet)$/, ['infra/operations', 'features']],
  [/^dockerode$/, ['features/hosting']],
];

const isIn = (file: string, place: string) =>
  file === `router/src/${place}` || file.startsWith(`router/src/${place}/`);

/** The folder of the agent kind that a file belongs to. Shared code is in transport/. */
function agentKind(file: string): string | undefined {
  const folder = /^router\/src\/infra\/agents\/([^/]+)\//.exec(file)?.[1];
  return folder === 'transport' ? undefined : folder;
}

describe('imports', () => {
  it('are found by this test', () => {
    expect(production.size).toBeGreaterThan(150);
    expect(graph.get('router/src/main.ts')).toContain('router/src/app/app.ts');
  });

  it('contain no cycle, not even of types', () => {
    expect(
      cyclesIn(
        new Map([
          ['a', ['b']],
          ['b', ['c']],
          ['c', ['b']],
        ]),
      ),
    ).toEqual([['b', 'c']]);
    expect(cyclesIn(production)).toEqual([]);
  });

  it('of production code lead to no file outside router/src, so no test double is used', () => {
    const outside = (file: string, imported: string) =>
      file.startsWith('router/src/') && /^(tests|scripts|console|runtime-server)\/|^\.\./.test(imported);
    expect(outside('router/src/a.ts', 'tests/support/b.ts')).toBe(true);
    expect(forbidden(outside)).toEqual([]);
  });

  it('of a library are in the folders that it belongs to', () => {
    const notThere = (file: string, imported: string) =>
      file.startsWith('router/src/') &&
      LIBRARIES.some(
        ([library, folders]) => library.test(imported) && !folders.some((folder) => isIn(file, folder)),
      );
    expect(notThere('router/src/app/a.ts', 'pg')).toBe(true);
    expect(notThere('router/src/infra/db/a.ts', 'pg')).toBe(false);
    expect(forbidden(notThere)).toEqual([]);
    for (const [library] of LIBRARIES) {
      const isUsed = [...production.values()].some((imports) => imports.some((each) => library.test(each)));
      expect(isUsed, `${library}`).toBe(true);
    }
  });

  it('of operations lead to the descriptors of agent kinds, not into their folders', () => {
    const inside = (file: string, imported: string) =>
      isIn(file, 'infra/operations') && /^router\/src\/infra\/agents\/[^/]+\//.test(imported);
    expect(forbidden(inside)).toEqual([]);
  });

  it('of an agent kind lead to no other agent kind', () => {
    const otherKind = (file: string, imported: string) => {
      const [own, other] = [agentKind(file), agentKind(imported)];
      const isShared = file.startsWith('router/src/infra/agents/transport/');
      return other !== undefined && (isShared || (own !== undefined && own !== other));
    };
    expect(forbidden(otherKind)).toEqual([]);
  });

  it('of core lead to core and zod only', () => {
    const outside = (file: string, imported: string) =>
      isIn(file, 'core') && !isIn(imported, 'core') && imported !== 'zod';
    expect(outside('router/src/core/a.ts', 'node:fs')).toBe(true);
    expect(forbidden(outside)).toEqual([]);
  });

  it('of a folder lead to itself, core and the folders that it is built on', () => {
    const places = Object.keys(ALLOWED);
    const rest = ['core', 'feature.ts', 'features', 'features.ts', 'app', 'main.ts', 'cli'];
    const unlisted = [...production.keys()].filter(
      (file) => ![...places, ...rest].some((place) => isIn(file, place)),
    );
    expect(unlisted).toEqual([]);
    const notAllowed = (file: string, imported: string) => {
      const own = places.find((place) => isIn(file, place));
      return (
        own !== undefined &&
        imported.startsWith('router/src/') &&
        ![own, 'core', ...(ALLOWED[own] ?? [])].some((place) => isIn(imported, place))
      );
    };
    expect(notAllowed('router/src/infra/agents/a.ts', 'router/src/infra/db/b.ts')).toBe(true);
    expect(forbidden(notAllowed)).toEqual([]);
  });

  it('of a feature lead to core, infra and the features that it is built on', () => {
    const featureOf = (file: string) => /^router\/src\/features\/([^/]+)\//.exec(file)?.[1];
    const features = [...production.keys()].flatMap((file) => featureOf(file) ?? []);
    expect([...new Set(features)].sort()).toEqual(Object.keys(FEATURES));
    const notAllowed = (file: string, imported: string) => {
      const [own, other] = [featureOf(file), featureOf(imported)];
      if (own === undefined) return false;
      if (other !== undefined) return own !== other && !FEATURES[own]?.includes(other);
      const base = [
        'core',
        'config',
        'infra',
        'feature.ts',
        ...(own === 'playground' ? ['providers/playground'] : []),
      ];
      return imported.startsWith('router/src/') && !base.some((place) => isIn(imported, place));
    };
    expect(notAllowed('router/src/features/audit/a.ts', 'router/src/features/mcp/b.ts')).toBe(true);
    expect(notAllowed('router/src/features/mcp/a.ts', 'router/src/features/chats/b.ts')).toBe(false);
    expect(forbidden(notAllowed)).toEqual([]);
    const unused = Object.entries(FEATURES).flatMap(([feature, others]) =>
      others
        .filter((other) => {
          const isUsed = ([file, imports]: [string, string[]]) =>
            featureOf(file) === feature && imports.some((imported) => featureOf(imported) === other);
          return ![...production].some(isUsed);
        })
        .map((other) => `${feature} -> ${other}`),
    );
    expect(unused).toEqual([]);
  });

  it('of the handle of features are types, so that it loads nothing', () => {
    const text = readFileSync(join(repositoryRoot, 'router/src/feature.ts'), 'utf8');
    const imports = text.match(/^import .*$/gm) ?? [];
    expect(imports.length).toBeGreaterThan(20);
    expect(imports.filter((each) => !each.startsWith('import type '))).toEqual([]);
  });

  it('of the list of features have each feature.ts', () => {
    const mounted = [...production.keys()].filter((file) =>
      /^router\/src\/features\/[^/]+\/feature\.ts$/.test(file),
    );
    expect(mounted.length).toBeGreaterThan(10);
    expect(graph.get('router/src/features.ts')).toEqual(expect.arrayContaining(mounted));
  });

  it('of files all exist', () => {
    const isMissing = (_file: string, imported: string) =>
      /\.(ts|mjs)$/.test(imported) &&
      imported.includes('/') &&
      !imported.includes('/generated/') &&
      !existsSync(join(repositoryRoot, imported));
    expect(forbidden(isMissing)).toEqual([]);
  });
});

/** Who sends HTTP requests without the transport of agents, which marks them and refuses the address of wa2ai itself. */
const OTHER_SENDERS = [
  'router/src/infra/agents/transport/bounded-fetch.ts',
  'router/src/infra/agents/transport/egress.ts',
  // WhatsApp's servers, through the proxy of an account.
  'router/src/providers/baileys/connection/account-proxy.ts',
  // WhatsApp's file servers.
  'router/src/providers/baileys/media/media.ts',
  // Programs that wa2ai has just started; with the mark.
  'router/src/features/hosting/process-runtime.ts',
  // Commands of a person, outside of the service.
  'router/src/features/doctor/check-network.ts',
  'router/src/cli/service/api.ts',
  'router/src/cli/service/connection-to.ts',
];

describe('requests over HTTP', () => {
  it('go through the transport in every folder', () => {
    const sends = /(?<![.\w#])fetch\(|from 'undici'|\brequest\b[^;]*from 'node:https?'|new XMLHttpRequest/;
    const senders = [...production.keys()].filter((file) => {
      const text = readFileSync(join(repositoryRoot, file), 'utf8')
        .replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, '')
        // Scripts of pages, which run in a browser, and methods of this name.
        .replace(/await fetch\((location|path)[^)]*\)/g, '')
        .replace(/^\s*(async )?fetch\((\s*$|[a-z]+: )/gm, '');
      return sends.test(text);
    });
    expect(senders.sort()).toEqual([...OTHER_SENDERS].sort());
  });
});
