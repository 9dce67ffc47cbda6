import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { expect } from 'vitest';

/** Ends the engine that tests/containers/with-engine.sh started, and starts it again; resolves when it answers. */
export async function restartEngine(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const { ENGINE_COMMAND = '', ENGINE_PID_FILE = '', ENGINE_LOG = '', DOCKER_HOST = '' } = process.env;
  const socket = DOCKER_HOST.replace('unix://', '');
  const pid = Number(readFileSync(ENGINE_PID_FILE, 'utf8'));
  process.kill(pid, signal);
  await expect.poll(() => isRunning(pid), { timeout: 60_000 }).toBe(false);
  rmSync('/run/docker.pid', { force: true });
  rmSync(socket, { force: true });
  const log = openSync(ENGINE_LOG, 'a');
  const engine = spawn('bash', ['-c', `exec ${ENGINE_COMMAND}`], {
    detached: true,
    stdio: ['ignore', log, log],
  });
  engine.unref();
  writeFileSync(ENGINE_PID_FILE, String(engine.pid));
  const state = async () => {
    if (engine.exitCode !== null) return readFileSync(ENGINE_LOG, 'utf8').slice(-2_000);
    return (await isListening(socket)) ? 'listens' : 'starts';
  };
  await expect.poll(state, { timeout: 60_000 }).toBe('listens');
}

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

async function isListening(socket: string): Promise<boolean> {
  const connection = connect(socket);
  try {
    await once(connection, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    connection.destroy();
  }
}
