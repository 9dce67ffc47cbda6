import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { codeBlocksOf, documents } from '../support/documents.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';

/**
 * The commands in the documentation. A block "```sh run=201,200" is run by `sh`; each of its `curl` commands must get the
 * status at its position, and each command must end with exit code 0. Blocks of other languages (`bash`) are not run.
 */
const blocks = documents().flatMap(({ path, text }) =>
  codeBlocksOf(text)
    .filter(({ language }) => language === 'sh')
    .map(({ info, code }, index) => ({ name: `${path}, block ${index + 1}`, info, code })),
);

/** The phone number in the examples; this person writes. */
const PERSON = '5493777239922';

let bed: TestBed;
let folder: string;
/** Addresses in the documentation, and the addresses used here. */
let places: Array<[written: RegExp, here: string]>;
const closers: Array<() => unknown> = [];
/** The id of the route that was created last. */
let routeId = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'wa2ai-docs-'));
  closers.push(() => rmSync(folder, { recursive: true }));
  bed = await TestBed.startPaired();
  closers.push(() => bed.close());
  const adk = await MockAgent.start({ appName: 'my_sample_agent' });
  closers.push(() => adk.stop());
  const abi = await startAbiMockAgent();
  closers.push(() => abi.close());
  const example = await startExample();
  places = [
    [/(localhost|127\.0\.0\.1):3000/g, hostOf(bed.service.url)],
    [/localhost:8000/g, hostOf(adk.url)],
    [/localhost:8080/g, hostOf(abi.url)],
    [/localhost:8081/g, hostOf(example)],
  ];
});

afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

const hostOf = (url: string) => new URL(url).host;

/** Starts the example agent as documented, on a free port. */
async function startExample(): Promise<string> {
  const child = spawn(process.execPath, ['examples/abi-agent/server.js'], {
    cwd: repositoryRoot,
    env: { ...process.env, PORT: '0' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  closers.push(async () => {
    child.kill();
    await once(child, 'exit');
  });
  let output = '';
  for await (const chunk of child.stdout) {
    output += String(chunk);
    const port = /listens on port (\d+)/.exec(output)?.[1];
    if (port) return `http://127.0.0.1:${port}`;
  }
  throw new Error(`the example agent ended before it listened: ${output}`);
}

/** Runs a block; returns its exit code, its output and the responses of its `curl` commands. */
async function runBlock(code: string) {
  const script = places.reduce((text, [written, here]) => text.replaceAll(written, here), code);
  const answersFile = join(folder, 'answers');
  writeFileSync(answersFile, '');
  const curl = `curl() { "${process.execPath}" "${join(repositoryRoot, 'tests/fixtures/curl.js')}" "$@"; }`;
  const child = spawn('sh', ['-e', '-c', `${curl}\n${script}`], {
    cwd: repositoryRoot,
    env: { ...process.env, CURL_ANSWERS: answersFile, ROUTE_ID: routeId },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  const [exitCode] = await once(child, 'close');
  const answers = readFileSync(answersFile, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { status: number; body: string });
  return { exitCode, output, answers };
}

describe('the commands in the documentation', () => {
  it('exist', () => {
    expect(blocks.length).toBeGreaterThan(8);
    for (const { name, info } of blocks) expect(info, name).toMatch(/^run(=\d{3}(,\d{3})*)?$/);
  });

  it.each(blocks)('work: $name', async ({ info, code }) => {
    const { exitCode, output, answers } = await runBlock(code);
    expect(exitCode, output).toBe(0);
    const statuses = /^run=(.*)$/.exec(info)?.[1]?.split(',').map(Number) ?? [];
    expect(
      answers.map(({ status }) => status),
      output,
    ).toEqual(statuses);
    const created = answers.find(({ status }) => status === 201);
    routeId = created ? (JSON.parse(created.body).data.id ?? routeId) : routeId;
  });

  it('result in a reply in the chat', async () => {
    const person = bed.person({ phone: PERSON });
    await person.say('hello', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('Echo: hello');
  });
});
