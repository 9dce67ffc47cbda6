import { readFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { readScenario, sentenceOfProblem } from '../../features/playground/read-scenario.ts';
import { fileOfStep, type Scenario, type ScenarioStep } from '../../features/playground/scenario.ts';
import { CliUsageError } from '../exit-code.ts';

/** A scenario of a file, with the bytes of the files that it sends. */
export interface LoadedScenario {
  file: string;
  scenario: Scenario;
}

/** @throws {CliUsageError} it cannot be read or is wrong; names each wrong line */
export async function loadScenario(file: string): Promise<LoadedScenario> {
  const text = await readFile(file, 'utf8').catch(() => {
    throw new CliUsageError(`the file cannot be read: ${file}`);
  });
  const read = await readScenario(text);
  if ('problems' in read) {
    const [first, ...others] = read.problems.map((problem) => `${file}, ${sentenceOfProblem(problem)}`);
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
