import sql from 'sql-template-tag';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditEvent, AuditLog } from '../../../router/src/core/ports/audit-log.ts';
import { PostgresAuditLog } from '../../../router/src/infra/db/stores/log-conditions.ts';
import { auditHash } from '../../../router/src/infra/operations/audit-recorder.ts';
import { MemoryAuditLog } from '../../doubles/memory-audit-log.ts';
import { createTestDatabase, type TestDatabase, testDatabase } from '../../support/database.ts';

const START_HASH = '0'.repeat(64);

function anEvent(given: Partial<AuditEvent> = {}): AuditEvent {
  return {
    at: new Date('2026-01-31T12:00:00.123Z'),
    face: 'rest',
    caller: 'admin-key',
    action: 'createRoute',
    outcome: 'ok',
    requestId: 'r-1',
    ...given,
  };
}

const databases: TestDatabase[] = [];
afterAll(() => Promise.all(databases.map((database) => database.drop())));

/** Two ways to one log, as two nodes have. */
const adapters: Array<[string, () => Promise<[AuditLog, AuditLog]>]> = [
  [
    'memory',
    async () => {
      const log = new MemoryAuditLog();
      return [log, log];
    },
  ],
  [
    'PostgreSQL',
    async () => {
      const database = await createTestDatabase();
      databases.push(database);
      return [new PostgresAuditLog(database.open()), new PostgresAuditLog(database.open())];
    },
  ],
];

/** Computes every hash again; returns the positions. */
async function verified(log: AuditLog): Promise<bigint[]> {
  const { head, anchor } = await log.chain();
  const entries = (await log.entries({ limit: 10_000 })).reverse();
  let { hash } = anchor;
  for (const entry of entries) {
    hash = auditHash(hash, entry.seq, entry);
    expect(entry.hash, `entry ${entry.seq}`).toBe(hash);
  }
  expect(head).toEqual({ seq: entries.at(-1)?.seq ?? anchor.seq, hash });
  return entries.map(({ seq }) => seq);
}

describe.each(adapters)('audit log in %s', (_name, open) => {
  let log: AuditLog;
  let other: AuditLog;
  beforeEach(async () => {
    [log, other] = await open();
  });

  it('begins empty', async () => {
    expect(await log.entries({ limit: 9 })).toEqual([]);
    const start = { seq: 0n, hash: START_HASH };
    expect(await log.chain()).toEqual({ head: start, anchor: start });
  });

  it('reads an event back unchanged, and omits absent fields', async () => {
    const whole = anEvent({ caller: 'key', keyId: '0123456789ab', object: 'ñ 🦤 "\\\t', address: '::1' });
    await log.append([whole, anEvent()]);
    expect(await log.entries({ limit: 9 })).toEqual([
      { ...anEvent(), seq: 2n, hash: expect.any(String) },
      { ...whole, seq: 1n, hash: auditHash(START_HASH, 1n, whole) },
    ]);
    await verified(log);
  });

  it('chains the events of two nodes at the same time in one order without gaps', async () => {
    const appends = Array.from({ length: 20 }, (_, n) =>
      (n % 2 === 0 ? log : other).append([
        anEvent({ requestId: `${n}`, object: 'first' }),
        anEvent({ requestId: `${n}`, object: 'second' }),
      ]),
    );
    await Promise.all(appends);
    const seqs = await verified(other);
    expect(seqs).toEqual(Array.from({ length: 40 }, (_, n) => BigInt(n + 1)));
    const entries = (await log.entries({ limit: 99 })).reverse();
    for (let n = 0; n < 40; n += 2) {
      const [first, second] = entries.slice(n, n + 2);
      expect([first?.object, second?.object, first?.requestId]).toEqual([
        'first',
        'second',
        second?.requestId,
      ]);
    }
  });

  it('filters by each field and by time, newest first, before a position', async () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute));
    await log.append([
      anEvent({ at: at(1), caller: 'key', keyId: 'a', address: '10.0.0.1' }),
      anEvent({ at: at(2), caller: 'key', keyId: 'b', action: 'deleteRoute', object: '7' }),
      anEvent({ at: at(3), outcome: 'NOT_FOUND', requestId: 'r-3' }),
    ]);
    const seqs = async (query: object) =>
      (await log.entries({ limit: 9, ...query })).map(({ seq }) => Number(seq));
    expect(await seqs({})).toEqual([3, 2, 1]);
    expect(await seqs({ limit: 2 })).toEqual([3, 2]);
    expect(await seqs({ before: 3n })).toEqual([2, 1]);
    expect(await seqs({ caller: 'key' })).toEqual([2, 1]);
    expect(await seqs({ keyId: 'a' })).toEqual([1]);
    expect(await seqs({ address: '10.0.0.1' })).toEqual([1]);
    expect(await seqs({ action: 'deleteRoute', object: '7' })).toEqual([2]);
    expect(await seqs({ outcome: 'NOT_FOUND' })).toEqual([3]);
    expect(await seqs({ requestId: 'r-3' })).toEqual([3]);
    expect(await seqs({ since: at(2), until: at(3) })).toEqual([2]);
    expect(await seqs({ action: 'nothing' })).toEqual([]);
  });
});

describe('audit log in PostgreSQL', () => {
  const database = testDatabase();

  it('stores texts that PostgreSQL refuses without these characters, and the hash covers what it stored', async () => {
    const log = new PostgresAuditLog(database.open());
    await log.append([anEvent({ object: 'a\0b\ud800' }), anEvent()]);
    expect(await verified(log)).toEqual([1n, 2n]);
  });

  it('stores all events of a call or none', async () => {
    const postgres = database.open();
    const log = new PostgresAuditLog(postgres);
    const before = await log.chain();
    const impossible = { ...anEvent(), action: undefined as unknown as string };
    await expect(log.append([anEvent(), impossible])).rejects.toMatchObject({ code: 'STORAGE_REJECTED' });
    expect(await log.chain()).toEqual(before);
    await verified(log);
  });

  it('says that somebody removed the ends of the log', async () => {
    const own = await createTestDatabase();
    databases.push(own);
    const postgres = own.open();
    await postgres.execute(sql`DELETE FROM audit_chain`);
    await expect(new PostgresAuditLog(postgres).chain()).rejects.toMatchObject({ code: 'STORAGE_DAMAGED' });
    await expect(new PostgresAuditLog(postgres).append([anEvent()])).rejects.toThrow();
  });
});
