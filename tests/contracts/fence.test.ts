import sql from 'sql-template-tag';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HeldLease } from '../../router/src/core/cluster/lease-manager.ts';
import { LeaseLostError } from '../../router/src/core/errors.ts';
import type { Lease } from '../../router/src/core/ports/cluster.ts';
import { PostgresAccountStore } from '../../router/src/features/accounts/postgres-account-store.ts';
import type { Postgres } from '../../router/src/infra/db/postgres.ts';
import { PostgresAccountLeases } from '../../router/src/infra/db/stores/postgres-account-lease.ts';
import { PostgresInbox } from '../../router/src/infra/db/stores/postgres-inbox.ts';
import { PostgresJournal } from '../../router/src/infra/db/stores/postgres-journal.ts';
import { PostgresKeyStore } from '../../router/src/infra/db/stores/postgres-key-store.ts';
import { PostgresOutbox } from '../../router/src/infra/db/stores/postgres-outbox.ts';
import { testDatabase } from '../support/database.ts';
import { aMessage, anAccount, aPerson, aReply, NODE } from './adapters.ts';

const database = testDatabase();
let postgres: Postgres;
beforeAll(async () => {
  postgres = database.open();
});

let account: string;
let lost: string[];
let fence: HeldLease;
let outboxId: string;
let waMessageId: string;
const time = { ms: 0 };
const nodes = { n1: '', n2: '' };

function leasesOf(owner: string): PostgresAccountLeases {
  return new PostgresAccountLeases(postgres, { owner, ttlMs: 60_000 });
}

beforeEach(async () => {
  account = anAccount();
  nodes.n1 = `n1-${account}`;
  nodes.n2 = `n2-${account}`;
  lost = [];
  time.ms = 0;
  await new PostgresAccountStore(postgres).save(account, { state: 'starting' });
  const lease = (await leasesOf(nodes.n1).acquire(account)) as Lease;
  fence = new HeldLease(lease, {
    leases: leasesOf(nodes.n1),
    isTakeOver: false,
    safeMs: 40_000,
    askedAtMs: 0,
    monotonicMs: () => time.ms,
    onLost: (reason) => lost.push(reason),
  });
  const message = aReply(account, `${aPerson().phone}@s.whatsapp.net`);
  waMessageId = message.waMessageId;
  const outbox = new PostgresOutbox(postgres);
  outboxId = (await outbox.addDirect(message)).row.id;
  const held = await outbox.addDirect(aReply(account, `${aPerson().phone}@s.whatsapp.net`));
  await outbox.delay(held.row.id, 60_000, { sentence: 'a limit' });
  await new PostgresAccountStore(postgres).beginLimit(account, { ...limit, reason: 'before' });
  await new PostgresKeyStore(postgres).commit(
    { accountId: account, generation: 1 },
    { puts: [], deletes: [], journal: [entry('old')] },
  );
});

/** Another node acquired the account, and this one does not know it yet. */
async function takenByAnother(): Promise<void> {
  await leasesOf(nodes.n1).release(fence);
  await leasesOf(nodes.n2).acquire(account);
}

const limit = { kind: 'new-contacts' as const, reason: 'now', forMs: 3_600_000 };

const creds = (value: string) => ({
  puts: [{ category: 'creds', keyId: 'creds', value }],
  deletes: [],
  journal: [],
});

const entry = (ciphertextHash: string) => ({
  ciphertextHash,
  stanzaOrder: 1n,
  waMessageId: 'W',
  plaintext: new Uint8Array([1]),
  stanza: new Uint8Array([2]),
});

/** Each kind of write by the owner of an account. */
const WRITES: Array<[name: string, write: () => Promise<unknown>]> = [
  ['keys', () => keyStore().commit({ accountId: account, generation: 1 }, creds('new'))],
  [
    'keys with a journal entry',
    () =>
      keyStore().commit(
        { accountId: account, generation: 1 },
        {
          ...creds('new'),
          deletes: [{ category: 'pre-key', keyId: '1' }],
          journal: [entry('new')],
        },
      ),
  ],
  [
    'keys with a message',
    () =>
      keyStore().commit(
        { accountId: account, generation: 1 },
        { ...creds('new'), messages: [{ message: aMessage(account, aPerson()), node: NODE }] },
      ),
  ],
  [
    'a journal entry that is handled alone',
    () => new PostgresJournal(postgres, fence).setAlone(account, 'old', true),
  ],
  ['a reply that is sent alone', () => new PostgresOutbox(postgres, fence).setAlone(outboxId, true)],
  ['a journal that drops entries', () => new PostgresJournal(postgres, fence).forget(account, ['old'])],
  ['a message', () => new PostgresInbox(postgres, fence).add(aMessage(account, aPerson()), NODE)],
  ['account state', () => new PostgresAccountStore(postgres, fence).save(account, { state: 'open' })],
  ['key generation', () => new PostgresAccountStore(postgres, fence).nextGeneration(account)],
  ['a limit', () => new PostgresAccountStore(postgres, fence).beginLimit(account, limit)],
  ['the end of a limit', () => new PostgresAccountStore(postgres, fence).endLimit(account, 'new-contacts')],
  ['a delay', () => new PostgresOutbox(postgres, fence).delay(outboxId, 60_000, { sentence: 'why' })],
  ['the end of delays', () => new PostgresOutbox(postgres, fence).endDelays(account)],
  ['sending', () => new PostgresOutbox(postgres, fence).markSending(outboxId)],
  ['sent', () => new PostgresOutbox(postgres, fence).markSent(outboxId)],
  ['dead', () => new PostgresOutbox(postgres, fence).markDead(outboxId, { sentence: 'why' })],
  [
    'refused',
    () => new PostgresOutbox(postgres, fence).markRefused(account, waMessageId, { sentence: 'why' }),
  ],
  ['released', () => new PostgresOutbox(postgres, fence).release(outboxId, { sentence: 'why' })],
  [
    'receipts',
    () =>
      new PostgresOutbox(postgres, fence).recordReceipts(account, [
        { waMessageId, state: 'acked', atMs: 1_000 },
      ]),
  ],
];

