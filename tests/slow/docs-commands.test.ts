import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startOpenAiServer } from '../doubles/openai-server.ts';
import { codeBlocksOf, documents } from '../support/documents.ts';
import { MockAgent } from '../support/mock-agent.ts';
import { repositoryRoot } from '../support/repository.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

function blocksOf(wanted: 'sh' | 'bash') {
  return documents().flatMap(({ path, text }) =>
    codeBlocksOf(text)
      .filter(({ language }) => language === wanted)
      .map(({ info, code }, index) => ({ name: `${path}, block ${index + 1}`, info, code })),
  );
}

/**
 * The commands in the documentation. A block "```sh run=201,200" is run by `sh`; each of its `curl` commands must get the
 * status at its position, and each command must end with exit code 0.
 */
const blocks = blocksOf('sh');

/** Blocks of language `bash` that start a program which runs until it is stopped. `as`: the same on a free port. */
const PROGRAMS = [
  { code: 'npm start', as: 'npm start', ready: /wa2ai is ready/ },
  {
    code: 'node examples/agents/adk/agent.js --name my_sample_agent',
    as: 'node examples/agents/adk/agent.js --name my_sample_agent --port 0',
    ready: /listens on http/,
  },
  {
    code: 'PORT=8081 node examples/agents/abi/server.js',
    as: 'PORT=0 node examples/agents/abi/server.js',
    ready: /listens on port \d/,
  },
  {
    code: 'PORT=8090 WEBHOOK_SECRET=a-secret-key node examples/webhook-agent/agent.js',
    as: 'PORT=0 WEBHOOK_SECRET=a-secret-key node examples/webhook-agent/agent.js',
    ready: /listens on port \d/,
  },
  {
    code: 'PORT=8095 WEBHOOK_SECRET=the-secret-of-the-webhook node examples/webhook-receiver/receiver.js',
    as: 'PORT=0 WEBHOOK_SECRET=the-secret-of-the-webhook node examples/webhook-receiver/receiver.js',
    ready: /listens on port \d/,
  },
];

const DOCKER = 'tests/docker/compose.test.ts runs it';

/** The other blocks of language `bash` by their first command, and why they are not run here. */
const NOT_HERE: Record<string, string> = {
  'mkdir -m 700 secrets': DOCKER,
  'docker compose exec -T postgres pg_dump -U wa2ai -Fc wa2ai > wa2ai.dump': DOCKER,
  'docker compose --profile nodes stop wa2ai wa2ai-2 wa2ai-3': DOCKER,
  'useradd --system --home-dir /var/lib/wa2ai --shell /usr/sbin/nologin wa2ai': 'it changes the machine',
  'cd /opt/wa2ai && git pull && npm run build && npm ci --omit=dev': 'there is no newer version to get',
  'docker buildx build --platform linux/amd64,linux/arm64 --push \\':
    'it needs a registry; tests/docker builds the image',
  'kubectl apply -f deploy/kubernetes/namespace.yaml': 'it needs a cluster',
  'kubectl -n wa2ai exec wa2ai-0 -- node dist/service/cli.js status': 'it needs a cluster',
  'cd /opt/wa2ai': 'it needs an installation in /opt; tests/slow/cli-commands.test.ts runs the commands',
  'openssl rand -base64 24 > passphrase': 'tests/slow/backup.test.ts backs up and restores',
  'wa2ai restore wa2ai-2026-11-23.backup --passphrase-file passphrase':
    'tests/slow/backup.test.ts backs up and restores',
  'wa2ai accounts proxy sales proxy-url': 'tests/slow/cli-commands.test.ts sets and removes a proxy',
  'npm run demo': 'tests/slow/demo.test.ts runs it',
  'npm run demo -- --keep': 'tests/slow/demo.test.ts runs it and types messages',
  'npm run build': 'it downloads every package; the image, which tests/docker runs, is built in the same way',
  'git pull && npm start': 'there is no newer version to get',
  'adk api_server --port 8000': "it is Google's program",
  'curl http://localhost:3000/api/messages -F channelId=+5493777239922 -F text="Our menu" -F image=@menu.jpg':
    'it needs a picture; tests/slow/send-files.test.ts sends one',
  'curl -X POST http://localhost:3000/api/agents \\':
    'it needs a container engine; tests/e2e/hosted-agents.test.ts talks to an agent of the API',
  'curl -X POST http://localhost:3000/api/users \\':
    'the other commands need a key from then on; tests/features/access/console-users.test.ts adds users',
  'curl -X PATCH http://localhost:3000/api/users/ana \\':
    'it needs the user; tests/features/access/console-users.test.ts changes users',
  'curl -X POST http://localhost:3000/api/routes -H "Content-Type: application/json" \\':
    'it adds a second route; tests/e2e/playground.test.ts makes one for the playground',
  'curl -X POST http://localhost:3000/api/playground/chats -H "Content-Type: application/json" \\':
    'the ids depend on what is stored; tests/e2e/playground.test.ts makes the same calls',
  'node scripts/bundle-shell-runtime.mjs': 'tests/slow/shell-runtime.test.ts runs it',
  'docker build -f runtime-server/Dockerfile -t wa2ai-shell dist/service':
    'tests/containers/with-engine.sh builds it without an image registry',
  'docker run -d --init --name shell -p 127.0.0.1:8000:8000 --memory 1g --pids-limit 256 --cap-drop ALL \\':
    'tests/containers/shell.test.ts runs the image',
  'npm run -s wa2ai -- simulate examples/scenarios/echo.yaml': 'tests/slow/simulate.test.ts runs it',
  'npm run -s wa2ai -- agent inspect http://localhost:3000':
    'tests/contracts/agent-kinds.test.ts inspects an agent of the NPC Engine',
  'npm run -s wa2ai -- agent inspect http://localhost:41241':
    'tests/contracts/agent-kinds.test.ts inspects an A2A agent',
};

