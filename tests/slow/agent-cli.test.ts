import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageVersion } from '../../router/src/config/package-version.ts';
import type { AbiStandIn } from '../fixtures/abi-agent-server.d.ts';
import { specificationFunctions } from '../fixtures/abi-echo-types.js';
import { startAbiMockAgent } from '../fixtures/abi-mock-agent.js';
import { startAbiNaiveAgent } from '../fixtures/abi-naive-agent.js';
import { serverOf, tlsServerOf } from '../support/abi.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { builtService, repositoryRoot } from '../support/repository.ts';

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

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
  return await wa2aiWith({}, ...args);
}

async function wa2aiWith(env: Record<string, string>, ...args: string[]) {
  const file = join(builtService, 'cli.js');
  const child = spawn(process.execPath, [file, ...args], { env: { ...process.env, ...env } });
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
  it('test calls a function and prints its result', async () => {
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

  it('test prints a user error and an agent defect as one sentence each', async () => {
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

  it('inspect prints health, methods, envelope and selectors without calling a function', async () => {
    const { code, output } = await wa2ai('agent', 'inspect', mock.url, '--abi', abiFile, '--json');
    expect(code).toBe(0);
    expect(JSON.parse(output)).toMatchObject({
      isReachable: true,
      kind: 'abi',
      answer: 'status 200',
      latencyMs: expect.any(Number),
      methods: expect.arrayContaining(['greet', 'analyze']),
      envelope: 'raw',
      functions: expect.arrayContaining([
        { signature: 'greet(string)', selector: '0xead710c4', isListed: true },
      ]),
    });
    expect((await wa2ai('agent', 'inspect', 'http://127.0.0.1:9')).code).toBe(1);
  });

  it('check passes an agent that follows the specification', async () => {
    const { code, failed, report } = await checkOf(mock.url);
    expect(failed).toEqual([]);
    expect(code).toBe(0);
    expect(report.results.length).toBe(19);
    const table = await wa2ai('agent', 'check', mock.url, '--abi', abiFile);
    expect(table.output).toMatch(/^PASS {2}health: GET \/health[\s\S]*The agent conforms\.\n$/);
  });

  it('check lists the defects of an agent written after a naive example', async () => {
    const { code, failed } = await checkOf(naive.url);
    expect(code).toBe(1);
    expect(failed).toContain("processUser: a call answers 200 with the ABI's outputs");
    expect(failed).toContain('greet: broken ABI encoding is refused with 400');
  });

  it('check passes an agent with the JSON envelope, and inspect detects the envelope', async () => {
    const agent = await startAbiMockAgent();
    agent.change({ mode: 'json' });
    expect((await wa2ai('agent', 'inspect', agent.url)).output).toMatch(/^envelope {6}json$/m);
    const args = ['--abi', abiFile, '--envelope', 'json', '--json'];
    const { code, output } = await wa2ai('agent', 'check', agent.url, ...args);
    const { results } = JSON.parse(output);
    expect(results.filter(({ result }: { result: string }) => result !== 'pass')).toEqual([]);
    expect(code).toBe(0);
    await agent.close();
  });

  it('reports that no agent answers and stops', async () => {
    const gone = await startAbiMockAgent();
    await gone.close();
    const { code, report } = await checkOf(gone.url);
    expect(code).toBe(1);
    expect(report.results).toEqual([
      {
        check: 'health: GET /health answers 200 with JSON',
        result: 'fail',
        found: expect.stringMatching(/ECONNREFUSED.*no other check ran/),
        ms: expect.any(Number),
      },
    ]);
    const input = ['--abi', abiFile, '--method', 'greet', '--input', '["A"]'];
    expect(await wa2ai('agent', 'test', gone.url, ...input)).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^wa2ai: The agent did not answer: connect ECONNREFUSED [\d.:]+\.\n$/),
    });
    const inspected = await wa2ai('agent', 'inspect', gone.url, '--abi', abiFile);
    expect(inspected).toMatchObject({ code: 1, output: expect.not.stringContaining('not listed') });
  });

  it('times out, and does not count a time-out as a rejection', async () => {
    const silent = await serverOf((request, response) => {
      if (request.method === 'GET') response.end('{}');
      else request.resume();
    });
    const args = ['agent', 'check', silent.url, '--abi', abiFile, '--timeout', '100', '--json'];
    const { code, output } = await wa2ai(...args);
    const { results } = JSON.parse(output) as { results: Array<{ check: string; result: string }> };
    expect(code).toBe(1);
    expect(results.find(({ check }) => check === 'body above 10 MB is refused')).toMatchObject({
      result: 'fail',
      found: 'no answer within 100 ms',
    });
    const health = await serverOf(() => undefined);
    expect((await wa2ai('agent', 'inspect', health.url, '--timeout', '100')).code).toBe(1);
  });

  it('inspects the mock agent started from the command line', async () => {
    const child = spawn(process.execPath, [join(repositoryRoot, 'tests/fixtures/abi-mock-agent.js'), '0'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    const url = /listening on (\S+)/.exec(String(line))?.[1] ?? '';
    const { code, output } = await wa2ai('agent', 'inspect', url, '--abi', abiFile);
    expect(code).toBe(0);
    expect(output).toMatch(
      /^answer {8}status 200, \d+ ms\n(?:version .*\n)?capabilities {2}function greet, function add, /m,
    );
    expect(output).not.toContain('not listed');
  });

  it('reads an ABI file that begins with a byte order mark', async () => {
    const file = join(folder, 'abi.json');
    await writeFile(file, `\ufeff${JSON.stringify({ abi: specificationFunctions })}`);
    const input = ['--abi', file, '--method', 'greet', '--input', '["Zoë"]'];
    expect(await wa2ai('agent', 'test', mock.url, ...input)).toMatchObject({
      code: 0,
      output: expect.stringMatching(/Hello, Zoë!\n$/),
    });
  });

  it('supports https with a path', async () => {
    const pass: RequestListener = async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk);
      const init = request.method === 'POST' ? { method: 'POST', body: Buffer.concat(chunks) } : {};
      const path = request.url?.replace(/^\/agents\/greeter(?=\/|$)/, '') ?? '';
      const passed = await fetch(mock.url + (path || '/'), init);
      response.writeHead(passed.status).end(Buffer.from(await passed.arrayBuffer()));
    };
    const { url, cert } = await tlsServerOf(pass);
    const file = join(folder, 'cert.pem');
    await writeFile(file, cert);
    const trusting = { NODE_EXTRA_CA_CERTS: file };
    const checked = await wa2aiWith(trusting, 'agent', 'check', `${url}/agents/greeter`, '--abi', abiFile);
    expect(checked.output).toMatch(/\nThe agent conforms\.\n$/);
    const input = ['--abi', abiFile, '--method', 'greet', '--input', '["A"]'];
    expect(await wa2ai('agent', 'test', url, ...input)).toMatchObject({
      code: 1,
      errors: 'wa2ai: The agent did not answer: its certificate is self-signed.\n',
    });
  });

  it.runIf(hasIpv6)('reaches an agent at an IPv6 address', async () => {
    const agent = await startAbiMockAgent({ host: '::1' });
    const input = ['--abi', abiFile, '--method', 'greet', '--input', '["A"]'];
    const { output } = await wa2ai('agent', 'test', `http://[::1]:${agent.port}`, ...input);
    expect(output).toMatch(/Hello, A!/);
    await agent.close();
  });

  it('check passes the example agent of the repository', async () => {
    const example = join(repositoryRoot, 'examples/agents/abi');
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

describe('wa2ai agent, for an ADK agent', () => {
  let url: string;
  const requests: string[] = [];

  beforeAll(async () => {
    const file = join(repositoryRoot, 'examples/agents/adk/agent.js');
    const child = spawn(process.execPath, [file, '--port', '0', '--name', 'greeter'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    const lines = createInterface({ input: child.stdout });
    const [line] = await once(lines, 'line');
    url = /listens on (\S+)/.exec(String(line))?.[1] ?? '';
    lines.on('line', (request) => requests.push(request));
  });

  it('detects the protocol of the agent, and its only app name', async () => {
    expect(await wa2ai('agent', 'test', url, '--message', 'good morning')).toMatchObject({
      code: 0,
      output: expect.stringMatching(/^greeter, \d+ ms\nHello! You said: good morning\n$/),
    });
    expect(requests).toContain('POST /run 200');
    const inspected = await wa2ai('agent', 'inspect', url, '--json');
    expect(JSON.parse(inspected.output)).toMatchObject({
      kind: 'adk',
      isReachable: true,
      apps: ['greeter'],
      route: { config: { adk: { appName: 'greeter' } } },
    });
  });

  it('check passes the example agent of the repository in every point', async () => {
    const { code, output } = await wa2ai('agent', 'check', url, '--json');
    const { results } = JSON.parse(output) as { results: Array<{ check: string; result: string }> };
    expect(results.filter(({ result }) => result !== 'pass')).toEqual([]);
    expect(results).toHaveLength(7);
    expect(code).toBe(0);
  });

  it('reports a wrong app name, and an address where nothing listens', async () => {
    expect(await wa2ai('agent', 'test', url, '--message', 'x', '--app', 'nobody')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(
        /^wa2ai: ADK agent endpoint returned 404: .*there is no app \\"nobody\\".*apps of this server: greeter/,
      ),
    });
    expect(await wa2ai('agent', 'test', 'http://127.0.0.1:9', '--message', 'x')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^wa2ai: No agent answers at /),
    });
    expect(await wa2ai('agent', 'inspect', 'http://127.0.0.1:9')).toMatchObject({
      code: 1,
      errors: expect.stringMatching(/^wa2ai: No agent answers at http:\/\/127\.0\.0\.1:9\./),
    });
  });

  it('check warns about an agent of the contract whose sessions cannot be read', async () => {
    const agent = await MockAgent.start();
    const { code, output } = await wa2ai('agent', 'check', agent.url);
    expect(output).toMatch(/^WARN {2}the session shows an earlier run +\d+ ms {2}it cannot be read/m);
    expect(code).toBe(0);
    await agent.stop();
  });
});

it('shows its version on the command line', async () => {
  expect(await wa2ai('--version')).toMatchObject({ code: 0, output: `${packageVersion()}\n` });
});

describe('the example ADK agent', () => {
  it('describes itself with --help', async () => {
    const file = join(repositoryRoot, 'examples/agents/adk/agent.js');
    const child = spawn(process.execPath, [file, '--help'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(createInterface({ input: child.stdout }), 'line');
    expect(line).toBe('A small ADK agent.');
  });
});
