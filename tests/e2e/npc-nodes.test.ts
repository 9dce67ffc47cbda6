import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import { NpcCaller } from '../support/npc-caller.ts';
import type { TestBed } from '../support/test-bed.ts';

const ADMIN_KEY = 'the-admin-key-of-these-tests-32ch';
const AS_ADMIN = { 'x-api-key': ADMIN_KEY };
const FEELING = { trigger: 'gift', intensity: 80 };

let bed: TestBed;
let nodes: Nodes;
let agent: NpcDouble;

beforeAll(async () => {
  // Every address of this machine: callers need keys, and faces are off.
  const env = { WA2AI_HOST: '0.0.0.0', WA2AI_API_KEY: ADMIN_KEY };
  ({ bed, nodes } = await startNodeCluster(['a', 'b'], { env }));
  // The tasks of the agent run until the test ends them.
  agent = await NpcDouble.start({ onOpen: () => undefined });
});

afterAll(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
  await agent.stop();
});

const admin = (node: string, method: string, path: string, body?: unknown) =>
  nodes.node(node).api(method, path, body, AS_ADMIN);

/** A new key with the scope `tasks`, as a caller of each node; it has called once. */
async function newCallers(limits = { perMinute: 10_000, perSecond: 1_000 }) {
  const { body } = await admin('a', 'POST', '/api/keys', { name: 'npc', scopes: ['tasks'], limits });
  const { id, key } = body.data as { id: string; key: string };
  const [a, b] = ['a', 'b'].map((name) => new NpcCaller(nodes.node(name).url, key)) as [NpcCaller, NpcCaller];
  // The other node knows a new key soon; refused calls count for no limit.
  await expect.poll(async () => (await b.rpc('task.list', {})).error).toBeUndefined();
  return { id, a, b };
}

describe('the NPC server of two nodes', () => {
  it('is off beyond loopback until an admin switches it on, on all nodes', async () => {
    for (const node of ['a', 'b']) {
      expect((await admin(node, 'GET', '/.well-known/agent-card')).status).toBe(404);
      expect((await admin(node, 'POST', '/rpc', {})).status).toBe(404);
    }
    const { body } = await admin('a', 'POST', '/api/routes', {
      channelId: '5491100000000',
      agentEndpoint: agent.url,
      environment: 'lab',
      config: { npc: { waitMs: 60_000 } },
    });
    const { id: routeId } = body.data as { id: string };
    const settings = { enabled: true, name: 'Guard', routeId };
    expect((await admin('a', 'PUT', '/api/settings/npc', settings)).status).toBe(200);
    await expect
      .poll(async () => (await fetch(`${nodes.node('b').url}/.well-known/agent-card`)).status)
      .toBe(200);
  });

  it('shows a task that runs on one node on the other, with its events and after a reconnect', async () => {
    const { a, b } = await newCallers();
    const taskId = await a.open('social', { action: 'greet', message: 'Hi' });
    let lastId = '';
    for await (const { id, event, data } of b.events(taskId)) {
      lastId = id;
      expect(event).toBe('task.update');
      if (data.status === 'processing') break;
    }
    expect(await b.result('task.status', { taskId })).toMatchObject({ taskId, status: 'processing' });
    expect(await b.result('task.list', {})).toMatchObject({
      totalTasks: 1,
      tasks: [{ taskId, type: 'social' }],
    });
    const rest = (async () => {
      const events = [];
      for await (const event of b.events(taskId, lastId)) events.push(event);
      return events;
    })();
    await expect.poll(() => agent.openStreams).toBe(1);
    agent.complete(agent.opened('social').at(-1)?.taskId ?? '', { message: 'Hello' });
    expect(await rest).toMatchObject([{ event: 'task.completed', data: { result: { message: 'Hello' } } }]);
    const ended = ({ msg, task }: Record<string, unknown>) => msg === 'npc task ended' && task === taskId;
    await nodes.node('a').untilLog(ended);
    expect(nodes.node('b').lines.filter(ended)).toEqual([]);
  });

  it('opens one task for an Idempotency-Key that both get at the same time, and shows it to its caller only', async () => {
    const { a, b } = await newCallers();
    const key = { 'idempotency-key': 'greeting-1' };
    const ids = await Promise.all([a, b, a, b].map((caller) => caller.open('emotion', FEELING, key)));
    expect(new Set(ids).size).toBe(1);
    expect(await b.result('task.list', {})).toMatchObject({ totalTasks: 1 });
    const other = await newCallers();
    expect(await other.b.result('task.list', {})).toEqual({ tasks: [], totalTasks: 0 });
    const refused = await other.b.rpc('task.status', { taskId: ids[0] });
    expect(refused.error).toMatchObject({ code: -32602, data: { field: 'taskId' } });
    await expect(other.b.ended(String(ids[0]))).rejects.toThrow('404');
  });

  it('counts the limit of a key over both, and answers the call beyond it with -32002 and Retry-After', async () => {
    // One more, with which it was found on both.
    const { a, b } = await newCallers({ perMinute: 3, perSecond: 3 });
    await a.result('task.list', {});
    await b.result('task.list', {});
    const { error, headers } = await a.rpc('task.list', {});
    expect(error).toMatchObject({ code: -32002, data: { retryAfter: expect.any(Number) } });
    expect(Number(headers['retry-after'])).toBe(error.data.retryAfter);
  });

  it('has each call in the audit log: who, what, which task, and how it ended', async () => {
    const { id, a, b } = await newCallers();
    const taskId = await a.open('emotion', FEELING);
    await b.rpc('task.status', { taskId: 'task_none' });
    const entries = async () => {
      const { body } = await admin('a', 'GET', `/api/audit?keyId=${id}&limit=50`);
      return (body.data as Array<Record<string, unknown>>).map(({ face, action, object, outcome }) => ({
        face,
        action,
        object,
        outcome,
      }));
    };
    await expect.poll(entries).toEqual(
      expect.arrayContaining([
        { face: 'npc', action: 'task.list', object: undefined, outcome: 'ok' },
        { face: 'npc', action: 'task.open', object: taskId, outcome: 'ok' },
        { face: 'npc', action: 'task.status', object: 'task_none', outcome: 'RPC-32602' },
      ]),
    );
  });

  it('ends a stream when its key is revoked on the other node', async () => {
    const { id, a, b } = await newCallers();
    const taskId = await a.open('social', { action: 'greet', message: 'Hi' });
    const stream = b.events(taskId);
    expect((await stream.next()).done).toBe(false);
    expect((await admin('a', 'DELETE', `/api/keys/${id}`)).status).toBe(200);
    while (!(await stream.next()).done);
    expect((await b.rpc('task.status', { taskId })).error.code).toBe(-32001);
  });

  it('continues the task of a killed node on the other, and opens nothing twice at the agent', async () => {
    const { a, b } = await newCallers();
    const taskId = await b.open('social', { action: 'greet', message: 'Which gate?' });
    const opened = () => agent.opened('social').filter(({ params }) => /gate/.test(JSON.stringify(params)));
    await expect.poll(opened).toHaveLength(1);
    await nodes.end('b', 'SIGKILL');
    await nodes.node('a').untilLog(({ msg }) => msg === 'taking over tasks of dead nodes');
    agent.complete(opened()[0]?.taskId ?? '', { message: 'Hello' });
    expect(await a.ended(taskId)).toMatchObject({
      event: 'task.completed',
      data: { result: { message: 'Hello' } },
    });
    expect(opened()).toHaveLength(1);
  });
});
