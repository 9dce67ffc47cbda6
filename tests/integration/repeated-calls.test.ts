import sql from 'sql-template-tag';
import { expect, it } from 'vitest';
import { coreRetention } from '../../router/src/infra/db/upkeep/retention.ts';
import { ADMIN_KEY, startApiNode } from '../support/api-nodes.ts';
import { testDatabase } from '../support/database.ts';

const database = testDatabase();

it('a call with an Idempotency-Key is carried out once on two nodes, and is a new one after a day', async () => {
  const urls = [(await startApiNode('n1', database)).url, (await startApiNode('n2', database)).url];
  const post = async (url: string, change: object = {}) => {
    const route = {
      channelId: '*',
      agentEndpoint: 'http://localhost:8000',
      config: { adk: { appName: 'a' } },
    };
    const response = await fetch(`${url}/api/routes`, {
      method: 'POST',
      headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'idempotency-key': 'route-1' },
      body: JSON.stringify({ ...route, ...change }),
    });
    const body = (await response.json()) as { data: { id: string }; code?: string };
    return { status: response.status, body };
  };
  const [here = '', there = ''] = urls;
  const first = await post(here);
  expect(first.status).toBe(201);
  expect(await post(there)).toEqual(first);
  expect((await post(there, { priority: 1 })).body.code).toBe('IDEMPOTENCY_CONFLICT');

  const postgres = database.open();
  const prune = async () => {
    for (const remove of coreRetention.always ?? []) await remove(postgres);
  };
  await prune();
  expect(await post(here)).toEqual(first);
  await postgres.execute(sql`UPDATE repeated_call SET begun_at = begun_at - interval '1 day'`);
  await prune();
  expect((await post(here)).body.data.id).not.toBe(first.body.data.id);
});

it('a first call of which only the beginning was stored creates nothing twice', async () => {
  const { call, url } = await startApiNode('n3', database);
  const post = async () => {
    const response = await fetch(`${url}/api/keys`, {
      method: 'POST',
      headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json', 'idempotency-key': 'key-1' },
      body: JSON.stringify({ name: 'orders', scopes: ['messages:send'] }),
    });
    const { data } = (await response.json()) as { data: { id: string; key?: string } };
    return data;
  };
  const { key, ...created } = await post();
  expect(key).toMatch(/^wa2ai_/);
  await database.open().execute(sql`UPDATE repeated_call SET response = NULL`);
  expect(await post()).toEqual(created);
  expect((await call('GET', '/api/keys', ADMIN_KEY)).body.data).toEqual([created]);
});
