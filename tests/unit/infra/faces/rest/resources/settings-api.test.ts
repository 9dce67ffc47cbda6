import { afterEach, beforeEach, expect, it } from 'vitest';
import { type HttpApi, startHttpApi } from '../../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => api.close());

it.each([
  ['a2a', 'wa2ai as an A2A agent'],
  ['mcp', 'wa2ai as an MCP server'],
])('shows and stores whether the face %s is on', async (face, what) => {
  const path = `/api/settings/${face}`;
  expect((await api.call('GET', path)).body.data).toEqual({ enabled: true });
  const off = await api.call('PUT', path, { enabled: false });
  expect(off.status).toBe(200);
  expect(off.body).toEqual({
    success: true,
    message: `${what} is off`,
    data: { enabled: false },
  });
  expect((await api.call('GET', path)).body.data).toEqual({ enabled: false });
  for (const body of [{}, { enabled: 'yes' }, { enabled: true, other: 1 }]) {
    expect((await api.call('PUT', path, body)).status).toBe(400);
  }
});
