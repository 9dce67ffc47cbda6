import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeText } from '../../runtime-server/text-decoder.ts';
import { repositoryRoot } from '../support/repository.ts';
import { type RunningRuntime, startRuntime } from '../support/shell-runtime.ts';
import { zipFile } from '../support/zip-file.ts';

/**
 * Requests to the Python implementation of the API, and its answers. They were recorded from its session, execution and file
 * logic with pexpect and FastAPI of Debian 12; `FOLDER` is a folder of the test.
 */
interface Exchange {
  path: string;
  key?: string;
  headers?: Record<string, string>;
  request?: unknown;
  status: number;
  answer: string;
}

const file = join(repositoryRoot, 'tests/fixtures/shell-runtime/exchanges.json');

it('answers as the Python implementation, byte for byte, with a terminal and with pipes', async () => {
  await Promise.all([true, false].map(answersAsRecorded));
});

async function answersAsRecorded(hasTerminal: boolean): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'replay-'));
  const exchanges = JSON.parse(readFileSync(file, 'utf8').replaceAll('FOLDER', folder)) as Exchange[];
  expect(exchanges.length).toBeGreaterThan(60);
  const fresh = await startRuntime(hasTerminal);
  for (const { path, key, headers, request, status, answer } of exchanges) {
    const keyHeader: Record<string, string> = key === undefined ? {} : { 'x-api-key': key };
    const given = await fresh.call(path, request, { ...headers, ...keyHeader });
    expect({ hasTerminal, request, ...given }).toEqual({ hasTerminal, request, status, text: answer });
  }
  await fresh.stop();
  rmSync(folder, { recursive: true });
}

