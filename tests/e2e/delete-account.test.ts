import { afterEach, beforeEach, expect, it } from 'vitest';
import { pairByQr } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;
beforeEach(async () => {
  bed = await TestBed.start();
});
afterEach(() => bed.close());

it('deletes an account that was added by mistake, after which the service is ready again', async () => {
  const service = await bed.startService();
  await pairByQr(service, bed.phone, bed.emulator);
  const headers = { 'content-type': 'application/json' };
  const status = async (path: string, init: RequestInit = {}) =>
    (await fetch(`${service.url}${path}`, { headers, ...init })).status;
  const body = JSON.stringify({ id: 'tpyo' });
  expect(await status('/api/accounts', { method: 'POST', body })).toBe(201);
  await expect.poll(() => status('/health/ready')).toBe(503);
  expect(await status('/api/accounts/tpyo', { method: 'DELETE' })).toBe(202);
  await expect.poll(() => status('/api/accounts/tpyo'), { timeout: 60_000 }).toBe(404);
  expect(await status('/health/ready')).toBe(200);
  // The id is free again when the last row is deleted.
  await expect.poll(() => status('/api/accounts', { method: 'POST', body }), { timeout: 60_000 }).toBe(201);
});
