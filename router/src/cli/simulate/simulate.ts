import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { ApiWorld, type CallApi, OPERATIONS } from '../../features/playground/api-world.ts';
import { runScenario, type ScenarioResult, type StepResult } from '../../features/playground/run-scenario.ts';
import {
  fileOfStep,
  readScenario,
  type Scenario,
  type ScenarioStep,
  StepFailedError,
  sentenceOfProblem,
} from '../../features/playground/scenario.ts';
import { systemClock } from '../../infra/clock/system-clock.ts';
import { RegexMatcher } from '../../infra/matching/regex-matcher.ts';
import type { Cli } from '../cli.ts';
import { CliError, CliUsageError, EXIT } from '../exit-code.ts';
import { oneLine } from '../output/table.ts';
import { Api } from '../service/api.ts';

/**
 * Runs the scenarios of files one after the other and reports each step. Nothing runs unless all files are right.
 * @param isOwn they run at a service of this command
 * @throws {CliError} a file is wrong (exit code 2), or the service does not answer
 */
export async function simulate(cli: Cli, files: readonly string[], isOwn: boolean): Promise<void> {
  const loaded = await Promise.all(files.map(loadScenario));
  const running = isOwn ? undefined : await cli.api();
  const matcher = new RegexMatcher();
  let own: OwnService | undefined;
  const stopOwn = stopOnSignal(() => own?.close());
  const results: Array<ScenarioResult & { file: string }> = [];
  try {
    for (const each of loaded) {
      if (!cli.isJson) cli.host.write(`${each.file}  ${oneLine(each.scenario.name ?? '')}\n`);
      if (isOwn) own ??= await OwnService.start();
      const world = worldOf(each, own?.api ?? running);
      const result = await runScenario(
        {
          ...{ world, matcher, clock: systemClock },
          onStep: (step) => {
            if (!cli.isJson) cli.host.write(`${lineOf(cli, step)}\n`);
          },
        },
        each.scenario,
      );
      results.push({ file: each.file, ...result });
    }
  } finally {
    stopOwn();
    await Promise.all([own?.close(), matcher.close()]);
  }
  const passed = results.filter(({ isPassed }) => isPassed).length;
  const isPassed = passed === results.length;
  if (!isPassed) cli.exitCode = EXIT.failed;
  cli.show(
    { isPassed, scenarios: results },
    () => `\n${passed} of ${results.length} scenario${results.length === 1 ? '' : 's'} passed.`,
  );
}

function worldOf({ scenario }: LoadedScenario, api: Api | undefined): ApiWorld {
  if (!api) throw new TypeError('a scenario has a service');
  return new ApiWorld({
    call: callerOf(api),
    ...(scenario.route !== undefined && { route: scenario.route }),
  });
}

/** What the service refuses is a failed step; a service that does not answer ends the command. */
function callerOf(api: Api): CallApi {
  return async (operation, { id = '', query = {}, body } = {}) => {
    const [method, path] = OPERATIONS[operation];
    const request = { query, ...(body && { body }) };
    try {
      return await api.call(method, path.replace('{id}', encodeURIComponent(id)), request);
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== EXIT.failed) throw error;
      throw new StepFailedError({ sentence: error.message }, { cause: error });
    }
  };
}

function lineOf({ colours }: Cli, { number, step, outcome, ms, detail }: StepResult): string {
  const mark = {
    passed: colours.state('ok  ', 'good'),
    failed: colours.state('FAIL', 'bad'),
    skipped: 'skip',
  }[outcome];
  const time = outcome === 'skipped' ? '' : `  (${ms} ms)`;
  const said = detail === undefined ? '' : `\n          ${oneLine(detail)}`;
  return `  ${mark} ${String(number).padStart(3)}  ${oneLine(step)}${time}${said}`;
}

/** Ctrl-C and a stop of the command end its service too. @returns stops listening */
function stopOnSignal(close: () => Promise<void> | undefined): () => void {
  const onSignal = () => void Promise.resolve(close()).finally(() => process.exit(EXIT.failed));
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  for (const signal of signals) process.once(signal, onSignal);
  return () => {
    for (const signal of signals) process.off(signal, onSignal);
  };
}

/** A scenario of a file, with the bytes of the files that it sends. */
interface LoadedScenario {
  file: string;
  scenario: Scenario;
}

/** @throws {CliUsageError} it cannot be read or is wrong; names each wrong line */
async function loadScenario(file: string): Promise<LoadedScenario> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CliUsageError(`the file cannot be read: ${file}`);
  });
  const read = await readScenario(text);
  if ('problems' in read) {
    const [first, ...others] = read.problems.map(
      (problem) => `${file}, ${sentenceOfProblem(problem).sentence}`,
    );
    throw new CliUsageError([first, ...others].join('\n       '));
  }
  const { scenario } = read;
  const steps = await Promise.all(
    scenario.steps.map((step, index) => withBytes(step, file, `steps.${index}.send`)),
  );
  return { file, scenario: { ...scenario, name: scenario.name ?? basename(file), steps } };
}

/** Paths are relative to the scenario, so that it can be run from any folder. */
async function withBytes(step: ScenarioStep, scenarioFile: string, field: string): Promise<ScenarioStep> {
  const file = fileOfStep(step);
  if (!file || !('path' in file)) return step;
  const { path, kind } = file;
  const bytes = await readFile(resolve(dirname(scenarioFile), path)).catch(() => {
    throw new CliUsageError(`${scenarioFile}, ${field}: the file cannot be read: ${path}`);
  });
  const send = { data: bytes.toString('base64'), fileName: basename(path), ...(kind && { kind }) };
  return { ...step, send };
}

/** Nobody listens there: the service has no phone and looks for none. */
const NO_WHATSAPP = 'ws://127.0.0.1:9';
const START_LIMIT_MS = 120_000;
const TAIL_LINES = 20;

/** A service of one command, in a temporary folder, with an empty database and without WhatsApp. */
class OwnService {
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
