import { beforeEach, describe, expect, it } from 'vitest';
import type { AuditEntry, AuditEvent } from '../../../router/src/core/ports/audit-log.ts';
import { verifyAudit } from '../../../router/src/features/audit/verify-audit.ts';
import { ADMIN_KEY, httpApi } from '../../support/http-api.ts';

function event(number: number): AuditEvent {
  return {
    at: new Date(Date.UTC(2026, 0, 1) + number),
    face: 'rest',
    caller: 'key',
    action: 'createRoute',
    object: `ñ 🦤 ${number}`,
    outcome: 'ok',
    requestId: `r${number}`,
  };
}

const api = httpApi({ apiKey: ADMIN_KEY });
beforeEach(async () => {
  // The reads of a check are entries too; here they would change the log during the test.
  await api.recorder.stop();
});

const append = (count: number) =>
  api.auditLog.append(Array.from({ length: count }, (_, number) => event(number)));
const verify = (earlier?: { seq: bigint; hash: string }) =>
  verifyAudit({
    read: async (path) => (await fetch(api.url + path, { headers: { 'x-api-key': ADMIN_KEY } })).json(),
    ...(earlier && { earlier }),
  });
const entry = (seq: number): AuditEntry => {
  const found = api.auditLog.stored.find((each) => each.seq === BigInt(seq));
  if (!found) throw new Error(`no entry ${seq}`);
  return found;
};
const remove = (from: number, to: number) => {
  const { stored } = api.auditLog;
  const kept = stored.filter(({ seq }) => seq < BigInt(from) || seq > BigInt(to));
  stored.splice(0, stored.length, ...kept);
};

describe('verifyAudit', () => {
  it.each([0, 1, 499, 500, 501, 1_203])('finds a log of %i entries intact', async (count) => {
    await append(count);
    const { head } = await api.auditLog.chain();
    const report = await verify();
    expect(report).toMatchObject({ isIntact: true, entries: count, anchorSeq: '0' });
    expect(report.head).toEqual({ seq: String(count), hash: head.hash });
  });

  it('finds the log intact after retention has removed its start, or all of it', async () => {
    await append(20);
    const { head } = await api.auditLog.chain();
    api.auditLog.anchor = { seq: 12n, hash: entry(12).hash };
    remove(1, 12);
    expect(await verify()).toMatchObject({ isIntact: true, entries: 8, anchorSeq: '12' });
    api.auditLog.anchor = head;
    remove(13, 20);
    expect(await verify()).toMatchObject({ isIntact: true, entries: 0, anchorSeq: '20' });
  });

  it.each<[string, () => void, RegExp]>([
    [
      'a changed field',
      () => Object.assign(entry(7), { outcome: 'NOT_FOUND' }),
      /^Entry 7 or the one before/,
    ],
    ['a changed time', () => Object.assign(entry(7), { at: new Date(0) }), /^Entry 7 or the one before/],
    ['a removed address', () => Object.assign(entry(1), { object: undefined }), /^Entry 1 or the one before/],
    ['a changed hash', () => Object.assign(entry(7), { hash: 'f'.repeat(64) }), /^Entry 8 or the one before/],
    ['a changed last entry', () => Object.assign(entry(20), { action: 'x' }), /^Entry 20 or the one before/],
    ['another last hash', () => Object.assign(entry(20), { hash: 'f'.repeat(64) }), /^Entry 20 was changed/],
    ['a removed entry', () => remove(7, 7), /^Entry 7 is missing/],
    ['removed entries at the end', () => remove(19, 20), /^Entry 20 is missing/],
    ['removed entries at the start', () => remove(1, 3), /^Entry 3 is missing/],
    ['removal of all', () => remove(1, 20), /^Entry 20 is missing/],
  ])('finds %s', async (_what, change, problem) => {
    await append(20);
    change();
    const report = await verify();
    expect(report.isIntact).toBe(false);
    expect(report.problem).toMatch(problem);
  });

  it('finds a moved anchor that does not fit', async () => {
    await append(20);
    remove(1, 12);
    api.auditLog.anchor = { seq: 12n, hash: 'f'.repeat(64) };
    expect((await verify()).problem).toMatch(/^Entry 13 or the one before/);
  });

  it('compares the log with an earlier check', async () => {
    await append(5);
    const { head } = await api.auditLog.chain();
    await append(5);
    expect((await verify(head)).isIntact).toBe(true);
    expect((await verify({ ...head, hash: 'f'.repeat(64) })).problem).toMatch(/^Entry 5 is not the one/);
    expect((await verify({ seq: 99n, hash: head.hash })).problem).toContain('ends at entry 10');
    api.auditLog.anchor = head;
    remove(1, 5);
    expect((await verify(head)).isIntact).toBe(true);
    expect((await verify({ ...head, hash: 'f'.repeat(64) })).isIntact).toBe(false);
  });
});
