import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cli } from '../../router/src/cli/cli.ts';
import { descendantsOf, pathOf } from '../../router/src/cli/completion/completion-for.ts';
import { createProgram } from '../../router/src/cli/program.ts';
import { hostOf, runWa2ai } from '../support/cli.ts';
import { CLI_TABLE, SCENARIO } from '../support/cli-table.ts';
import { createTestDatabase } from '../support/database.ts';
import { builtService, repositoryRoot } from '../support/repository.ts';
import { newNumber, TestBed } from '../support/test-bed.ts';
import { until } from '../support/until.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const ADMIN_KEY = 'the-admin-key-of-a-test';
const BUILT_CLI = join(builtService, 'cli.js');
const AGENT = join(repositoryRoot, 'examples/agents/chat-node/server.js');

const leaves = descendantsOf(createProgram(new Cli(hostOf().host)))
  .filter(({ commands }) => commands.length === 0)
  .map(pathOf);
const table = Object.entries(CLI_TABLE);
/** Commands that ended with success, with JSON that can be read. */
const succeeded = new Set<string>();

let bed: TestBed;
let folder: string;
let service: Wa2aiProcess;
/** The settings of the service, which its command line has too. */
let env: Record<string, string>;
let person: Person;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-cli-'));
  bed = await TestBed.start();
  await chmod(folder, 0o711);
  env = {
    ...{ WA2AI_DATA_DIR: folder, WA2AI_ENVIRONMENT: 'lab', WA2AI_API_KEY: ADMIN_KEY },
    WA2AI_PROCESS_AGENTS: 'on',
  };
  service = await bed.startService(env);
  person = bed.person();
  env = { ...env, DATABASE_URL: bed.database.url, WA2AI_WHATSAPP_WS_URL: bed.emulator.url };
});

