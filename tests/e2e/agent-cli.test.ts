import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { specificationFunctions } from '../fixtures/abi-echo-types.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { startAbiNaiveAgent } from '../fixtures/abi-naive-agent.js';
import { repositoryRoot } from '../support/repository.ts';

let mock: AbiStandIn;
let naive: AbiStandIn;
let folder: string;
let abiFile: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  [mock, naive] = await Promise.all([startAbiMockAgent(), startAbiNaiveAgent()]);
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-abi-'));
  abiFile = join(folder, 'abi.txt');
  await writeFile(abiFile, specificationFunctions.join('\n'));
});

afterAll(async () => {
  await Promise.all([mock.close(), naive.close()]);
  for (const child of children) child.kill();
  await rm(folder, { recursive: true });
});

/** Runs the built command line. */
async function wa2ai(...args: string[]) {
  const child = spawn(process.execPath, [join(repositoryRoot, 'dist/router/src/cli.js'), ...args]);
  let [output, errors] = ['', ''];
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const [code] = await once(child, 'close');
  return { code, output, errors };
}

async function checkOf(url: string, abi = abiFile) {
  const { code, output } = await wa2ai('agent', 'check', url, '--abi', abi, '--json');
  const report = JSON.parse(output) as {
    isConforming: boolean;
    results: Array<{ check: string; result: string; found: string }>;
  };
  const failed = report.results.filter(({ result }) => result === 'fail').map(({ check }) => check);
  return { code, report, failed };
}

describe('wa2ai agent', () => {
  it('test calls a function and shows the answer', async () => {
    const input = '{"name":"Alice"}';
    const shown = await wa2ai(
      'agent',
      'test',
      mock.url,
      '--abi',
      abiFile,
      '--method',
      'greet',
      '--input',
      input,
    );
    expect(shown).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^greet\(string\) 0xead710c4, \d+ ms\n[\s\S]*\nHello, Alice!\n$/),
    });
    const json = await wa2ai(
      'agent',
      'test',
      mock.url,
      '--abi',
      abiFile,
      '--method',
      'add',
      '--input',
      '[2, 40]',
      '--json',
    );
    expect(JSON.parse(json.output)).toMatchObject({
      function: 'add(uint256,uint256)',
      outputs: { sum: '42' },
    });
  });

  it('test says a mistake of the person, and a defect of the agent, in one sentence', async () => {
    const args = ['agent', 'test', naive.url, '--abi', abiFile, '--method'];
    expect(await wa2ai(...args, 'add', '--input', '{"a":1,"b":"x"}')).toMatchObject({
      code: 1,
      errors: "wa2ai: --input: b must be a whole number from 0 to 2^256-1, got 'x'.\n",
    });
    expect(await wa2ai(...args, 'processUser', '--input', '[["Ann", 30]]')).toMatchObject({
      code: 1,
      errors: expect.stringContaining('compute tuple selectors wrongly'),
    });
    expect((await wa2ai('agent', 'nonsense', mock.url)).code).toBe(2);
    expect(
      (await wa2ai('agent', 'test', mock.url, '--abi', join(folder, 'none'), '--method', 'a')).code,
    ).toBe(1);
  });

  it('inspect shows health, methods, envelope and selectors without a call', async () => {
    const { code, output } = await wa2ai('agent', 'inspect', mock.url, '--abi', abiFile, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({
      isReachable: true,
      health: 'status 200',
      methods: expect.arrayContaining(['greet', 'analyze']),
      envelope: 'raw',
      functions: expect.arrayContaining([
        { signature: 'greet(string)', selector: '0xead710c4', isListed: true },
      ]),
    });
    expect((await wa2ai('agent', 'inspect', 'http://127.0.0.1:9')).code).toBe(1);
  });

  it('check passes an agent that keeps the specification', async () => {
    const { code, failed, report } = await checkOf(mock.url);
    expect(failed).toEqual([]);
    expect(code).toBe(0);
    expect(report.results.length).toBeGreaterThan(14);
    const table = await wa2ai('agent', 'check', mock.url, '--abi', abiFile);
    expect(table.output).toMatch(/^PASS {2}health: GET \/health[\s\S]*The agent conforms\.\n$/);
  });

  it('check names what an agent after a first example does wrong', async () => {
    const { code, failed } = await checkOf(naive.url);
    expect(code).toBe(1);
    expect(failed).toContain("processUser: a call answers 200 with the ABI's outputs");
    expect(failed).toContain('greet: broken ABI encoding is refused with 400');
  });

  it("check passes the repository's own example, whose functions file is its own", async () => {
    const example = join(repositoryRoot, 'examples/abi-agent');
    const child = spawn(process.execPath, [join(example, 'server.js')], {
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, PORT: '0' },
    });
    children.push(child);
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    const url = `http://127.0.0.1:${/port (\d+)/.exec(String(line))?.[1]}`;
    const { failed, report } = await checkOf(url, join(example, 'functions.txt'));
    expect(failed).toEqual([]);
    expect(report.isConforming).toBe(true);
    const inspected = await wa2ai('agent', 'inspect', url, '--abi', join(example, 'functions.txt'), '--json');
    const { functions, methods } = JSON.parse(inspected.output);
    expect(functions.filter((entry: { isListed: boolean }) => entry.isListed)).toHaveLength(methods.length);
  });
});
