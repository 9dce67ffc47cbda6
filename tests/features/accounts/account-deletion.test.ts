import sql, { raw } from 'sql-template-tag';
import { beforeAll, beforeEach, expect, it } from 'vitest';
import type { AgentExchange } from '../../../router/src/core/agent-exchange.ts';
import type { AccountLeases, Lease } from '../../../router/src/core/ports/cluster.ts';
import { PostgresAccountDeletion } from '../../../router/src/features/accounts/feature.ts';
import { PostgresRemoteTasks } from '../../../router/src/features/tasks/postgres-remote-tasks.ts';
import type { Postgres } from '../../../router/src/infra/db/postgres.ts';
import { PostgresAccountLeases } from '../../../router/src/infra/db/stores/postgres-account-lease.ts';
import { PostgresCluster } from '../../../router/src/infra/db/stores/postgres-cluster.ts';
import { PostgresInbox } from '../../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresKeyStore } from '../../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../../../router/src/infra/db/stores/postgres-outbox.ts';
import { PostgresRouteStore } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { aMessage, anAccount, aPerson, aReply } from '../../contracts/adapters.ts';
import { countRows, testDatabase } from '../../support/database.ts';
import { aNewRoute } from '../../support/routes.ts';

const database = testDatabase();
let postgres: Postgres;
let cluster: PostgresCluster;
let leases: AccountLeases;
let deletion: PostgresAccountDeletion;
let accountId: string;

beforeAll(async () => {
  postgres = database.open();
  const own = { nodeId: 'n1', lockKey: 1, host: 'h', version: '0', url: () => '' };
  cluster = new PostgresCluster(postgres, own, 60_000);
  leases = new PostgresAccountLeases(postgres, { owner: 'n1', ttlMs: 60_000 });
  deletion = new PostgresAccountDeletion(postgres);
});
beforeEach(async () => {
  accountId = anAccount();
  await cluster.addAccount(accountId);
});

/** Tables whose rows belong to an account. */
async function tablesOfAccounts(): Promise<string[]> {
  const rows = await postgres.query<{ name: string }>(sql`
    SELECT table_name AS name FROM information_schema.columns
    WHERE table_schema = 'public' AND column_name = 'account_id' ORDER BY 1`);
  return rows.map(({ name }) => name);
}

const EXCHANGE: AgentExchange = {
  attempt: 1,
  at: '2026-01-31T12:00:00.000Z',
  ms: 12,
  request: { method: 'POST', url: 'http://agent/run', headers: {}, body: 'hello', bytes: 5 },
};

/** How many exchanges with agents are stored, for messages that exist and for others. */
async function exchanges(): Promise<{ ofMessages: number; others: number }> {
  const ofMessages = await countRows(
    postgres,
    sql`agent_exchange WHERE message_id IN (SELECT id FROM message)`,
  );
  return { ofMessages, others: (await countRows(postgres, sql`agent_exchange`)) - ofMessages };
}

/** How many rows name the account, in all tables. */
async function rowsOf(account: string): Promise<number> {
  const tables = await tablesOfAccounts();
  const where = sql`WHERE account_id = ${account}`;
  const counts = await Promise.all([
    ...tables.map((table) => countRows(postgres, sql`${raw(table)} ${where}`)),
    countRows(postgres, sql`account WHERE id = ${account}`),
  ]);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Stores messages with exchanges, replies, tasks and a conversation at an agent, dead letters, keys and a route of an account. */
async function fill(account: string): Promise<void> {
  const inbox = new PostgresInbox(postgres);
  const tasks = new PostgresRemoteTasks(postgres);
  await tasks.saveSession({ accountId: account, routeId: 'r', sessionId: 's' }, { contextId: 'c' });
  for (let n = 0; n < 3; n++) {
    const { messageId = '' } = await inbox.add(aMessage(account, aPerson()), 'n1');
    await tasks.add({ accountId: account, messageId, routeId: 'r' }, 'a task');
    const replies = [aReply(account, '5491100000001@s.whatsapp.net')];
    await inbox.finishTurn(messageId, { state: 'dead', reason: 'X', replies, exchanges: [EXCHANGE] });
  }
  await new PostgresOutbox(postgres).addDirect(aReply(account, '5491100000002@s.whatsapp.net'));
  await new PostgresKeyStore(postgres).commit(
    { accountId: account, generation: 1 },
    { puts: [{ category: 'creds', keyId: 'creds', value: 'secret' }], deletes: [], journal: [] },
  );
  await new PostgresRouteStore(postgres).create(aNewRoute({ accountId: account }));
}

async function deleteAll(account: string, limit: number): Promise<number> {
  let deleted = 0;
  for (let rows = 1; rows > 0; deleted += rows) rows = await deletion.deleteRows(account, limit);
  return deleted;
}

it('hides a closed account from every node and ends its lease', async () => {
  const lease = (await leases.acquire(accountId)) as Lease;
  await deletion.close(accountId);
  await deletion.close(accountId);
  const { accounts } = await cluster.beat({ turns: 0, isDraining: false });
  expect(accounts.map((account) => account.accountId)).not.toContain(accountId);
  expect(await leases.renew([lease])).toEqual(new Set());
  expect(await leases.acquire(accountId)).toBeUndefined();
  expect(await cluster.addAccount(accountId)).toBe('known');
});

it('deletes every row of a closed account in batches, and no row of another one', async () => {
  const other = anAccount();
  await cluster.addAccount(other);
  await fill(accountId);
  await fill(other);
  const ofOther = await rowsOf(other);
  const before = await exchanges();
  await leases.acquire(accountId);
  await deletion.close(accountId);
  expect(await deletion.deleteRows(accountId, 2)).toBeLessThanOrEqual(2);
  expect(await deleteAll(accountId, 2)).toBeGreaterThan(10);
  expect(await rowsOf(accountId)).toBe(0);
  expect(await rowsOf(other)).toBe(ofOther);
  expect(await exchanges()).toEqual({ ofMessages: before.ofMessages - 3, others: 0 });
  expect(await cluster.addAccount(accountId)).toBe('added');
});

it('deletes nothing of an account that is not closed or does not exist', async () => {
  await fill(accountId);
  expect(await deletion.deleteRows(accountId, 100)).toBe(0);
  await deletion.close('nobody');
  expect(await deletion.deleteRows('nobody', 100)).toBe(0);
});

it('gives no lease to a node that saw the account before it was deleted', async () => {
  await deletion.close(accountId);
  await deleteAll(accountId, 100);
  expect(await leases.acquire(accountId)).toBeUndefined();
  expect(await rowsOf(accountId)).toBe(0);
});
