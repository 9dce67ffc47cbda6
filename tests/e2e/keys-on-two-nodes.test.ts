import pg from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startNodeCluster } from '../support/node-cluster.ts';
import type { Nodes } from '../support/nodes.ts';
import type { TestBed } from '../support/test-bed.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';

const ROUNDS = 15;

let bed: TestBed;
let nodes: Nodes;
let here: Wa2aiProcess;
let there: Wa2aiProcess;

beforeAll(async () => {
  ({ bed, nodes } = await startNodeCluster(['n1', 'n2']));
  [here, there] = [nodes.node('n1'), nodes.node('n2')];
});

afterAll(async () => {
  await nodes.endAll('SIGTERM');
  await bed.close();
});

async function createKey(limits: { perMinute: number; perSecond: number }) {
  const { body } = await here.api('POST', '/api/keys', { name: 'k', scopes: ['accounts:read'], limits });
  return body.data as { id: string; key: string };
}

function probe(node: Wa2aiProcess, key: string): Promise<Response> {
  return fetch(`${node.url}/api/accounts`, { headers: { 'x-api-key': key } });
}

/** A connection of PostgreSQL that hears what the nodes hear. */
async function listener(): Promise<{ next(): Promise<number>; end(): Promise<void> }> {
  const client = new pg.Client({ connectionString: bed.database.url });
  await client.connect();
  await client.query('LISTEN wa2ai');
  const next = () =>
    new Promise<number>((resolve) => {
      const hear = ({ payload = '' }: { payload?: string }) => {
        if (!payload.includes('keys-changed')) return;
        client.off('notification', hear);
        resolve(performance.now());
      };
      client.on('notification', hear);
    });
  return { next, end: () => client.end() };
}

// The second is a requirement, so it is asserted although tests assert no times. It is counted from the moment at which the
// revocation is sent, which is earlier than its commit. A busy machine makes a single round late for reasons that are not
// wa2ai's. Therefore the median of the rounds counts, and no round may take a second longer than the machine itself needed
// in that round: for the notification to reach another connection, and for one request.
it('a key that one node revokes is refused by the other within a second', async () => {
  const heard = await listener();
  const rounds: Array<{ refusedMs: number; notifiedMs: number }> = [];
  for (let round = 0; round < ROUNDS; round++) {
    const { id, key } = await createKey({ perMinute: 1_000_000, perSecond: 100_000 });
    // From now on the other node has the key in its memory.
    await expect.poll(async () => (await probe(there, key)).status).toBe(200);
    const notified = heard.next();
    const sentMs = performance.now();
    const revoked = here.api('DELETE', `/api/keys/${id}`);
    let status = 200;
    let askedMs = sentMs;
    let slowestMs = 0;
    while (status === 200) {
      askedMs = performance.now();
      ({ status } = await probe(there, key));
      slowestMs = Math.max(slowestMs, performance.now() - askedMs);
    }
    expect(status).toBe(401);
    expect((await revoked).status).toBe(200);
    // The first request that was refused began at `askedMs`.
    const [refusedMs, notifiedMs] = [askedMs - sentMs, (await notified) - sentMs];
    expect(refusedMs).toBeLessThan(1_000 + notifiedMs + slowestMs);
    rounds.push({ refusedMs, notifiedMs });
  }
  await heard.end();
  const median = (name: 'refusedMs' | 'notifiedMs') =>
    rounds.map((round) => round[name]).sort((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? Number.NaN;
  const shown = (ms: number) => `${ms.toFixed(1)} ms`;
  console.info(
    `after a revocation is sent (medians of ${ROUNDS}): refused by the other node after ${shown(median('refusedMs'))}, notification after ${shown(median('notifiedMs'))}`,
  );
  expect(median('refusedMs')).toBeLessThan(1_000);
});

it('a key may make exactly as many requests as its limit, counted over two processes', async () => {
  const { key } = await createKey({ perMinute: 60, perSecond: 10_000 });
  for (const node of [here, there]) {
    await expect.poll(async () => (await probe(node, `${key.slice(0, -1)}_`)).status).toBe(401);
  }
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, n) => probe(n % 2 === 0 ? here : there, key)),
  );
  const allowed = answers.filter(({ status }) => status === 200);
  const refused = answers.filter(({ status }) => status === 429);
  expect([allowed.length, refused.length]).toEqual([60, 40]);
  const remaining = allowed.map(({ headers }) =>
    Number(/"minute";r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]),
  );
  expect(remaining.sort((a, b) => a - b)).toEqual(Array.from({ length: 60 }, (_, n) => n));
  for (const { headers } of refused) {
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(headers.get('ratelimit-policy')).toBe('"second";q=10000;w=1, "minute";q=60;w=60');
  }
});
