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
  'infra/agents': ['config', 'infra/clock', 'infra/hosting', 'infra/http-agent-client.ts'],
  'infra/chain': ['infra/agents'],
  'infra/clock': [],
  'infra/doctor': ['config', 'infra/agents', 'infra/storage'],
  'infra/engine': ['infra/storage'],
  'infra/faces': ['config', 'infra/agents', 'infra/clock', 'infra/logging', 'infra/media', 'infra/scenarios'],
  'infra/files': [],
  'infra/formatting': [],
  'infra/hosting': ['config', 'infra/agents', 'infra/clock', 'infra/files'],
  'infra/http-agent-client.ts': ['infra/agents', 'infra/clock'],
  'infra/logging': [],
  'infra/matching': [],
  'infra/media': ['infra/agents/transport'],
  'infra/scenarios': [],
  'infra/webhooks': ['infra/agents'],
  'infra/speech': ['infra/agents/transport'],
  'infra/storage': ['config', 'infra/agents', 'infra/clock', 'infra/files'],
  'providers/baileys': [],
  'providers/playground': [],
  'infra/watchdog': [],
};

/** The only folders that use a library. All other libraries may be used everywhere but in core, which uses zod only. */
const LIBRARIES: Array<[library: RegExp, folders: string[]]> = [
  [/^@a2a-js\//, ['infra/agents', 'infra/faces']],
  [/^@dbos-inc\//, ['infra/engine']],
  [/^pg$/, ['infra/engine', 'infra/storage']],
  [/^rate-limiter-flexible$/, ['infra/storage']],
  [/^(@whiskeysockets\/|libsignal)/, ['providers/baileys']],
  [/^(express|helmet)$/, ['infra/faces']],
  [/^dockerode$/, ['infra/hosting']],
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
    expect(notThere('router/src/infra/storage/a.ts', 'pg')).toBe(false);
    expect(forbidden(notThere)).toEqual([]);
    for (const [library] of LIBRARIES) {
      const isUsed = [...production.values()].some((imports) => imports.some((each) => library.test(each)));
      expect(isUsed, `${library}`).toBe(true);
    }
  });

  it('of faces lead to the descriptors of agent kinds, not into their folders', () => {
    const inside = (file: string, imported: string) =>
      isIn(file, 'infra/faces') && /^router\/src\/infra\/agents\/[^/]+\//.test(imported);
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
    const rest = ['core', 'app', 'main.ts', 'cli'];
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
    expect(notAllowed('router/src/infra/agents/a.ts', 'router/src/infra/storage/b.ts')).toBe(true);
    expect(forbidden(notAllowed)).toEqual([]);
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
  'router/src/providers/baileys/media/media-download.ts',
  // Programs that wa2ai has just started; with the mark.
  'router/src/infra/hosting/http-agent-probe.ts',
  // Commands of a person, outside of the service.
  'router/src/infra/doctor/check-network.ts',
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
