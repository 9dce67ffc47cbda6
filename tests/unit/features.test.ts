import { expect, it } from 'vitest';
import type { TaskFunctions } from '../../router/src/core/tasks.ts';
import { durableFunctionsOf } from '../../router/src/features.ts';
import { pathMatches, startHttpApi } from '../support/http-api.ts';

it('lists features in an order in which no operation hides a later one', async () => {
  const api = await startHttpApi();
  await api.close();
  const hidden = api.endpoints.flatMap((earlier, i) =>
    api.endpoints
      .slice(i + 1)
      .filter(({ method, path }) => method === earlier.method && pathMatches(earlier.path, path))
      .map(({ operationId }) => `${earlier.operationId} hides ${operationId}`),
  );
  expect(api.endpoints.length).toBeGreaterThan(100);
  expect(hidden).toEqual([]);
});

it('has a function for every kind of durable task', () => {
  const kinds: Record<keyof TaskFunctions, true> = {
    'delete-account': true,
    'follow-task': true,
    'npc-task': true,
    'push-updates': true,
    'serve-task': true,
  };
  const functions = durableFunctionsOf(() => expect.fail('no function runs'));
  expect(Object.keys(functions).sort()).toEqual(Object.keys(kinds).sort());
});
