import { beforeEach, expect, it } from 'vitest';
import { httpApi } from '../../support/http-api.ts';

const api = httpApi();
beforeEach(async () => {
  const node = { host: 'h', url: 'http://h:3000', version: '1.0.0', startedAtMs: 0, seenAtMs: 61_000 };
  api.view.nodes.push(
    { ...node, nodeId: 'n1', turns: 3, isAlive: true, isDraining: false },
    { ...node, nodeId: 'n2', turns: 0, isAlive: true, isDraining: true },
    { ...node, nodeId: 'n3', turns: 7, isAlive: false, isDraining: false },
  );
  const account = { record: { state: 'open' as const }, changedAtMs: 0 };
  api.view.accounts.push(
    { ...account, accountId: 'a', owner: { nodeId: 'n1', epoch: 4n }, availability: 'owned' },
    { ...account, accountId: 'b', owner: { nodeId: 'n3', epoch: 9n }, availability: 'dead-owner' },
    { ...account, accountId: 'c', availability: 'free' },
  );
});

it('lists nodes with their state and the accounts with a valid lease', async () => {
  const { status, body } = await api.call('GET', '/api/nodes');
  expect(status).toBe(200);
  expect(body.count).toBe(3);
  expect(body.data[0]).toEqual({
    nodeId: 'n1',
    isSelf: true,
    state: 'alive',
    host: 'h',
    url: 'http://h:3000',
    version: '1.0.0',
    startedAt: '1970-01-01T00:00:00.000Z',
    seenAt: '1970-01-01T00:01:01.000Z',
    turns: 3,
    accounts: [{ accountId: 'a', epoch: '4' }],
  });
  expect(body.data[1]).toMatchObject({ isSelf: false, state: 'draining', accounts: [] });
  expect(body.data[2]).toMatchObject({ state: 'gone', accounts: [] });
});

it('reports the owners of accounts in the metrics', async () => {
  const { text } = await api.call('GET', '/metrics');
  expect(text).toContain('wa2ai_account_lease_epoch{account="a",node="n1"} 4');
  expect(text).not.toContain('account="b",node=');
  expect(text).toContain('wa2ai_node_alive{node="n3"} 0');
  expect(text).toContain('wa2ai_node_turns{node="n1"} 3');
});

it('adds an account once, and refuses a name that a path cannot contain', async () => {
  const added = await api.call('POST', '/api/accounts', { id: 'sales' });
  expect(added.status).toBe(201);
  expect(added.body.data).toMatchObject({ id: 'sales', state: 'starting' });
  expect((await api.call('POST', '/api/accounts', { id: 'sales' })).body.code).toBe('ACCOUNT_EXISTS');
  for (const id of ['', 'a/b', '../x', 'ñ', 'a'.repeat(65), 7, undefined]) {
    expect((await api.call('POST', '/api/accounts', { id: id })).status).toBe(400);
  }
});