/** The first command of a block, without a comment. */
const firstCommandOf = (code: string) => code.split('\n')[0]?.replace(/ +#.*/, '').trim() ?? '';

/** The phone number in the examples; this person writes. */
const PERSON = '5493777239922';

let bed: TestBed;
let person: Person;
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
  person = bed.person({ phone: PERSON });
  const adk = await MockAgent.start({ appName: 'my_sample_agent' });
  closers.push(() => adk.stop());
  const example = await startExample('examples/agents/abi/server.js');
  const webhook = await startExample('examples/webhook-agent/agent.js', { WEBHOOK_SECRET: 'a-secret-key' });
  const model = await startOpenAiServer({ models: ['llama3.2'] });
  closers.push(() => model.close());
  places = [
    [/(localhost|127\.0\.0\.1):3000/g, hostOf(bed.service.url)],
    [/localhost:8000/g, hostOf(adk.url)],
    [/localhost:8081/g, hostOf(example)],
    [/localhost:11434/g, hostOf(model.url)],
    [/localhost:8090/g, hostOf(webhook)],
  ];
});

afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

const hostOf = (url: string) => new URL(url).host;

/** Starts an example agent as documented, on a free port. */
async function startExample(file: string, env: Record<string, string> = {}): Promise<string> {
  const child = spawn(process.execPath, [file], {
    cwd: repositoryRoot,
    env: { ...process.env, PORT: '0', ...env },
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

/** Starts a program in the repository's folder; rejects with its output when it ends before it is ready. */
async function startUntil(command: string, ready: RegExp): Promise<void> {
  const child = spawn('sh', ['-c', command], {
    cwd: repositoryRoot,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      WA2AI_PORT: '0',
      WA2AI_DATA_DIR: join(folder, 'data'),
      WA2AI_WHATSAPP_WS_URL: bed.emulator.url,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A separate process group: the signal at the end reaches the shell and everything that it started.
    detached: true,
  });
  const closed = once(child, 'close');
  let output = '';
  const started = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        if (ready.test(output)) resolve();
      });
    }
  });
  const ended = closed.then(() => {
    throw new Error(`"${command}" ended before it was ready:\n${output}`);
  });
  ended.catch(() => undefined);
  await Promise.race([started, ended]);
  process.kill(-(child.pid ?? 0), 'SIGTERM');
  await closed;
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

  it.each(PROGRAMS)('start a program: $code', async ({ as, ready }) => {
    await startUntil(as, ready);
  });

  it('are run, or are on the list of those that are not, with the reason', () => {
    const bash = blocksOf('bash').map(({ code }) =>
      PROGRAMS.some((program) => program.code === code.trim()) ? code.trim() : firstCommandOf(code),
    );
    const listed = [...PROGRAMS.map(({ code }) => code), ...Object.keys(NOT_HERE)];
    expect([...new Set(bash)].sort()).toEqual(listed.sort());
  });

  it('result in a reply in the chat', async () => {
    await person.say('hello', { to: bed.phone });
    expect((await person.nextReply()).text).toBe('Your order is on its way.');
    expect((await person.nextReply()).text).toBe('Echo: hello');
  });
});
