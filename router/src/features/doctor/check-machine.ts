import { access, constants, stat, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, resolve } from 'node:path';
import { errorCode, errorMessage } from '../../infra/db/database-errors.ts';
import type { Finding } from './finding.ts';

/** With less, PostgreSQL soon cannot write. */
const MIN_FREE_BYTES = 200_000_000;
const LOW_FREE_BYTES = 1_000_000_000;
const OLDEST_NODE = [20, 19];

/** @param version as in `process.versions.node` */
export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_NODE;
  const isNew = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  if (isNew) return { check: 'node', level: 'ok', message: `Node.js ${version}.` };
  return {
    check: 'node',
    level: 'error',
    message: `Node.js ${version} is too old.`,
    fix: `Install Node.js ${OLDEST_NODE.join('.')} or newer.`,
  };
}

/** Whether the service could listen there now. @param isRunning whether wa2ai answers already */
export async function checkPort(host: string, port: number, isRunning: boolean): Promise<Finding> {
  const check = 'port';
  if (isRunning) return { check, level: 'ok', message: 'wa2ai is running and answers.' };
  if (port === 0) return { check, level: 'ok', message: 'A free port is chosen at the start.' };
  const failure = await new Promise<unknown>((done) => {
    const server = createServer();
    server.once('error', done);
    server.listen({ host, port, exclusive: true }, () => server.close(() => done(undefined)));
  });
  if (failure === undefined) return { check, level: 'ok', message: `${host}:${port} is free.` };
  const code = errorCode(failure);
  if (code === 'EADDRINUSE') {
    return {
      check,
      level: 'error',
      message: `Another program listens on ${host}:${port}.`,
      fix: `Find it with "ss -ltnp 'sport = :${port}'" and stop it, or set WA2AI_PORT to another port.`,
    };
  }
  return {
    check,
    level: 'error',
    message: `wa2ai cannot listen on ${host}:${port} (${code ?? errorMessage(failure)}).`,
    fix: 'Set WA2AI_HOST to an address of this machine, and WA2AI_PORT to a port from 1024.',
  };
}

/** Free space for the data folder, or for the nearest folder above it that exists. */
export async function checkDisk(dataDir: string): Promise<Finding> {
  const check = 'disk';
  for (let folder = resolve(dataDir); ; folder = dirname(folder)) {
    try {
      const { bavail, bsize } = await statfs(folder);
      const free = bavail * bsize;
      const message = `${(free / 1e9).toFixed(1)} GB are free for ${dataDir}.`;
      if (free >= LOW_FREE_BYTES) return { check, level: 'ok', message };
      const level = free < MIN_FREE_BYTES ? 'error' : 'warning';
      return { check, level, message, fix: 'Free space, or move WA2AI_DATA_DIR to a larger disk.' };
    } catch (error) {
      if (errorCode(error) === 'ENOENT' && dirname(folder) !== folder) continue;
      return {
        check,
        level: 'warning',
        message: `The free space for ${dataDir} is not known (${errorCode(error) ?? errorMessage(error)}).`,
        fix: 'Run this command as the user of the service.',
      };
    }
  }
}

/** Whether this user may write the data folder, or create it. Writes nothing. */
export async function checkDataFolder(dataDir: string): Promise<Finding> {
  const check = 'files';
  for (let folder = resolve(dataDir); ; folder = dirname(folder)) {
    const failure = await writeFailure(folder);
    if (failure === 'ENOENT' && dirname(folder) !== folder) continue;
    if (failure === undefined) return { check, level: 'ok', message: `${dataDir} can be written.` };
    return {
      check,
      level: 'error',
      message: `wa2ai cannot write ${dataDir}: ${folder} refuses this user (${failure}).`,
      fix: 'Run this command as the user of the service, make the folder its own with chown, or set WA2AI_DATA_DIR.',
    };
  }
}

/** The code of the error with which a folder refuses writing; undefined: it does not. */
async function writeFailure(folder: string): Promise<string | undefined> {
  try {
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    return (await stat(folder)).isDirectory() ? undefined : 'ENOTDIR';
  } catch (error) {
    return errorCode(error) ?? errorMessage(error);
  }
}

/** Whether others on this machine can read a file with a secret. A file that does not exist yields nothing. */
export async function checkSecretFile(path: string): Promise<Finding | undefined> {
  const found = await stat(path).catch(() => undefined);
  if (!found || process.platform === 'win32') return undefined;
  const check = 'files';
  if ((found.mode & 0o007) === 0) return { check, level: 'ok', message: `${path} is private.` };
  return {
    check,
    level: 'warning',
    message: `Every user of this machine can read ${path}, which contains a secret.`,
    fix: `Run: chmod 600 ${path}`,
  };
}
