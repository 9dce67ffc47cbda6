import sql from 'sql-template-tag';
import { expect, it, onTestFinished, vi } from 'vitest';
import { ADMIN_KEY, type ApiNode, startApiNode } from '../support/api-nodes.ts';
import { testDatabase } from '../support/database.ts';
import { TcpProxy } from '../support/tcp-proxy.ts';

const database = testDatabase();

async function createKey(node: ApiNode): Promise<{ id: string; key: string }> {
  const body = { name: 'k', scopes: ['accounts:read'], limits: { perMinute: 1_000, perSecond: 1_000 } };
  return (await node.call('POST', '/api/keys', ADMIN_KEY, body)).body.data;
}

it('a key that one node creates works on the other, and is refused there after the first revoked it', async () => {
  const [here, there] = [await startApiNode('n1', database), await startApiNode('n2', database)];
  // The other node has a copy of the keys without this one.
  expect(await there.probe('wa2ai_000000000000_'.padEnd(62, 'A'))).toBe(401);
  const { id, key } = await createKey(here);
  expect(await here.probe(key)).toBe(200);
  await expect.poll(() => there.probe(key)).toBe(200);
  expect((await here.call('DELETE', `/api/keys/${id}`, ADMIN_KEY)).status).toBe(200);
  expect(await here.probe(key)).toBe(401);
  await expect.poll(() => there.probe(key)).toBe(401);
});

it('a key whose row is deleted or expires by SQL is refused', async () => {
  const node = await startApiNode('n3', database);
  const postgres = database.open();
  const [one, other] = [await createKey(node), await createKey(node)];
  for (const { key } of [one, other]) await expect.poll(() => node.probe(key)).toBe(200);
  await postgres.execute(sql`DELETE FROM api_key WHERE id = ${one.id}`);
  await expect.poll(() => node.probe(one.key)).toBe(401);
  await postgres.execute(sql`UPDATE api_key SET expires_at = '2020-01-01' WHERE id = ${other.id}`);
  await expect.poll(() => node.probe(other.key)).toBe(401);
});

it('a revoked key is refused while the connection of the node is down, and after it was', async () => {
  const way = await TcpProxy.to(database.url);
  onTestFinished(() => way.close());
  const node = await startApiNode('n4', database, way.through(database.url));
  const others = await startApiNode('n5', database);
  const [one, other] = [await createKey(others), await createKey(others)];
  await expect.poll(() => node.probe(one.key)).toBe(200);
  const { session } = node.connection;
  way.cut();
  await expect.poll(() => node.connection.session).toBeUndefined();
  await others.call('DELETE', `/api/keys/${one.id}`, ADMIN_KEY);
  expect(await node.probe(one.key)).toBe(401);
  await others.call('DELETE', `/api/keys/${other.id}`, ADMIN_KEY);
  way.restore();
  await expect.poll(() => node.connection.session ?? session, { timeout: 60_000 }).not.toBe(session);
  expect(await node.probe(other.key)).toBe(401);
});

it('the last use of a key is visible, and recording it does not clear the copies of the keys', async () => {
  const node = await startApiNode('n6', database);
  const { id, key } = await createKey(node);
  const query = vi.spyOn(Object.getPrototypeOf(database.open()), 'query');
  onTestFinished(() => query.mockRestore());
  expect(await node.probe(key)).toBe(200);
  await expect
    .poll(async () => (await node.call('GET', `/api/keys/${id}`, ADMIN_KEY)).body.data.lastUsedAt)
    .toMatch(/^\d{4}-/);
  // A notification of the creation may have come in between; none comes any more.
  await node.probe(key);
  query.mockClear();
  for (let n = 0; n < 20; n++) expect(await node.probe(key)).toBe(200);
  const texts = query.mock.calls.map(([statement]) => String((statement as { text: string }).text));
  expect(texts.filter((text) => text.includes('api_key') && !text.includes('"api_key_rate"'))).toEqual([]);
});

it('a key may make as many requests as its limit says, exactly, over two nodes', async () => {
  const nodes = [await startApiNode('n7', database), await startApiNode('n8', database)];
  const limits = { perMinute: 100, perSecond: 10_000 };
  const body = { name: 'limited', scopes: ['accounts:read'], limits };
  const { key } = (await nodes[0]?.call('POST', '/api/keys', ADMIN_KEY, body))?.body.data ?? {};
  for (const node of nodes) await expect.poll(() => node.probe(`${key.slice(0, -1)}_`)).toBe(401);
  const statuses = await Promise.all(Array.from({ length: 150 }, (_, n) => nodes[n % 2]?.probe(key)));
  expect(statuses.filter((status) => status === 200)).toHaveLength(100);
  expect(statuses.filter((status) => status === 429)).toHaveLength(50);
});
