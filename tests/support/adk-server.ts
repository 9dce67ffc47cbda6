import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { repositoryRoot } from './repository.ts';
import { unusedPort } from './unused-port.ts';

const PACKAGE = join(repositoryRoot, 'tests/adk-server');
const CLI = join(PACKAGE, 'node_modules/@google/adk-devtools/dist/esm/cli_entrypoint.js');
const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 5_000;

/** Names of the apps in tests/adk-server/agents, whose agents' models are local scripts. */
export type AdkApp = 'front_desk' | 'drafts' | 'fanout' | 'merged' | 'model';

/** A running ADK server. */
export interface AdkServer {
  /** `http://127.0.0.1:PORT` */
  url: string;
  stop(): Promise<void>;
}

/**
 * Starts the real Google ADK API server with the agents of tests/adk-server on a free loopback port, with sessions in
 * memory. It gets no credentials and no telemetry target.
 * @param options.a2aToken its agents speak A2A too, below `/a2a/<app>`, to callers with this token
 * @throws when it does not start within a minute; the message contains its output
 */
export async function startAdkServer({ a2aToken }: { a2aToken?: string } = {}): Promise<AdkServer> {
  // The cards of its A2A agents name the port of its settings, so it must be known before.
  const port = a2aToken === undefined ? 0 : await unusedPort();
  const child = spawn(
    process.execPath,
    [
      ...[CLI, 'api_server', join(PACKAGE, 'agents'), '--host', '127.0.0.1', '--port', String(port)],
      ...['--compile', 'false', '--bundle', 'false', '--session_service_uri', 'memory://'],
      ...(a2aToken === undefined ? [] : ['--a2a', 'true', '--a2a_auth_token', a2aToken]),
    ],
    {
      cwd: PACKAGE,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        OTEL_SDK_DISABLED: 'true',
        METADATA_SERVER_DETECTION: 'none',
        ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS: 'false',
      },
    },
  );
  try {
    return { url: await addressOf(child), stop: () => stop(child) };
  } catch (error) {
    await stop(child);
    throw error;
  }
}

/** Waits for the line that names the address; the port is bound by then. */
function addressOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = '';
    const fail = (why: string) => reject(new Error(`The ADK server ${why}. It wrote:\n${output}`));
    const timer = setTimeout(() => fail(`was not ready after ${START_LIMIT_MS} ms`), START_LIMIT_MS);
    for (const stream of [child.stdout, child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (line) => {
        if (output.length < 20_000) output += `${line}\n`;
        const url = /access at (http:\/\/[\d.]+:\d+)/.exec(line)?.[1];
        if (!url) return;
        clearTimeout(timer);
        resolve(url);
      });
    }
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`ended with code ${code} at its start`);
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS);
  await exited;
  clearTimeout(timer);
}
