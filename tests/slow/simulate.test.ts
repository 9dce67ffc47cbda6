import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';

const CLI = join(repositoryRoot, 'dist/service/cli.js');
const example = (name: string) => join(repositoryRoot, 'examples/scenarios', `${name}.yaml`);

let bed: TestBed;
let folder: string;
beforeAll(async () => {
  bed = await TestBed.start();
  await bed.startService();
  folder = await mkdtemp(join(tmpdir(), 'wa2ai simulate test '));
}, 120_000);
afterAll(async () => {
  await bed?.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs the built command line in an empty folder, with its own folder for temporary files. */
async function simulate(args: readonly string[], env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [CLI, 'simulate', ...args], {
    cwd: folder,
    env: {
      ...{ PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: folder },
      ...{ WA2AI_URL: bed.service.url, ...env },
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const [code] = await once(child, 'close');
  return { code, output, errors };
}

async function scenarioFile(name: string, text: string): Promise<string> {
  const file = join(folder, `${name}.yaml`);
  await writeFile(file, text);
  return file;
}

const ECHO = 'route: { config: { echo: {} } }\n';

describe('wa2ai simulate', () => {
  it('runs the examples against a running service, and leaves nothing behind', async () => {
    const names = ['echo', 'group', 'file', 'silence'];
    const { code, output, errors } = await simulate(names.map(example));
    expect([code, errors]).toEqual([0, '']);
    expect(output).toContain('4 of 4 scenarios passed.');
    for (const path of ['/api/playground/chats', '/api/routes']) {
      expect((await bed.service.api('GET', path)).body.data).toEqual([]);
    }
  });

  it('starts a service for the scenarios, and removes it', async () => {
    const { code, output, errors } = await simulate(['--own', example('echo'), example('silence')], {
      WA2AI_URL: 'http://127.0.0.1:9',
    });
    expect([code, errors]).toEqual([0, '']);
    expect(output).toContain('2 of 2 scenarios passed.');
    expect((await readdir(folder)).filter((name) => name.startsWith('wa2ai-simulate-'))).toEqual([]);
  });

  it('ends with 1 and says what was said instead', async () => {
    const text = 'steps:\n  - { as: Ana, say: hola }\n  - expect: { contains: hello, withinMs: 2000 }\n';
    const wrong = await scenarioFile('wrong', ECHO + text);
    const { code, output } = await simulate([example('echo'), wrong]);
    expect(code).toBe(1);
    expect(output).toMatch(/FAIL +2 +expect a message that contains “hello” within 2000 ms/);
    expect(output).toContain('It said instead: “hola”.');
    expect(output).toContain('1 of 2 scenarios passed.');

    const json = await simulate([wrong, '--json']);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.output)).toMatchObject({
      isPassed: false,
      scenarios: [{ file: wrong, isPassed: false, steps: [{ outcome: 'passed' }, { outcome: 'failed' }] }],
    });
  });

  it('ends with 1 when the service refuses a step', async () => {
    const file = await scenarioFile('no-route', 'route: nobody\nsteps: [{ as: Ana, say: hola }]\n');
    const { code, output } = await simulate([file]);
    expect(code).toBe(1);
    expect(output).toContain('There is no route with the id or the name nobody.');
  });

  it('continues the chat of a number that the playground knows', async () => {
    const echo = { accountId: 'playground', channelId: '*', name: 'echo', config: { echo: {} } };
    const { body: route } = await bed.service.api('POST', '/api/routes', echo);
    const phone = '+54 9 3777 239922';
    const { body: chat } = await bed.service.api('POST', '/api/playground/chats', {
      ...{ kind: 'person', name: 'Ana', phone },
    });
    const file = await scenarioFile(
      'known',
      `steps:\n  - { as: "${phone}", say: one }\n  - expect: { equals: one }\n  - { say: two, quote: one }\n  - expect: { contains: two }\n  - { edit: three }\n  - expect: { equals: three }\n`,
    );
    expect(await simulate([file])).toMatchObject({ code: 0 });
    expect(await simulate([file])).toMatchObject({ code: 0 });
    const { id } = chat.data as { id: string };
    const path = `/api/playground/chats/${id}`;
    expect((await fetch(bed.service.url + path, { method: 'DELETE' })).status).toBe(204);
    await bed.service.api('DELETE', `/api/routes/${(route.data as { id: string }).id}`);
  });

  it('ends with 2, and runs nothing, when a file is wrong', async () => {
    const file = await scenarioFile('bad', 'steps:\n  - { as: Ana, says: hola }\n');
    const { code, output, errors } = await simulate([example('echo'), file]);
    expect([code, output]).toEqual([2, '']);
    expect(errors).toContain('line 2: steps.0.says is not a known word');
    const missing = await scenarioFile('missing', 'steps:\n  - { as: Ana, send: gone.png }\n');
    expect((await simulate([missing])).errors).toContain('the file cannot be read: gone.png');
    expect(await simulate([join(folder, 'gone.yaml')])).toMatchObject({ code: 2, output: '' });
  });

  it('ends with 3 when no service answers', async () => {
    const result = await simulate([example('echo')], { WA2AI_URL: 'http://127.0.0.1:9' });
    expect(result.code).toBe(3);
    expect(result.errors).toContain('No wa2ai answers');
  });
});

it('ends with 4 when the service refuses the key', async () => {
  const other = await TestBed.start();
  try {
    const service = await other.startService({ WA2AI_API_KEY: 'an-admin-key-of-32-characters-xx' });
    const env = { WA2AI_URL: service.url, WA2AI_API_KEY: 'wrong' };
    const { code, errors } = await simulate([example('echo')], env);
    expect(code).toBe(4);
    expect(errors).toMatch(/^wa2ai: .*\.\n$/);
  } finally {
    await other.close();
  }
});
