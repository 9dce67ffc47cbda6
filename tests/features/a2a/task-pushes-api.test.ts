import { describe, expect, it, onTestFinished } from 'vitest';
import { ADMIN_KEY, startHttpApi } from '../../support/http-api.ts';

describe('POST /task-pushes/{token}', () => {
  it.each([
    ['known', 204],
    ['other', 404],
  ])('answers %s with %i, whatever its body is, without a key', async (token, status) => {
    const api = await startHttpApi({ apiKey: ADMIN_KEY });
    onTestFinished(() => api.close());
    const response = await fetch(`${api.url}/task-pushes/${token}`, {
      method: 'POST',
      headers: { 'content-type': 'application/a2a+json' },
      body: '{"task":',
    });
    expect(response.status).toBe(status);
  });
});