describe.each([
  ['with a terminal', true],
  ['with pipes', false],
])('shell runtime %s', (_name, hasTerminal) => {
  let runtime: RunningRuntime;
  let folder: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'replay-'));
    runtime = await startRuntime(hasTerminal);
    for (const session of ['default', 'other']) await runtime.call('/create_session', { session });
  });

  afterAll(async () => {
    await runtime.stop();
    rmSync(folder, { recursive: true });
  });

  it('reports exactly what a command wrote, whatever it wrote', async () => {
    const octal = (bytes: Uint8Array) =>
      [...bytes].map((byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
    // escape sequences are removed and a terminal changes line ends: both have their own tests
    const written = fc.uint8Array({ maxLength: 60 }).map((bytes) => bytes.filter((byte) => byte !== 0x1b));
    await fc.assert(
      fc.asyncProperty(written, fc.nat(255), async (bytes, code) => {
        const expected = decodeText(Buffer.from(bytes));
        const { output, exit_code } = await runtime.run(`printf '${octal(bytes)}'; (exit ${code})`);
        expect({ output, exit_code }).toEqual({ output: expected, exit_code: code });
      }),
      { numRuns: 60 },
    );
  });

  it('reports output of several megabytes without a loss', async () => {
    const { output } = await runtime.run('seq 1 700000');
    expect((output as string).length).toBe(4_788_895);
    expect((output as string).endsWith('\n699999\n700000\n')).toBe(true);
  });

  it('refuses unbalanced quotes and runs the next command', async () => {
    for (const command of ['echo "open', "echo 'open", 'echo $(', 'cat <(', 'if true', '}']) {
      const answer = await runtime.run(command);
      expect(answer.swerexception).toMatchObject({
        class_path: 'swerex.exceptions.BashIncorrectSyntaxError',
        extra_info: { bash_stderr: expect.stringContaining('bash: line') },
      });
    }
    expect(await runtime.run('echo next')).toMatchObject({ output: 'next\n', exit_code: 0 });
  });

  it('says nothing about a job that runs on', async () => {
    const { output } = await runtime.run(`sleep 60 & echo started`);
    expect(output).toBe('started\n');
    await runtime.run('kill $!; wait');
  });

  it('separates the output of background jobs from the end of a command', async () => {
    const first = await runtime.run(
      `(while ! [ -e ${folder}/go ]; do sleep 0.01; done; echo from the job) & echo started`,
    );
    expect(first.output).toContain('started\n');
    const second = await runtime.run(`touch ${folder}/go; wait; echo end`);
    expect(second.output).toContain('from the job\n');
    expect(second.output).toContain('end\n');
    expect(second.exit_code).toBe(0);
  });

  it('answers whether it is alive, and other sessions, while a command runs', async () => {
    const running = runtime.run(`while ! [ -e ${folder}/end ]; do sleep 0.01; done; echo ended`);
    expect((await runtime.call('/is_alive')).status).toBe(200);
    expect(await runtime.run('echo other', { session: 'other' })).toMatchObject({ output: 'other\n' });
    await runtime.run(`touch ${folder}/end`, { session: 'other' });
    expect(await running).toMatchObject({ output: 'ended\n', exit_code: 0 });
  });

  it('interrupts a command that another request waits for', async () => {
    // The program itself says that it runs: of one that is only beginning, Bash also prints that it was interrupted.
    const program = `sh -c 'touch ${folder}/begun; exec sleep 1000'`;
    const running = runtime.run(`echo before; ${program}; echo never`, { timeout: 1_000 });
    const next = runtime.run('true');
    await runtime.run(`while ! [ -e ${folder}/begun ]; do sleep 0.01; done`, { session: 'other' });
    expect(await runtime.call('/run_in_session', { action_type: 'bash_interrupt' })).toMatchObject({
      status: 200,
    });
    const { output, exit_code } = await running;
    expect({ output: String(output).trim(), exit_code }).toEqual({ output: 'before', exit_code: 130 });
    expect(await next).toMatchObject({ exit_code: 0 });
  });

  it('kills a command that ignores interrupts', async () => {
    const fields = { expect: ['ignores'], check: 'ignore' };
    const answer = await runtime.run(`(trap '' INT; echo ignores; exec sleep 1000)`, fields);
    expect(answer).toMatchObject({ expect_string: 'ignores' });
    const { status } = await runtime.call('/run_in_session', { action_type: 'bash_interrupt' });
    expect(status).toBe(200);
    expect(await runtime.run('echo next')).toMatchObject({ exit_code: 0 });
  });

  it('does not start a command before the one before it has ended', async () => {
    const late = await runtime.run('sleep 1000', { timeout: 0.2 });
    expect(late.swerexception).toMatchObject({ class_path: 'swerex.exceptions.CommandTimeoutError' });
    const refused = await runtime.run(`touch ${folder}/too-early`, { timeout: 0.2 });
    expect(refused.swerexception).toMatchObject({ class_path: 'swerex.exceptions.CommandTimeoutError' });
    await runtime.call('/run_in_session', { action_type: 'bash_interrupt' });
    expect(await runtime.run(`ls ${folder}/too-early`)).toMatchObject({ exit_code: 2 });
  });

  it('answers a repeated request from memory, also while the first one runs', async () => {
    const body = {
      command: `echo x >> ${folder}/count; sleep 0.3; wc -l < ${folder}/count`,
      check: 'silent',
    };
    const headers = { 'x-request-id': 'repeat-1' };
    const answers = await Promise.all([1, 2, 3].map(() => runtime.call('/run_in_session', body, headers)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(JSON.parse(answers[0]?.text ?? '')).toMatchObject({ output: '1\n' });
    const only = { 'x-request-replay': 'only' };
    expect(await runtime.call('/run_in_session', body, { ...headers, ...only })).toEqual(answers[0]);
    const unknown = await runtime.call('/run_in_session', body, { 'x-request-id': 'other', ...only });
    expect(unknown.status).toBe(409);
  });

  it('makes a new session after the shell has ended', async () => {
    const answer = await runtime.run('echo bye; exit 3');
    expect(answer.swerexception).toMatchObject({
      class_path: 'pexpect.exceptions.EOF',
      extra_info: { output: expect.stringContaining('bye'), exit_code: 3 },
    });
    expect((await runtime.call('/create_session', {})).status).toBe(200);
    expect(await runtime.run('echo again')).toMatchObject({ output: 'again\n' });
  });

  it('survives commands that change the prompt', async () => {
    await runtime.run(`PROMPT_COMMAND='echo X'; PS1='hello '; PS0=zero`);
    expect(await runtime.run('echo a')).toMatchObject({ output: 'a\n', exit_code: 0 });
  });

  it('talks to a program that asks', async () => {
    const asked = await runtime.run(`printf 'name? '; read -r name; echo "hello $name"`, {
      is_interactive_command: true,
      expect: ['name\\? '],
    });
    expect(asked).toMatchObject({ expect_string: 'name\\? ', exit_code: 0 });
    const answered = await runtime.run('Ada', { is_interactive_command: true });
    expect(answered).toMatchObject({ output: 'hello Ada', expect_string: 'SHELLPS1PREFIX' });
  });

  it('stores an upload and unpacks an archive', async () => {
    const upload = async (bytes: Buffer, path: string, unzip: string) => {
      const form = new FormData();
      form.set('file', new File([new Uint8Array(bytes)], 'x'));
      form.set('target_path', path);
      form.set('unzip', unzip);
      const headers = { 'x-api-key': runtime.token };
      const response = await fetch(`${runtime.url}/upload`, { method: 'POST', headers, body: form });
      return { status: response.status, text: await response.text() };
    };
    const bytes = Buffer.from([0, 255, 13, 10]);
    expect(await upload(bytes, `${folder}/up/file.bin`, 'false')).toEqual({ status: 200, text: '{}' });
    expect(readFileSync(`${folder}/up/file.bin`)).toEqual(bytes);
    await upload(zipFile([{ name: 'in/a.txt', content: Buffer.from('A') }]), `${folder}/zip`, 'true');
    expect(readFileSync(`${folder}/zip/in/a.txt`, 'utf8')).toBe('A');
    const slip = await upload(
      zipFile([{ name: '../evil', content: Buffer.from('E') }]),
      `${folder}/zip`,
      'true',
    );
    expect(slip.status).toBe(511);
    expect(slip.text).toContain('leads out of the target folder');
  });

  it.each([
    ['/run_in_session', { session: 'default' }, 'command'],
    ['/run_in_session', { command: 5 }, 'command'],
    ['/run_in_session', { command: 'x', timeout: 'soon' }, 'timeout'],
    ['/execute', { command: [1] }, 'command'],
    ['/read_file', {}, 'path'],
  ])('refuses the request %s %j with the field', async (path, body, field) => {
    const { status, text } = await runtime.call(path, body);
    expect(status).toBe(422);
    expect(JSON.parse(text)).toMatchObject({ detail: [{ loc: ['body', field] }] });
  });
});
