import { describe, expect, it } from 'vitest';
import { SignedTaskPushes } from '../../../../../router/src/infra/agents/a2a/signed-task-pushes.ts';

const PUBLIC_URL = 'https://wa2ai.example.com';
const task = { routeId: 'r1', remoteId: 'task 1' };

/** Two nodes with one key. */
function setup(publicUrl: string | undefined = PUBLIC_URL, secret = 7) {
  const nodes: SignedTaskPushes[] = [];
  for (let node = 0; node < 2; node += 1) {
    nodes.push(
      new SignedTaskPushes({
        ...(publicUrl !== '' && { publicUrl }),
        key: async () => new Uint8Array(32).fill(secret),
        publish: (name) => {
          for (const each of nodes) each.changed(name);
        },
      }),
    );
  }
  const [one, two] = nodes as [SignedTaskPushes, SignedTaskPushes];
  const tokenOf = async (of = task) =>
    ((await one.urlOf(of)) ?? '').slice(`${PUBLIC_URL}/task-pushes/`.length);
  return { one, two, tokenOf };
}

describe('SignedTaskPushes', () => {
  it('tells the listeners of the task at the other node, until they end', async () => {
    const { one, two, tokenOf } = setup();
    const heard: string[] = [];
    const end = one.listen(task, () => heard.push('task 1'));
    one.listen({ ...task, remoteId: 'task 2' }, () => heard.push('task 2'));
    one.listen({ ...task, routeId: 'r2' }, () => heard.push('route 2'));
    expect(await two.receive(await tokenOf())).toBe(true);
    expect(heard).toEqual(['task 1']);
    end();
    expect(await two.receive(await tokenOf())).toBe(true);
    expect(heard).toEqual(['task 1']);
  });

  it('has the same address for one task, without its ids', async () => {
    const { one, two } = setup();
    const url = await one.urlOf(task);
    expect(url).toMatch(/^https:\/\/wa2ai\.example\.com\/task-pushes\/[\w-]{43}$/);
    expect(await two.urlOf(task)).toBe(url);
    expect(await one.urlOf({ ...task, remoteId: 'task 2' })).not.toBe(url);
  });

  it('refuses addresses that it did not make', async () => {
    const { one, tokenOf } = setup();
    const heard: string[] = [];
    one.listen(task, () => heard.push('task 1'));
    const token = await tokenOf();
    const changed = Buffer.from(token, 'base64url');
    changed[31] = (changed[31] ?? 0) ^ 1;
    const others = [
      '',
      'x',
      `${token}A`,
      changed.toString('base64url'),
      Buffer.alloc(32).toString('base64url'),
      await setup(PUBLIC_URL, 8).tokenOf(),
    ];
    for (const other of others) expect(await one.receive(other)).toBe(false);
    expect(heard).toEqual([]);
  });

  it('has no addresses without a public URL', async () => {
    const token = await setup().tokenOf();
    const { one } = setup('');
    expect(await one.urlOf(task)).toBeUndefined();
    expect(await one.receive(token)).toBe(false);
  });
});
