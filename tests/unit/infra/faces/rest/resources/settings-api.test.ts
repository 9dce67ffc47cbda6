import { afterEach, beforeEach, expect, it } from 'vitest';
import { type HttpApi, startHttpApi } from '../../../../../support/http-api.ts';

let api: HttpApi;
beforeEach(async () => {
  api = await startHttpApi();
});
afterEach(() => api.close());

it('shows and stores whether wa2ai is an A2A agent', async () => {
  const path = '/api/settings/a2a';
  expect((await api.call('GET', path)).body.data).toEqual({ enabled: true });
  const off = await api.call('PUT', path, { enabled: false });
  expect(off.status).toBe(200);
  expect(off.body).toEqual({
    success: true,
    message: 'wa2ai as an A2A agent is off',
    data: { enabled: false },
  });
  expect((await api.call('GET', path)).body.data).toEqual({ enabled: false });
  for (const body of [{}, { enabled: 'yes' }, { enabled: true, other: 1 }]) {
    expect((await api.call('PUT', path, body)).status).toBe(400);
  }
});
