import sql from 'sql-template-tag';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { AccountLeases, Lease } from '../../router/src/core/ports/account-lease.ts';
import type { Postgres } from '../../router/src/infra/storage/postgres.ts';
import { PostgresAccountDeletion } from '../../router/src/infra/storage/stores/postgres-account-deletion.ts';
import { PostgresAccountLeases } from '../../router/src/infra/storage/stores/postgres-account-lease.ts';
import { PostgresCluster } from '../../router/src/infra/storage/stores/postgres-cluster.ts';
import { PostgresInbox } from '../../router/src/infra/storage/stores/postgres-inbox.ts';
import { PostgresKeyStore } from '../../router/src/infra/storage/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../../router/src/infra/storage/stores/postgres-outbox.ts';
import { PostgresRouteStore } from '../../router/src/infra/storage/stores/postgres-route-store.ts';
import { countRows, createTestDatabase, type TestDatabase } from '../support/database.ts';
import { aMessage, anAccount, aPerson, aReply } from './adapters.ts';

let database: TestDatabase;
let postgres: Postgres;
let cluster: PostgresCluster;
let leases: AccountLeases;
let deletion: PostgresAccountDeletion;
let accountId: string;

beforeAll(async () => {
  database = await createTestDatabase();
  postgres = database.open();
  const own = { nodeId: 'n1', lockKey: 1, host: 'h', version: '0', url: () => '' };
  cluster = new PostgresCluster(postgres, own, 60_000);
  leases = new PostgresAccountLeases(postgres, { owner: 'n1', ttlMs: 60_000 });
  deletion = new PostgresAccountDeletion(postgres);
});
afterAll(() => database.drop());
beforeEach(async () => {
  accountId = anAccount();
  await cluster.addAccount(accountId);
});

/** How many rows name the account, by table. */
async function rowsOf(account: string): Promise<number> {
  const where = sql`WHERE account_id = ${account}`;
  const counts = await Promise.all([
    countRows(postgres, sql`message ${where}`),
    countRows(postgres, sql`outbox ${where}`),
    countRows(postgres, sql`dead_letter ${where}`),
    countRows(postgres, sql`chat ${where}`),
    countRows(postgres, sql`auth_key ${where}`),
    countRows(postgres, sql`journal ${where}`),
    countRows(postgres, sql`lid_mapping ${where}`),
    countRows(postgres, sql`route ${where}`),
    countRows(postgres, sql`account_lease ${where}`),
    countRows(postgres, sql`account WHERE id = ${account}`),
  ]);
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Stores messages, replies, dead letters, keys and a route of an account. */
async function fill(account: string): Promise<void> {
  const inbox = new PostgresInbox(postgres);
  for (let n = 0; n < 3; n++) {
    const { messageId = '' } = await inbox.add(aMessage(account, aPerson()), 'n1');
    const replies = [aReply(account, '5491100000001@s.whatsapp.net')];
    await inbox.finishTurn(messageId, { state: 'dead', reason: 'X', replies });
  }
  await new PostgresOutbox(postgres).addDirect(aReply(account, '5491100000002@s.whatsapp.net'));
  await new PostgresKeyStore(postgres).commit(
    { accountId: account, generation: 1 },
    { puts: [{ category: 'creds', keyId: 'creds', value: 'secret' }], deletes: [], journal: [] },
  );
  await new PostgresRouteStore(postgres).create({
    accountId: account,
    channelId: '*',
    agentEndpoint: 'http://a',
    environment: 'lab',
    priority: 0,
    enabled: true,
    config: {},
  });
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
  await leases.acquire(accountId);
  await deletion.close(accountId);
  expect(await deletion.deleteRows(accountId, 2)).toBeLessThanOrEqual(2);
  expect(await deleteAll(accountId, 2)).toBeGreaterThan(10);
  expect(await rowsOf(accountId)).toBe(0);
  expect(await rowsOf(other)).toBe(ofOther);
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
