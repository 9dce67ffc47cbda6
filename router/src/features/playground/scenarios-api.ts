import { z } from 'zod';
import type { Caller } from '../../core/access/caller.ts';
import { StorageUnavailableError, Wa2aiError } from '../../core/errors.ts';
import { type Said, say } from '../../core/phrases.ts';
import type { App } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import {
  changedResponse,
  dataResponse,
  isRowId,
  listResponse,
  shown,
  timeView,
} from '../../infra/operations/fields.ts';
import { invalid } from '../../infra/operations/form.ts';
import { HttpProblem, mistakeAt, phraseField, problemSchema } from '../../infra/operations/problem.ts';
import { ApiWorld, type CallApi } from './api-world.ts';
import {
  fileOfStep,
  longestMs,
  MAX_SCENARIO_BYTES,
  readScenario,
  type Scenario,
  StepFailedError,
  sentenceOfProblem,
} from './scenario.ts';

/** A request cannot wait longer. */
const MAX_RUN_MS = 180_000;

const scenarioView = z
  .object({ id: z.string(), name: z.string(), savedAt: timeView })
  .meta({ id: 'PlaygroundScenario' });

const scenarioWithText = scenarioView.extend({ yaml: z.string() }).meta({ id: 'ScenarioWithText' });

const resultView = z
  .object({
    name: z.string(),
    isPassed: z.boolean(),
    steps: z.array(
      z.object({
        number: z.int().describe('From 1.'),
        step: z.string().describe('The step, in words.'),
        outcome: z.enum(['passed', 'failed', 'skipped']),
        ms: z.int(),
        detail: z.string().optional().describe('What the account said, or why the step failed.'),
        phrase: phraseField,
      }),
    ),
  })
  .meta({ id: 'ScenarioResult' });

const body = z
  .strictObject({
    yaml: z.string().min(1).max(MAX_SCENARIO_BYTES).describe('As for `wa2ai simulate`; see docs/console.md.'),
  })
  .meta({
    id: 'NewPlaygroundScenario',
    examples: [
      { yaml: 'name: Greeting\nsteps:\n  - { as: Ana, say: hola }\n  - expect: { contains: hola }\n' },
    ],
  });

const notFound = { 404: { description: 'No such scenario.', schema: problemSchema } };

/** Saved scenarios of the playground, and their runs: `/api/playground/scenarios`. */
export function scenariosApi(app: App): Endpoint[] {
  const { scenarios } = app;
  const common = { tag: 'Playground', scopes: ['playground'] as const, honours: [] as const };
  const params = { id: 'Id of the scenario.' };

  return [
    endpoint({
      ...common,
      method: 'get',
      path: '/api/playground/scenarios',
      operationId: 'listScenarios',
      summary: 'List the saved scenarios by name',
      responses: { 200: { description: 'The scenarios.', schema: listResponse(scenarioView) } },
      handle: async () => {
        const data = (await scenarios.list()).map((scenario) => shown(scenarioView, scenario));
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/playground/scenarios',
      operationId: 'saveScenario',
      summary: 'Save a scenario',
      description: 'A scenario with the same name is replaced. Files must be in it, as `data`.',
      body,
      maxBodyBytes: MAX_SCENARIO_BYTES + 1_000_000,
      creates: {},
      responses: { 201: { description: 'The scenario.', schema: changedResponse(scenarioView) } },
      handle: async ({ body: { yaml } }) => {
        const { name = 'Scenario' } = await readValid(yaml);
        const saved = await scenarios.save(name, yaml);
        const message = 'The scenario is saved.';
        return {
          status: 201,
          object: saved.id,
          json: { success: true, message, data: shown(scenarioView, saved) },
        };
      },
    }),
    endpoint({
      ...common,
      method: 'get',
      path: '/api/playground/scenarios/{id}',
      operationId: 'getScenario',
      summary: 'Show a scenario',
      params,
      responses: {
        200: {
          description: 'The scenario with its text.',
          schema: dataResponse(scenarioWithText),
        },
        ...notFound,
      },
      handle: async ({ params: { id = '' } }) => {
        const found = await foundScenario(id);
        return { status: 200, json: { success: true, data: shown(scenarioWithText, found) } };
      },
    }),
    endpoint({
      ...common,
      method: 'delete',
      path: '/api/playground/scenarios/{id}',
      operationId: 'deleteScenario',
      summary: 'Delete a scenario',
      params,
      responses: { 204: { description: 'Deleted.' }, ...notFound },
      handle: async ({ params: { id = '' } }) => {
        if (!isRowId(id) || !(await scenarios.remove(id))) throw noSuchScenario();
        return { status: 204 };
      },
    }),
    endpoint({
      ...common,
      method: 'post',
      path: '/api/playground/scenarios/{id}/run',
      operationId: 'runScenario',
      summary: 'Run a scenario and wait for its end',
      description:
        'A failed assertion is a result, not an error. The scenario has the rights of the caller: a route of its text needs `routes:write`, a quote or a reaction `messages:read`.',
      params,
      responses: {
        200: { description: 'What became of each step.', schema: dataResponse(resultView) },
        ...notFound,
      },
      handle: async ({ params: { id = '' }, caller, signal }) => {
        const scenario = await readValid((await foundScenario(id)).yaml);
        const world = new ApiWorld({
          call: callAs(caller, signal),
          ...(scenario.route !== undefined && { route: scenario.route }),
        });
        const data = await app.runScenario(world, scenario, signal);
        return { status: 200, json: { success: true, data } };
      },
    }),
  ];

  async function foundScenario(id: string) {
    const found = isRowId(id) ? await scenarios.get(id) : undefined;
    if (!found) throw noSuchScenario();
    return found;
  }

  /** What an operation refuses is a failed step. A chat that the scenario made is deleted also when nobody waits any more. */
  function callAs(caller: Caller, signal: AbortSignal): CallApi {
    return async (operation, { id, query, body: sent } = {}) => {
      try {
        const { json } = await app.calls.call(operation, caller, {
          ...(id !== undefined && { params: { id } }),
          ...(query && { query }),
          ...(sent && { body: sent }),
          signal,
        });
        return json;
      } catch (error) {
        if (!(error instanceof Wa2aiError) || error instanceof StorageUnavailableError) throw error;
        throw new StepFailedError(error.said, { cause: error });
      }
    };
  }
}

/** @throws {HttpProblem} 400 with each wrong line */
async function readValid(yaml: string): Promise<Scenario> {
  const read = await readScenario(yaml);
  if ('problems' in read) throw refused(read.problems.map(sentenceOfProblem));
  const { scenario } = read;
  const paths = scenario.steps.flatMap((step, index) => {
    const file = fileOfStep(step);
    return file && 'path' in file
      ? [say('scenario.reads-no-file', { step: index + 1, path: file.path })]
      : [];
  });
  if (paths.length > 0) throw refused(paths);
  if (longestMs(scenario) > MAX_RUN_MS) {
    const mistake = say('field.waits-long', { seconds: MAX_RUN_MS / 1000 });
    throw invalid('body', [mistakeAt('yaml', mistake)]);
  }
  return scenario;
}

function refused(mistakes: readonly Said[]): HttpProblem {
  return invalid(
    'body',
    mistakes.map((mistake) => mistakeAt('yaml', mistake)),
  );
}

function noSuchScenario(): HttpProblem {
  return new HttpProblem(404, 'NOT_FOUND', say('problem.no-scenario'));
}
