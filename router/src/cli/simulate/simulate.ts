import { ApiWorld, type CallApi, OPERATIONS } from '../../features/playground/api-world.ts';
import { runScenario, type ScenarioResult, type StepResult } from '../../features/playground/run-scenario.ts';
import { StepFailedError } from '../../features/playground/scenario-world.ts';
import { systemClock } from '../../infra/clock/system-clock.ts';
import { RegexMatcher } from '../../infra/matching/regex-matcher.ts';
import type { Cli } from '../cli.ts';
import { CliError, EXIT } from '../exit-code.ts';
import { oneLine } from '../output/visible-text.ts';
import type { Api } from '../service/api.ts';
import { type LoadedScenario, loadScenario } from './load-scenario.ts';
import { OwnService } from './own-service.ts';

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
      throw new StepFailedError(error.message, { cause: error });
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
