import { get, type IncomingMessage } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { quantile, residentMb } from '../bench/statistics.ts';
import { NpcDouble } from '../doubles/npc-agent.ts';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import { NpcCaller } from '../support/npc-caller.ts';
import type { TestBed } from '../support/test-bed.ts';
import { untilReached } from '../support/until.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';

const STREAMS = 1_000;
const TASKS = 10;
/** Connections, with their buffers, and code that the first streams load. */
const GROWTH_MB = 120;
/** A node that is busy for that long counts as dead. */
const TTL_MS = 5_000;
const GREETING = { action: 'greet', message: 'Hi' };

let bed: TestBed;
let nodes: Nodes;
let agent: NpcDouble;

beforeEach(async () => {
  // Its tasks run until the test ends them.
  agent = await NpcDouble.start({ onOpen: () => undefined });
});
afterEach(async () => {
  await nodes.endAll('SIGKILL');
  await bed.close();
  await agent.stop();
});

/** Nodes whose NPC asks the agent; returns the first. */
async function started(...names: [string, ...string[]]): Promise<Wa2aiProcess> {
  ({ bed, nodes } = await startNodeCluster(names, { env: { WA2AI_LEASE_TTL: `${TTL_MS}ms` } }));
  const node = nodes.node(names[0]);
  const config = { adk: undefined, npc: { waitMs: 600_000, timeoutMs: 600_000 } };
  const { id: routeId } = await node.addRoute('5491100000000', agent.url, { config });
  await node.api('PUT', '/api/settings/npc', { enabled: true, name: 'Guard', routeId });
  return node;
}

/** A stream that only counts: `text` is what arrived. */
class Reader {
  text = '';
  readonly connected: Promise<void>;
  readonly ended: Promise<void>;
  endedAtMs = 0;

  constructor(url: string) {
    const response = new Promise<IncomingMessage>((resolve, reject) => {
      get(url, { agent: false }, resolve).on('error', reject);
    });
    this.connected = response.then(async (message) => {
      expect(message.statusCode).toBe(200);
      message.setEncoding('utf8').on('data', (chunk: string) => {
        this.text += chunk;
      });
    });
    this.ended = response.then(
      (message) =>
        new Promise((resolve) => {
          message.on('close', () => {
            this.endedAtMs = performance.now();
            resolve();
          });
        }),
    );
  }
}

describe('The NPC server', () => {
  it('serves a thousand streams at a time within its memory, and other calls meanwhile', async () => {
    const node = await started('n1');
    const caller = new NpcCaller(node.url);
    await caller.ended(await caller.open('emotion', { trigger: 'gift', intensity: 80 }));
    const taskIds: string[] = [];
    for (let count = 0; count < TASKS; count += 1) taskIds.push(await caller.open('social', GREETING));
    await untilReached('tasks at the agent', () => agent.opened('social').length, TASKS);
    const beforeMb = residentMb(node.pid);
    const readers = Array.from(
      { length: STREAMS },
      (_, index) => new Reader(`${node.url}/stream/${taskIds[index % TASKS]}`),
    );
    await Promise.all(readers.map(({ connected }) => connected));
    const grownMb = residentMb(node.pid) - beforeMb;
    expect((await node.api('GET', '/api/nodes')).status).toBe(200);
    const whileOpen = await caller.ended(await caller.open('emotion', { trigger: 'gift', intensity: 80 }));
    expect(whileOpen.event).toBe('task.completed');

    const startedAtMs = performance.now();
    for (const { taskId } of agent.opened('social')) agent.complete(taskId, { message: 'x'.repeat(10_000) });
    await Promise.all(readers.map(({ ended }) => ended));
    for (const { text } of readers) {
      expect(text.match(/^event: task\.completed$/gm)).toHaveLength(1);
      expect(text).toContain('x'.repeat(10_000));
    }
    const delaysMs = readers.map(({ endedAtMs }) => endedAtMs - startedAtMs);
    const mostMb = residentMb(node.pid) - beforeMb;
    console.log(
      `${STREAMS} streams: +${grownMb.toFixed(0)} MB open, +${mostMb.toFixed(0)} MB after; end of ${TASKS} tasks at p50 ${quantile(delaysMs, 0.5).toFixed(0)} ms, p99 ${quantile(delaysMs, 0.99).toFixed(0)} ms`,
    );
    expect(Math.max(grownMb, mostMb)).toBeLessThan(GROWTH_MB);
  });

  it('continues a task on another node when its node is killed, and asks the agent once', async () => {
    const node = await started('n1', 'n2');
    const taskId = await new NpcCaller(node.url).open('social', GREETING);
    await untilReached('streams of the agent', () => agent.openStreams, 1);
    await nodes.end('n1', 'SIGKILL');
    await expect.poll(() => agent.openStreams).toBe(0);
    const ended = new NpcCaller(nodes.node('n2').url).ended(taskId);
    // The other node looks for tasks of dead nodes once a minute.
    await untilReached('streams of the agent', () => agent.openStreams, 1, 200_000);
    agent.complete(agent.opened('social').at(-1)?.taskId ?? '', { message: 'Hello' });
    expect(await ended).toMatchObject({ event: 'task.completed', data: { result: { message: 'Hello' } } });
    expect(agent.opened('social')).toHaveLength(1);
  });
});
