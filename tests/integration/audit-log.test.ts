import sql from 'sql-template-tag';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AuditCheckpoint, verifyAudit } from '../../router/src/features/audit/verify-audit.ts';
import { retentionRules } from '../../router/src/features.ts';
import { PostgresAuditLog } from '../../router/src/infra/db/stores/log-conditions.ts';
import { Retention } from '../../router/src/infra/db/upkeep/retention.ts';
import { ADMIN_KEY, type ApiNode, startApiNode } from '../support/api-nodes.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { quietLog } from '../support/quiet-log.ts';

const DAY_MS = 86_400_000;

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

const createKey = (node: ApiNode, name: string) =>
  node.call('POST', '/api/keys', ADMIN_KEY, { name, scopes: ['accounts:read'] });
const verify = (node: ApiNode, earlier?: AuditCheckpoint) =>
  verifyAudit({
    read: async (path) => (await node.call('GET', path, ADMIN_KEY)).body,
    ...(earlier && { earlier }),
  });

it('changes through two nodes at the same time are one intact log, in which a change of a row shows', async () => {
  const [here, there] = [await startApiNode('n1', database), await startApiNode('n2', database)];
  await Promise.all(Array.from({ length: 60 }, (_, n) => createKey(n % 2 === 0 ? here : there, `${n}`)));
  const report = await verify(here);
  expect(report).toMatchObject({ isIntact: true, entries: 60 });
  const { body } = await there.call('GET', '/api/audit?action=createKey&limit=500', ADMIN_KEY);
  expect(new Set(body.data.map(({ object }: { object: string }) => object)).size).toBe(60);

  const postgres = database.open();
  await postgres.execute(sql`UPDATE audit_entry SET object = 'other' WHERE seq = 30`);
  expect((await verify(there)).problem).toMatch(/^Entry 30 or the one before/);
  await postgres.execute(sql`DELETE FROM audit_entry WHERE seq = 30`);
  expect((await verify(there)).problem).toMatch(/^Entry 30 is missing/);
});

it('a log is intact after retention, which removes entries up to the first one that is kept', async () => {
  const node = await startApiNode('n3', database);
  const postgres = database.open();
  const log = new PostgresAuditLog(postgres);
  const nowMs = Date.now();
  const days = (number: number) => new Date(nowMs - number * DAY_MS);
  const event = (at: Date) => ({
    at,
    face: 'rest',
    caller: 'session' as const,
    action: 'createRoute',
    outcome: 'ok',
    requestId: 'r',
  });
  await log.append(Array.from({ length: 1_100 }, () => event(days(20))));
  // The clock of another node is behind: its entry is old and follows a new one.
  await log.append([event(days(1)), event(days(20)), event(days(0))]);
  const before = await verify(node);
  expect(before).toMatchObject({ isIntact: true, entries: 1_103 });

  const limits = {
    text: 0,
    outbox: 0,
    files: 0,
    exchanges: 0,
    deadLetters: 0,
    workflows: 0,
    journal: 0,
    oldKeys: 0,
    webhooks: 0,
    audit: 10,
  };
  const clock = new FakeClock(nowMs);
  const run = new Retention({
    postgres,
    rules: retentionRules(),
    limits: () => limits,
    clock,
    log: quietLog,
  }).runOnce();
  while (clock.sleeping === 0) await new Promise(setImmediate);
  await clock.advanceMs(50);
  while (clock.sleeping === 0) await new Promise(setImmediate);
  await clock.advanceMs(50);
  expect(await run).toEqual({ audit: 1_100 });
  const report = await verify(node);
  expect(report).toMatchObject({ isIntact: true, anchorSeq: '1100' });
  const earlier = { seq: BigInt(before.head.seq), hash: before.head.hash };
  expect((await verify(node, earlier)).isIntact).toBe(true);
  // Somebody who removes more than retention did is found.
  await postgres.execute(sql`DELETE FROM audit_entry WHERE seq = 1101`);
  expect((await verify(node)).problem).toMatch(/^Entry 1101 is missing/);
});
