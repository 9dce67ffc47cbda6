import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { NodeConnection } from '../../../router/src/infra/db/connections/node-connection.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresCluster } from '../../../router/src/infra/db/stores/postgres-cluster.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { anAccount, aPerson, aReply } from '../../contracts/adapters.ts';
import { testDatabase } from '../../support/database.ts';
import { quietLog } from '../../support/quiet-log.ts';

const MINUTE_MS = 60_000;

const database = testDatabase();
let postgres: Postgres;
beforeAll(async () => {
  postgres = database.open();
});

/**
 * The clock of a shared server cannot be set. A stored time hours ahead has the effect of a clock set back,
 * and a stored time hours in the past that of a clock set forward.
 */
describe('the clock of the database server', () => {
  describe('set back', () => {
    it('does not delay the repeat of an unacknowledged reply', async () => {
      const account = anAccount();
      const outbox = new PostgresOutbox(postgres);
      const { row } = await outbox.addDirect(aReply(account, `${aPerson().phone}@s.whatsapp.net`));
      await outbox.markSending(row.id);
      await postgres.execute(sql`
        UPDATE outbox SET attempted_at = now() + interval '5 hours' WHERE id = ${BigInt(row.id)}`);
      const overdue = () => outbox.overdue(account, { ackTimeoutMs: MINUTE_MS, limit: 5 });
      expect(await overdue()).toMatchObject([{ reply: { outboxId: row.id }, attempts: 1 }]);
      await outbox.markSending(row.id);
      expect(await overdue()).toEqual([]);
    });

    it('does not prolong the delay of a reply that was sent before', async () => {
      const account = anAccount();
      const outbox = new PostgresOutbox(postgres);
      const { row } = await outbox.addDirect(aReply(account, `${aPerson().phone}@s.whatsapp.net`));
      await outbox.markSending(row.id);
      await outbox.delay(row.id, MINUTE_MS, { sentence: 'Not uploaded.' });
      expect(await outbox.queued(account, 5)).toEqual([]);
      await postgres.execute(sql`
        UPDATE outbox SET attempted_at = attempted_at + interval '5 hours',
          delayed_until = delayed_until + interval '5 hours' WHERE id = ${BigInt(row.id)}`);
      expect(await outbox.queued(account, 5)).toMatchObject([{ outboxId: row.id }]);
      expect(await outbox.undelivered(account, { limit: 5 })).toMatchObject([{ outboxId: row.id }]);
      expect(await outbox.markSending(row.id)).toBe(true);
    });
  });

  describe('set in either direction', () => {
    const own = { nodeId: '', host: 'h', version: '1', url: () => 'http://127.0.0.1:1' };
    let connection: NodeConnection;
    let cluster: PostgresCluster;
    beforeEach(async () => {
      own.nodeId = anAccount();
      connection = new NodeConnection({
        databaseUrl: database.url,
        nodeId: own.nodeId,
        log: quietLog,
        onMessage: () => undefined,
      });
      await connection.start();
      cluster = new PostgresCluster(postgres, { ...own, lockKey: connection.lockKey }, 15_000);
      return () => connection.close();
    });
    const beat = () => cluster.beat({ turns: 0, isDraining: false });
    const isAlive = async () =>
      (await beat()).nodes.find(({ nodeId }) => nodeId === own.nodeId)?.isAlive ?? false;

    it.each(['-5 hours', '5 hours'])('does not affect a live node (%s)', async (shift) => {
      await beat();
      expect(await isAlive()).toBe(true);
      await postgres.execute(sql`
        UPDATE node SET seen_at = seen_at + ${shift}::text::interval WHERE id = ${own.nodeId}`);
      await beat();
      expect(await isAlive()).toBe(true);
      const [row] = await postgres.query<{ seenAt: Date }>(
        sql`SELECT seen_at AS "seenAt" FROM node WHERE id = ${own.nodeId}`,
      );
      expect(Math.abs(Number(row?.seenAt) - Date.now())).toBeLessThan(MINUTE_MS);
    });

    it('does not show a hung node as live for hours', async () => {
      await beat();
      // Its connection is open but it sends no heartbeat; another node observes it.
      await postgres.execute(sql`
        UPDATE node SET seen_at = seen_at + interval '5 hours' WHERE id = ${own.nodeId}`);
      const other = new PostgresCluster(postgres, { ...own, nodeId: anAccount(), lockKey: 1 }, 15_000);
      const view = await other.beat({ turns: 0, isDraining: false });
      expect(view.nodes.find(({ nodeId }) => nodeId === own.nodeId)).toMatchObject({ isAlive: false });
    });
  });
});