function keyStore(): PostgresKeyStore {
  return new PostgresKeyStore(postgres, fence);
}

/** All rows of the account that its owner writes. */
async function written(): Promise<unknown> {
  const where = sql`WHERE account_id = ${account}`;
  return {
    keys: await postgres.query(sql`SELECT * FROM auth_key ${where}`),
    journal: await postgres.query(sql`SELECT * FROM journal ${where}`),
    account: await postgres.query(sql`SELECT * FROM account WHERE id = ${account}`),
    limits: await postgres.query(sql`SELECT * FROM account_limit ${where}`),
    outbox: await postgres.query(sql`SELECT * FROM outbox ${where}`),
    messages: await postgres.query(sql`SELECT * FROM message ${where}`),
    chats: await postgres.query(sql`SELECT * FROM chat ${where}`),
    dead: await postgres.query(sql`SELECT * FROM dead_letter ${where}`),
  };
}

describe.each(WRITES)('the write of %s by an owner', (_name, write) => {
  it('is accepted while the owner has the lease', async () => {
    const before = await written();
    await write();
    expect(await written()).not.toEqual(before);
    expect(lost).toEqual([]);
  });

  it('changes nothing after another node acquired the lease, and reports the lease as lost', async () => {
    await takenByAnother();
    const before = await written();
    await expect(write()).rejects.toThrow(LeaseLostError);
    expect(await written()).toEqual(before);
    expect(lost).toHaveLength(1);
    expect(fence.isHeld()).toBe(false);
  });

  it('is not attempted by an owner that was suspended past its lease, even if no node acquired the account', async () => {
    time.ms = 40_000;
    const before = await written();
    await expect(write()).rejects.toThrow(LeaseLostError);
    expect(await written()).toEqual(before);
  });
});

it('a take-over waits for a write in progress, so that the new owner reads it', async () => {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let begun: () => void = () => undefined;
  const isBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const order: string[] = [];
  const write = postgres.transaction(async (transaction) => {
    await new PostgresKeyStore(transaction, fence).commit(
      { accountId: account, generation: 1 },
      creds('late'),
    );
    begun();
    await held;
    order.push('written');
  });
  await isBegun;
  await postgres.execute(sql`UPDATE account_lease SET until = to_timestamp(0) WHERE account_id = ${account}`);
  const taken = leasesOf(nodes.n2)
    .acquire(account)
    .then((lease) => {
      order.push('taken');
      return lease;
    });
  await expect.poll(() => postgres.query(sql`SELECT 1 FROM pg_locks WHERE NOT granted`)).not.toHaveLength(0);
  release();
  await write;
  expect((await taken)?.epoch).toBe(fence.epoch + 1n);
  expect(order).toEqual(['written', 'taken']);
});

describe('the reply of a turn that its owner sends at once', () => {
  it.each([
    ['sending while the owner has the lease', false, 'sending'],
    ['queued when another node has it', true, 'queued'],
  ])('is stored as %s', async (_name, isTaken, state) => {
    const inbox = new PostgresInbox(postgres);
    const { messageId } = await inbox.add(aMessage(account, aPerson()), NODE);
    if (isTaken) await takenByAnother();
    const reply = aReply(account, `${aPerson().phone}@s.whatsapp.net`);
    const { replies: rows } = await inbox.finishTurn(
      messageId,
      { state: 'answered', replies: [reply] },
      { lease: fence },
    );
    expect(rows).toMatchObject([isTaken ? {} : { isSending: true }]);
    const stored = await postgres.query(
      sql`SELECT state FROM outbox WHERE wa_message_id = ${reply.waMessageId}`,
    );
    expect(stored).toEqual([{ state }]);
  });
});