afterAll(async () => {
  await bed.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs a command over the Unix socket. Its JSON is read, and it counts as used. */
async function json(...args: string[]) {
  const { code, output, errors } = await runWa2ai([...args, '--json'], { env, nowMs: Date.now() });
  expect([code, errors], `${args.join(' ')}: ${errors}`).toEqual([0, '']);
  succeeded.add(leafOf(args));
  const lines = output.trim().split('\n');
  return leafOf(args) === 'wa2ai chats export' ? lines.map((line) => JSON.parse(line)) : JSON.parse(output);
}

function leafOf(args: readonly string[]): string {
  const words = args.filter((word) => /^[a-z][a-z-]*$/.test(word));
  const paths = [1, 2].map((count) => `wa2ai ${words.slice(0, count).join(' ')}`);
  return paths.find((path) => leaves.includes(path)) ?? 'none';
}

/** Starts a command that follows something, with its lines as JSON. */
function follow(...args: string[]) {
  const ended = new AbortController();
  const { host, written } = hostOf({ env, nowMs: Date.now(), signal: ended.signal });
  const running = import('../../router/src/cli/run-cli.ts').then(({ runCli }) =>
    runCli([...args, '--json'], host),
  );
  const lines = () => {
    const whole = written.output.slice(0, written.output.lastIndexOf('\n') + 1);
    return whole
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  };
  const end = async () => {
    ended.abort();
    expect(await running).toBe(0);
    succeeded.add(leafOf(args));
  };
  return { lines, written, end };
}

const post = async (path: string, body: unknown) => {
  const { status, body: answer } = await service.api('POST', path, body, { 'x-api-key': ADMIN_KEY });
  if (status >= 300) throw new Error(`${path}: ${status} ${JSON.stringify(answer)}`);
  return answer.data as Record<string, unknown>;
};

async function routeFile(route: Record<string, unknown>): Promise<string> {
  const path = join(folder, 'route.json');
  await writeFile(path, JSON.stringify({ environment: 'lab', ...route }));
  return path;
}

it('the table names every command, and no other', () => {
  expect(Object.keys(CLI_TABLE).sort()).toEqual([...leaves].sort());
});

describe('every command of wa2ai against a running service', () => {
  it.each(leaves)('%s has help', async (path) => {
    const { code, output, errors } = await runWa2ai([...path.split(' ').slice(1), '--help']);
    expect([code, errors]).toEqual([0, '']);
    expect(output).toContain(path);
  });

  it.each(table.filter(([, { isLocal }]) => !isLocal))(
    '%s ends with 3 when no service answers, and with 4 without a key',
    async (path, { args = [], hasProgress }) => {
      const words = [...path.split(' ').slice(1), ...args];
      const away = await runWa2ai([...words, '--url', 'http://127.0.0.1:9']);
      expect([away.code, hasProgress ? '' : away.output]).toEqual([3, '']);
      expect(away.errors).toMatch(/^wa2ai: No wa2ai answers at http:\/\/127\.0\.0\.1:9 .*\n$/);
      if (path === 'wa2ai status') return;
      const refused = await runWa2ai([...words, '--url', service.url]);
      expect([refused.code, hasProgress ? '' : refused.output]).toEqual([4, '']);
      expect(refused.errors).toMatch(/^wa2ai: .* Name the file of a key with --key-file.*\n$/);
    },
  );

  it.each(table)('%s ends with 2 for wrong usage', async (path, { wrong = [] }) => {
    const words = path.split(' ').slice(1);
    for (const args of [wrong, ['--nonsense']]) {
      const { code, output, errors } = await runWa2ai([...words, ...args], { env });
      expect([code, output], errors).toEqual([2, '']);
      expect(errors).toMatch(/^wa2ai: .*\n$/);
    }
  });

  it.each(table.filter(([, { notFound }]) => notFound))(
    '%s ends with 1 and a sentence when there is no such thing',
    async (path, { notFound = [] }) => {
      const { code, output, errors } = await runWa2ai([...path.split(' ').slice(1), ...notFound], { env });
      expect([code, output]).toEqual([1, '']);
      expect(errors).toMatch(/^wa2ai: [A-Z].*\.\n$/);
    },
  );

  it('refuse a key without the scope with 4', async () => {
    const { key } = await post('/api/keys', { name: 'reader', scopes: ['routes:read'] });
    const file = join(folder, 'key');
    await writeFile(file, String(key));
    for (const target of [[], ['--url', service.url]]) {
      const limited = ['--key-file', file, ...target];
      expect((await runWa2ai(['routes', 'list', ...limited], { env })).code).toBe(0);
      for (const words of [['chats', 'list'], ['logs'], ['audit', 'verify']]) {
        expect((await runWa2ai([...words, ...limited], { env })).code).toBe(4);
      }
    }
  });
});

describe('an operator with wa2ai alone', () => {
  it('pairs, routes, and sees what happens', async () => {
    const pairing = follow('pair');
    const qr = await until('a QR code', async () => pairing.lines().at(-1)?.qr as string | undefined);
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    await Promise.all([bed.phone.scan(qr), live]);
    await expect.poll(() => pairing.lines().at(-1)?.state).toBe('open');
    await pairing.end();

    await json('routes', 'add', await routeFile({ channelId: '*', config: { echo: { prefix: 'Echo: ' } } }));
    const [route] = (await json('routes', 'list')).data;
    await json('routes', 'edit', route.id, await routeFile({ name: 'everybody', environment: undefined }));
    expect((await json('routes', 'show', route.id)).data.name).toBe('everybody');
    expect(JSON.stringify(await json('routes', 'explain', person.phone, 'hola'))).toContain(route.id);

    const feed = follow('messages', '--follow');
    await person.say('Is it ready?', { to: bed.phone });
    await expect
      .poll(() => feed.lines().map(({ direction, text }) => [direction, text]))
      .toEqual([
        ['incoming', 'Is it ready?'],
        ['outgoing', 'Echo: Is it ready?'],
      ]);
    await feed.end();
    expect((await json('messages', '--chat', person.phone)).data).toHaveLength(2);
    const [asked] = (await json('messages', '--chat', person.phone, '--direction', 'incoming')).data;
    // The echo agent is a part of wa2ai and gets no request.
    expect((await json('exchanges', asked.id)).data).toEqual([]);

    const { data } = await json('status');
    expect(data).toBeUndefined();
    expect((await json('open')).url).toBe(service.url);
    expect((await json('doctor')).findings).toContainEqual(
      expect.objectContaining({ check: 'database', level: 'ok' }),
    );
  });

  it('sends a text, a file, a quote, a reaction, a poll and a place', async () => {
    const to = `+${person.phone}`;
    await json('send', to, 'Good day.');
    expect((await person.waitForReceived(2)).at(-1)?.text).toBe('Good day.');
    const [first] = (await json('messages', '--direction', 'incoming')).data;
    const file = join(folder, 'note.txt');
    await writeFile(file, 'a file');
    for (const args of [
      ['Read this', '--file', file],
      ['Yes.', '--quote', first.id],
      ['👍', '--react', first.id],
      ['When?', '--poll', 'Monday', 'Tuesday'],
      ['The shop', '--location=-27.47,-58.83'],
    ]) {
      const { data } = await json('send', to, ...args);
      expect(data.state).toBe('queued');
    }
    const sent = (await json('messages', '--direction', 'outgoing', '--limit', '5')).data;
    const kinds = sent.map((row: { media?: { kind: string }; special?: { kind: string }; quote?: object }) =>
      row.quote ? 'quote' : (row.media ?? row.special)?.kind,
    );
    expect(kinds.reverse()).toEqual(['document', 'quote', 'reaction', 'poll', 'location']);
  });

  it('works with chats', async () => {
    const [chat] = (await json('chats', 'list', '--search', person.phone)).data;
    expect((await json('chats', 'show', `+${person.phone}`)).data.id).toBe(chat.id);
    const ofRoute = (await json('chats', 'list', '--route', 'everybody')).data as Array<{ id: string }>;
    expect(ofRoute.map(({ id }) => id)).toContain(chat.id);
    expect((await json('chats', 'list', '--needs')).data).toEqual([]);
    expect((await json('messages', '--chat', chat.name)).data.length).toBeGreaterThan(1);
    expect((await json('send', chat.name, 'By name.')).data.chatId).toBe(chat.id);
    await json('chats', 'pause', chat.id, '--minutes', '5', '--reason', 'a test');
    expect((await json('chats', 'list', '--paused')).data).toHaveLength(1);
    await json('chats', 'resume', chat.id, '--answer-missed');
    await json('chats', 'refuse', chat.id);
    await json('chats', 'approve', chat.id);
    expect((await json('chats', 'list', '--access', 'approved')).data).toHaveLength(1);
    await json('chats', 'tag', chat.id, 'vip');
    expect((await json('chats', 'list', '--tag', 'vip')).data).toHaveLength(1);
    expect((await json('chats', 'export', chat.id)).length).toBeGreaterThan(2);
  });

  it('works with dead letters', async () => {
    const [bo, cy] = [bed.person(), bed.person()];
    for (const { phone } of [bo, cy]) {
      const config = { adk: { appName: 'a' }, failure: { tryForMs: 0 } };
      const agentEndpoint = 'http://127.0.0.1:9';
      await json('routes', 'add', await routeFile({ channelId: phone, agentEndpoint, config }));
    }
    await Promise.all([bo.say('one', { to: bed.phone }), cy.say('two', { to: bed.phone })]);
    const letters = async () => (await json('dead-letters', 'list')).data as Array<{ id: string }>;
    await expect.poll(letters).toHaveLength(2);
    const [first, second] = await letters();
    const doctor = await runWa2ai(['doctor'], { env, nowMs: Date.now() });
    expect([doctor.code, doctor.output]).toEqual([1, expect.stringMatching(/\(adk\): .*cannot be reached/)]);
    for (const { id, channelId } of (await json('routes', 'list')).data) {
      if (channelId !== '*') await json('routes', 'remove', id, '--yes');
    }
    await json('dead-letters', 'replay', String(first?.id));
    await json('dead-letters', 'close', String(second?.id));
    await expect.poll(async () => bo.received.length + cy.received.length).toBeGreaterThan(0);
  });

  it('works with accounts, keys, hosted agents, the audit log and the log', async () => {
    await json('accounts', 'add', 'second');
    const hasNode = async () => (await runWa2ai(['accounts', 'restart', 'second'], { env })).code;
    await expect.poll(hasNode).toBe(0);
    await json('accounts', 'restart', 'second');
    await writeFile(join(folder, 'proxy-url'), 'socks5://ana:secret@127.0.0.1:9\n');
    await json('accounts', 'proxy', 'second', join(folder, 'proxy-url'));
    await json('accounts', 'proxy', 'second', '--remove', '--yes');
    await json('accounts', 'logout', 'second', '--yes');
    await json('accounts', 'remove', 'second', '--yes');
    expect((await json('accounts', 'list')).data.length).toBeGreaterThan(0);

    await json('keys', 'add', 'ci', 'routes:read');
    const { data: keys } = await json('keys', 'list');
    await json('keys', 'revoke', keys.find(({ name }: { name: string }) => name === 'ci').id, '--yes');

    const hosted = { runtime: 'process', command: [process.execPath, AGENT] };
    await post('/api/agents', { id: 'helper', hosted });
    await json('agents', 'start', 'helper');
    expect((await json('agents', 'show', 'helper')).data.status).toBe('idle');
    await json('agents', 'logs', 'helper');
    await json('agents', 'stop', 'helper');
    expect((await json('agents', 'list')).data).toHaveLength(1);

    expect((await json('audit', 'list')).data).toContainEqual(
      expect.objectContaining({ caller: 'local-socket', action: 'createKey' }),
    );
    expect(await json('audit', 'verify')).toMatchObject({ isIntact: true });
    expect((await json('logs', '--level', 'info')).data).toContainEqual(
      expect.objectContaining({ msg: 'wa2ai is ready' }),
    );
    for (const verb of ['inspect', 'check']) await json('agent', verb, bed.agent.url, '--kind', 'adk');
    await json('agent', 'test', bed.agent.url, '--app', 'test_agent', '--message', 'hola');
  });

  it('keeps versions of routes, and runs a scenario', async () => {
    const [{ id }] = (await json('routes', 'list')).data;
    expect((await json('routes', 'test', id)).data.findings).toEqual([]);
    const path = join(folder, 'routes.json');
    await json('routes', 'export', path);
    expect(await json('routes', 'apply', path, '--dry-run')).toMatchObject({ success: true });
    const [newest] = (await json('routes', 'history')).data;
    await json('routes', 'history', String(newest.version));
    await json('routes', 'rollback', String(newest.version), '--dry-run');
    expect(await json('simulate', SCENARIO)).toMatchObject({ isPassed: true });
    expect((await json('names', 'account')).data).toContain('default');
  });

  it('backs up, and restores into a temporary database', async () => {
    const path = join(folder, 'wa2ai.backup');
    env = { ...env, WA2AI_BACKUP_PASSPHRASE: 'a passphrase of a test' };
    expect((await json('backup', path)).path).toBe(path);
    expect((await runWa2ai(['backup', path], { env })).code).toBe(1);
    await json('restore', path, '--settings-to', join(folder, 'settings'));
    const { code, errors } = await runWa2ai(['restore', path, '--replace', '--yes'], { env });
    expect([code, errors]).toEqual([1, expect.stringContaining('wa2ai runs on this database')]);
  });

  it('completes words in bash', async () => {
    const { code, output } = await runWa2ai(['completion', 'bash']);
    expect(code).toBe(0);
    succeeded.add('wa2ai completion');
    const program = `${output}\nCOMP_WORDS=(wa2ai chats app)\nCOMP_CWORD=2\n_wa2ai\necho "$COMPREPLY"`;
    const child = spawn('bash', ['--norc', '-u', '-c', program]);
    let words = '';
    child.stdout.on('data', (chunk) => {
      words += chunk;
    });
    await once(child, 'close');
    expect(words).toBe('approve\n');
  });

  it('is an MCP server over the Unix socket, with the rights of a key', async () => {
    const headers = { 'x-api-key': ADMIN_KEY };
    await service.api('PUT', '/api/settings/mcp', { enabled: true }, headers);
    const { key } = await post('/api/keys', { name: 'mcp', scopes: ['mcp', 'routes:read'] });
    for (const [own, hasChats] of [
      [{}, true],
      [{ WA2AI_API_KEY: String(key) }, false],
    ] as const) {
      const client = new Client({ name: 'wa2ai-tests', version: '1' });
      await client.connect(
        new StdioClientTransport({
          command: process.execPath,
          args: [BUILT_CLI, 'mcp'],
          env: { PATH: process.env.PATH ?? '', WA2AI_DATA_DIR: folder, ...own },
          stderr: 'inherit',
        }),
      );
      const result = await client.callTool({ name: 'list_chats', arguments: {} });
      expect(result.isError ?? false).toBe(!hasChats);
      await client.close();
    }
    succeeded.add('wa2ai mcp');
  });

  it('starts the service, which ends with 0 after a signal and with 2 for a wrong setting', async () => {
    const database = await createTestDatabase();
    const settings = { DATABASE_URL: database.url, WA2AI_DATA_DIR: join(folder, 'started'), WA2AI_PORT: '0' };
    const start = (more: Record<string, string>) =>
      spawn(process.execPath, [BUILT_CLI, 'start'], {
        cwd: folder,
        env: { PATH: process.env.PATH, WA2AI_LOG_FORMAT: 'json', ...env, ...settings, ...more },
      });
    const wrong = start({ WA2AI_PORT: 'many' });
    expect((await once(wrong, 'exit'))[0]).toBe(2);
    const child = start({ WA2AI_NODE_ID: `n${newNumber('')}` });
    for await (const line of createInterface({ input: child.stdout })) {
      if (line.includes('"wa2ai is ready"')) break;
    }
    child.stdout.resume();
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).toBe(0);
    await database.drop();
    succeeded.add('wa2ai start');
  });

  it('has used every command', () => {
    expect([...succeeded].sort()).toEqual([...leaves].sort());
  });
});

describe('wa2ai messages --follow', () => {
  it('prints each message once and in order while the service is killed and starts again', async () => {
    const other = bed.person();
    const feed = follow('messages', '--follow', '--chat', person.phone, '--limit', '1');
    await expect.poll(() => feed.lines().length).toBe(1);
    const log = follow('logs', '--follow', '--limit', '1');
    const texts: string[] = [];
    const say = async (text: string) => {
      texts.push(text, `Echo: ${text}`);
      const before = person.received.length;
      await other.say(`not ${text}`, { to: bed.phone });
      await person.say(text, { to: bed.phone });
      await person.waitForReceived(before + 1);
    };
    await say('before');
    for (const round of [1, 2]) {
      await service.end('SIGKILL');
      await person.say(`while away ${round}`, { to: bed.phone });
      texts.push(`while away ${round}`, `Echo: while away ${round}`);
      const before = person.received.length;
      service = await bed.restartService({ ...env, WA2AI_BACKUP_PASSPHRASE: '' });
      await person.waitForReceived(before + 1);
      await say(`after ${round}`);
      // The lines of a process end with it: they are read before the next one is killed.
      await expect.poll(() => log.lines().filter(({ msg }) => msg === 'wa2ai is ready').length).toBe(round);
    }
    const shown = () =>
      feed
        .lines()
        .slice(1)
        .map(({ text }) => text);
    await expect.poll(shown).toEqual(texts);
    const ids = feed.lines().map(({ id }) => BigInt(id));
    expect(new Set(ids).size).toBe(ids.length);
    expect(feed.written.errors).toContain('Connecting again.');
    await Promise.all([feed.end(), log.end()]);
  });
});
