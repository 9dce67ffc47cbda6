import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { processTree, stillRunning } from '../support/process-tree.ts';
import { repositoryRoot } from '../support/repository.ts';

let folder: string;
let tokenFile: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'shell-program-'));
  tokenFile = join(folder, 'token');
  writeFileSync(tokenFile, 'the-token\n');
  const script = join(repositoryRoot, 'scripts/bundle-shell-runtime.mjs');
  await promisify(execFile)(process.execPath, [script, folder]);
});

afterAll(() => {
  for (const child of children) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

/** The program with these variables, and its first line. */
async function start(env: Record<string, string>) {
  const child = spawn(process.execPath, [join(folder, 'shell-runtime.mjs')], {
    env: { PATH: process.env.PATH, TMPDIR: folder, HOST: '127.0.0.1', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const ended = once(child, 'exit').then(([code]) => code as number);
  const lines = [child.stdout, child.stderr].map((stream) =>
    once(createInterface({ input: stream }), 'line'),
  );
  const [line] = (await Promise.race(lines)) as [string];
  return { child, line, ended };
}

async function running(env: Record<string, string> = { AUTH_TOKEN_FILE: tokenFile }) {
  const { child, line, ended } = await start(env);
  const url = `http://127.0.0.1:${/port (\d+)$/.exec(line)?.[1]}`;
  const call = async (path: string, body?: object, key = 'the-token') => {
    const response = await fetch(url + path, {
      headers: { 'x-api-key': key },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    return { status: response.status, text: await response.text() };
  };
  return { child, ended, call };
}

describe('the program of the shell runtime', () => {
  it.each(['AUTH_TOKEN_FILE', 'AGENT_TOKEN_FILE'])('takes its token from the file in %s', async (name) => {
    const { call } = await running({ [name]: tokenFile });
    expect(await call('/is_alive')).toEqual({ status: 200, text: '{"is_alive":true,"message":""}' });
    expect((await call('/is_alive', undefined, 'another')).status).toBe(401);
  });

  it.each([
    [{}, 'Set AUTH_TOKEN_FILE to the path of a file'],
    [{ AUTH_TOKEN_FILE: '/nonexistent' }, 'Cannot read the token file /nonexistent'],
    [{ AUTH_TOKEN: 'x', PORT: 'http' }, 'PORT must be a number'],
  ])('does not start with %j, and says why', async (env, sentence) => {
    const { line, ended } = await start(env);
    expect(line).toContain(sentence);
    expect(await ended).toBe(1);
  });

  it('keeps its own variables from the programs that it runs', async () => {
    const { call } = await running();
    await call('/create_session', {});
    const inSession = await call('/run_in_session', { command: 'env', check: 'silent' });
    const outside = await call('/execute', { command: ['env'] });
    for (const { status, text } of [inSession, outside]) {
      expect(status).toBe(200);
      expect(text).toContain('PATH=');
      expect(text).not.toMatch(/TOKEN|PORT=/);
    }
  });

  it('tells who waits for a command that it ends, and ends its programs', async () => {
    const { child, ended, call } = await running();
    await call('/create_session', {});
    await call('/create_session', { session: 'other' });
    const pid = join(folder, 'pid');
    const waiting = call('/run_in_session', { command: `echo $BASHPID > ${pid}; sleep 1000` });
    const look = { session: 'other', command: `until [ -s ${pid} ]; do sleep 0.01; done; cat ${pid}` };
    const shell = Number(JSON.parse((await call('/run_in_session', look)).text).output);
    await expect.poll(async () => (await processTree(shell)).length).toBe(2);
    const tree = await processTree(shell);
    child.kill('SIGTERM');
    const { status, text } = await waiting;
    expect([status, JSON.parse(text).swerexception.class_path]).toEqual([511, 'pexpect.exceptions.EOF']);
    expect(await ended).toBe(0);
    await expect.poll(() => stillRunning(tree)).toEqual([]);
  });
});
