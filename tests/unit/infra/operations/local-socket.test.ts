import { spawnSync } from 'node:child_process';
import { chmod, lstat, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Api } from '../../../../router/src/cli/service/api.ts';
import { targetOf } from '../../../../router/src/cli/service/target.ts';
import { localSocketOf } from '../../../../router/src/config/socket-path.ts';
import { listenOnFile } from '../../../../router/src/infra/operations/local-socket.ts';
import { createHttpServer } from '../../../../router/src/infra/operations/server.ts';
import { type HttpApi, startHttpApi } from '../../../support/http-api.ts';

const KEY = 'an-admin-key-for-tests';
let folder: string;
let path: string;
let open: HttpApi;
const closing: Array<() => Promise<unknown>> = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'wa2ai-socket-'));
  path = join(folder, 'data', 'wa2ai.sock');
  open = await startHttpApi({ apiKey: KEY });
  closing.push(() => open.close());
});

afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  await rm(folder, { recursive: true });
});

/** A second server over the same doubles, with a Unix socket. */
async function serverOn(socketPath: string, isChosen = true) {
  const config = { ...open.options.config, socket: { path: socketPath, isChosen } };
  const server = await createHttpServer({ ...open.options, config });
  closing.push(() => server.close());
  return server;
}

async function apiOn(socketPath: string, keyFile?: string) {
  const options = keyFile === undefined ? {} : { keyFile };
  return new Api(
    await targetOf(options, { WA2AI_SOCKET: socketPath, WA2AI_API_KEY: 'not-sent-over-the-file' }),
  );
}

/** A Unix socket on which nothing listens any more, as a killed service leaves it. */
async function leaveStaleSocket(): Promise<void> {
  const program = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await mkdir(join(folder, 'data'), { recursive: true });
  spawnSync(process.execPath, ['-e', program]);
  expect((await lstat(path)).isSocket()).toBe(true);
}

describe('the Unix socket', () => {
  it('lets only the user of the service in, without a key and with all rights', async () => {
    await serverOn(path);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, 'data'))).mode & 0o777).toBe(0o700);
    const api = await apiOn(path);
    expect(await api.call('GET', '/api/keys')).toMatchObject({ success: true });
  });

  it('records calls as those of the local socket', async () => {
    await serverOn(path);
    const body = { name: 'ci', scopes: ['routes:read'] };
    await (await apiOn(path)).call('POST', '/api/keys', { body });
    await (await apiOn(path)).call('GET', '/api/routes');
    await open.recorder.stop();
    const entries = await open.auditLog.entries({ limit: 10 });
    expect(entries.map(({ caller, action }) => [caller, action])).toEqual([
      ['local-socket', 'listRoutes'],
      ['local-socket', 'createKey'],
    ]);
    expect(entries.every((entry) => entry.address === undefined)).toBe(true);
  });

  it('gives a caller with a key the rights of the key only', async () => {
    await serverOn(path);
    const keyFile = join(folder, 'key');
    await writeFile(keyFile, await open.addKey({ scopes: ['routes:read'] }));
    const api = await apiOn(path, keyFile);
    await expect(api.call('GET', '/api/routes')).resolves.toMatchObject({ success: true });
    await expect(api.call('GET', '/api/keys')).rejects.toMatchObject({ exitCode: 4 });
  });

  it('gives no rights to callers of the port', async () => {
    const { url } = await serverOn(path);
    expect((await fetch(`${url}/api/routes`)).status).toBe(401);
  });

  it('replaces the file that a killed service left', async () => {
    await leaveStaleSocket();
    await serverOn(path);
    expect(await (await apiOn(path)).call('GET', '/health/live')).toEqual({ status: 'live' });
  });

  it('disappears when the service stops', async () => {
    const server = await serverOn(path);
    await server.close();
    await expect(lstat(path)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('is never taken from a service that runs', async () => {
    await serverOn(path);
    await expect(serverOn(path)).rejects.toThrow(/another wa2ai listens on .*WA2AI_DATA_DIR/);
    expect(await (await apiOn(path)).call('GET', '/health/live')).toEqual({ status: 'live' });
  });

  it('never replaces a file that is no socket', async () => {
    const file = join(folder, 'notes.txt');
    await writeFile(file, 'mine');
    await chmod(file, 0o644);
    await expect(serverOn(file)).rejects.toThrow('exists and is not a socket');
    expect((await stat(file)).size).toBe(4);
  });

  it('is refused with a sentence when its path is longer than the system allows', async () => {
    const long = join(folder, 'x'.repeat(120));
    await expect(listenOnFile(createServer(), long)).rejects.toThrow(/bytes, and the system allows 10[37]\./);
  });

  it('is left out with a warning when nobody chose the path', async () => {
    await serverOn(join(folder, 'x'.repeat(120)), false);
    const warnings = open.log.lines.filter(
      ({ message }) => message === 'no Unix socket for the command line',
    );
    expect(warnings).toHaveLength(1);
  });
});

describe('the setting of the Unix socket', () => {
  it('is the data folder, another path, or off', () => {
    const dataDir = 'data';
    expect(localSocketOf({ socket: undefined, dataDir }, 'linux')).toEqual({
      path: join('data', 'wa2ai.sock'),
      isChosen: false,
    });
    expect(localSocketOf({ socket: '/run/wa2ai.sock', dataDir }, 'linux')).toEqual({
      path: '/run/wa2ai.sock',
      isChosen: true,
    });
    expect(localSocketOf({ socket: 'off', dataDir }, 'linux')).toBeUndefined();
    expect(localSocketOf({ socket: undefined, dataDir }, 'win32')).toBeUndefined();
  });
});
