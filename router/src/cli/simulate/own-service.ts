import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { CliError } from '../exit-code.ts';
import { Api } from '../service/api.ts';

/** Nobody listens there: the service has no phone and looks for none. */
const NO_WHATSAPP = 'ws://127.0.0.1:9';
const START_LIMIT_MS = 120_000;
const TAIL_LINES = 20;

/** A service of one command, in a temporary folder, with an empty database and without WhatsApp. */
export class OwnService {
  readonly #folder: string;
  #child: ChildProcess | undefined;
  #url = '';

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** @throws {CliError} it does not start; the sentence has the end of its log */
  static async start(): Promise<OwnService> {
    const service = new OwnService(await mkdtemp(join(tmpdir(), 'wa2ai-simulate-')));
    try {
      await service.#start();
    } catch (error) {
      await service.close();
      throw error;
    }
    return service;
  }

  /** Its API. */
  get api(): Api {
    return new Api({ url: this.#url, name: this.#url });
  }

  /** Ends it and removes its data. */
  async close(): Promise<void> {
    const child = this.#child;
    if (child && child.exitCode === null && child.signalCode === null) {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    }
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    // The program of this command, with the settings of nobody: the folder has no .env.
    const child = spawn(process.execPath, [process.argv[1] ?? '', 'start'], {
      cwd: this.#folder,
      env: this.#env(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#url = await urlOf(child);
  }

  #env(): Record<string, string | undefined> {
    const others = Object.entries(process.env).filter(
      ([name]) => !name.startsWith('WA2AI_') && name !== 'DATABASE_URL',
    );
    return {
      ...Object.fromEntries(others),
      WA2AI_PORT: '0',
      WA2AI_SOCKET: 'off',
      WA2AI_DATA_DIR: join(this.#folder, 'data'),
      WA2AI_LOG_FORMAT: 'json',
      WA2AI_WHATSAPP_WS_URL: NO_WHATSAPP,
    };
  }
}

/** Resolves with the address of the service when it is ready. */
function urlOf(child: ChildProcess): Promise<string> {
  const tail: string[] = [];
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(timer);
      reject(new CliError(`The service of the scenario ${why}:\n${tail.join('\n')}`));
    };
    const timer = setTimeout(() => fail(`was not ready in ${START_LIMIT_MS / 1000} seconds`), START_LIMIT_MS);
    const take = (line: string) => {
      tail.push(line);
      tail.splice(0, tail.length - TAIL_LINES);
      const url = readyUrl(line);
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', take);
    }
    child.once('error', (error) => fail(`did not start (${error.message})`));
    child.once('exit', () => fail('ended'));
  });
}

function readyUrl(line: string): string | undefined {
  if (!line.includes('wa2ai is ready')) return undefined;
  try {
    const { msg, url } = JSON.parse(line) as { msg?: string; url?: string };
    return msg === 'wa2ai is ready' ? url : undefined;
  } catch {
    return undefined;
  }
}
