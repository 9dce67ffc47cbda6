import { expect, it } from 'vitest';
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
