import { expect, it } from 'vitest';
import { ADMIN_KEY, type ApiNode, startApiNode } from '../support/api-nodes.ts';
import { testDatabase } from '../support/database.ts';

const PASSWORD = 'correct horse battery';

const database = testDatabase();

/** Signs in at a node. @returns the cookie of the session */
async function signIn(node: ApiNode, name: string): Promise<string> {
  const response = await fetch(`${node.url}/api/session`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, password: PASSWORD }),
  });
  expect(response.status).toBe(201);
  return response.headers.get('set-cookie')?.split(';')[0] ?? '';
}

async function statusWith(node: ApiNode, cookie: string, path = '/api/nodes'): Promise<number> {
  return (await fetch(`${node.url}${path}`, { headers: { cookie } })).status;
}

async function sessionIdOf(node: ApiNode, cookie: string): Promise<string> {
  const response = await fetch(`${node.url}/api/session`, { headers: { cookie } });
  return ((await response.json()) as { data: { sessionId: string } }).data.sessionId;
}

it('a session that one node ends is refused by the other, as are those of a user who changes', async () => {
  const [here, there] = [await startApiNode('n1', database), await startApiNode('n2', database)];
  for (const [name, role] of [
    ['ana', 'owner'],
    ['vera', 'viewer'],
  ]) {
    const { status } = await here.call('POST', '/api/users', ADMIN_KEY, { name, password: PASSWORD, role });
    expect(status).toBe(201);
  }
  const cookie = await signIn(here, 'vera');
  // Both nodes have the session in their memory.
  for (const node of [here, there]) expect(await statusWith(node, cookie)).toBe(200);
  const id = await sessionIdOf(there, cookie);
  expect((await here.call('DELETE', `/api/sessions/${id}`, ADMIN_KEY)).status).toBe(200);
  expect(await statusWith(here, cookie)).toBe(401);
  await expect.poll(() => statusWith(there, cookie)).toBe(401);

  const second = await signIn(there, 'vera');
  expect(await statusWith(here, second, '/api/users')).toBe(403);
  await here.call('PATCH', '/api/users/vera', ADMIN_KEY, { role: 'owner' });
  await expect.poll(() => statusWith(there, second, '/api/users')).toBe(200);
  await there.call('PATCH', '/api/users/vera', ADMIN_KEY, { enabled: false });
  await expect.poll(() => statusWith(here, second)).toBe(401);
  expect(await statusWith(there, second)).toBe(401);
});

it('wrong passwords at one node delay the next attempt at the other', async () => {
  const [here, there] = [await startApiNode('n1', database), await startApiNode('n2', database)];
  const attempt = async (node: ApiNode, password: string) =>
    (
      await fetch(`${node.url}/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: 'nobody', password }),
      })
    ).status;
  // Each attempt that is allowed makes the delay longer, so that it is seen on both nodes on any machine.
  const guesses = new Set<string>();
  for (const node of [here, there, here]) {
    await expect.poll(() => attempt(node, `guess ${guesses.add(String(guesses.size)).size}`)).toBe(429);
  }
});
