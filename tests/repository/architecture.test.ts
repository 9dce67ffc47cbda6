import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codeBlocksOf, readDocument } from '../support/documents.ts';
import { LanguageServer, type Place } from '../support/language-server.ts';
import { repositoryRoot } from '../support/repository.ts';

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
  /** Names of functions, or `Port.method`. */
  calls: string[];
}

/** The rows of the table of the main path. */
function mainPath(): Step[] {
  const rows = page.matchAll(/^\| \d+ \| `(\w+)` \| `((?:router\/src|prisma)\/[^`]+)` \|([^|]*)\|/gm);
  return [...rows].map(([, name = '', file = '', calls = '']) => ({
    name,
    file,
    calls: [...calls.matchAll(/`([\w.]+)`/g)].map(([, call = '']) => call),
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
});

/** Where a file calls or constructs something of this name. Its declarations are found too. */
function callsIn(file: string, name: string): Place[] {
  return read(file)
    .split('\n')
    .flatMap((text, line) =>
      [...text.matchAll(new RegExp(`(?<![\\w#])${name}(?:<\\w+>)?\\(`, 'g'))].map(({ index }) => ({
        file,
        line,
        character: index,
      })),
    );
}

const lineAt = ({ file, line }: Place) => read(file).split('\n')[line] ?? '';

/** The name that is declared at a place. */
const nameAt = (place: Place) => /^#?\w+/.exec(lineAt(place).slice(place.character))?.[0];

/** The interface that the member at this place belongs to. */
const interfaceAt = (place: Place) =>
  read(place.file)
    .split('\n')
    .slice(0, place.line)
    .findLast((line) => /^(?:export )?\w+ /.test(line))
    ?.match(/^(?:export )?interface (\w+)/)?.[1];

describe('The main path of docs/architecture.md', () => {
  const steps = mainPath();
  let server: LanguageServer;
  beforeAll(async () => {
    server = await LanguageServer.start();
  }, 60_000);
  afterAll(() => server.stop());

  /** Whether a call in the file of one step leads to the function of another. */
  async function leads(from: string, call: string, to: Step): Promise<boolean> {
    const [port, name = ''] = call.includes('.') ? call.split('.') : [undefined, call];
    for (const place of callsIn(from, name)) {
      const declared = (await server.definitions(place)).filter((found) => nameAt(found) === name);
      const isItself = declared.some(({ file, line }) => file === place.file && line === place.line);
      if (isItself) continue;
      if (!port && declared.some(({ file }) => file === to.file)) return true;
      const ofPort = declared.find((found) => port !== undefined && interfaceAt(found) === port);
      if (!ofPort) continue;
      const places = await server.implementations(ofPort);
      if (places.some((found) => found.file === to.file && nameAt(found) === name)) return true;
    }
    return false;
  }

  it('is read by this test', () => {
    expect(steps.length).toBeGreaterThan(50);
    expect(steps.filter(({ calls }) => calls.length > 0).length).toBeGreaterThan(25);
  });

  it('has in each file the function of its row', () => {
    for (const { name, file } of steps) {
      const declared = file.endsWith('.sql')
        ? new RegExp(`FUNCTION ${name}\\(`)
        : new RegExp(
            `(?:function\\*?|class|const) ${name}\\b|^ +(?:async )?${name}(?:[<(]|: (?:async )?\\()`,
            'm',
          );
      expect(read(file), `${name} in ${file}`).toMatch(declared);
    }
  });

  it.each(steps.flatMap((step, row) => step.calls.map((call) => ({ row: row + 1, step, call }))))(
    'leads in row $row from $step.name with $call to the file of a later row',
    async ({ call, step }) => {
      const name = call.replace(/^\w+\./, '');
      const targets = steps.slice(steps.indexOf(step) + 1).filter((other) => other.name === name);
      const found: string[] = [];
      for (const target of targets) {
        const isReached = target.file.endsWith('.sql')
          ? read(step.file).includes(`${name}(`)
          : await leads(step.file, call, target);
        if (isReached) found.push(target.file);
      }
      expect(found).not.toEqual([]);
    },
    60_000,
  );

  it('finds that a call leads elsewhere', async () => {
    const step = (file: string) => ({ name: 'send', file, calls: [] });
    const from = 'router/src/core/delivery/send-reply.ts';
    const provider = 'router/src/providers/baileys/baileys-provider.ts';
    expect(await leads(from, 'ChatProvider.send', step(provider))).toBe(true);
    expect(await leads(from, 'send', step(provider))).toBe(false);
    expect(await leads(from, 'AgentClient.send', step(provider))).toBe(false);
    expect(
      await leads(from, 'ChatProvider.send', step('router/src/providers/baileys/outbound/sender.ts')),
    ).toBe(false);
  });

  it('has as many files as the page says', () => {
    const [, all, beforeCore] = /: (\d+) files, of which (\d+) bring a message/.exec(page) ?? [];
    const files = [...new Set(steps.map(({ file }) => file))];
    expect(Number(all)).toBe(files.length);
    expect(Number(beforeCore)).toBe(files.findIndex((file) => file.startsWith('router/src/core/')));
  });
});
