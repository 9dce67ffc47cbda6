import { createHash } from 'node:crypto';
import { expect, it } from 'vitest';
import type { AuditEvent } from '../../../../router/src/core/ports/audit-log.ts';
import { auditHash } from '../../../../router/src/infra/operations/audit-recorder.ts';

const event: AuditEvent = {
  at: new Date(0),
  face: 'rest',
  caller: 'session',
  action: 'createRoute',
  object: 'ñ 🦤 "\\',
  outcome: 'ok',
  requestId: 'r',
};
const start = '0'.repeat(64);

it('is the SHA-256 of the hash before and the text', () => {
  const text =
    '1 ["1970-01-01T00:00:00.000Z","rest","session",null,"createRoute","ñ 🦤 \\"\\\\","ok","r",null]';
  const expected = createHash('sha256').update(Buffer.alloc(32)).update(text, 'utf8').digest('hex');
  expect(auditHash(start, 1n, event)).toBe(expected);
});

it('differs for another position, another hash before and each other field', () => {
  const others = [
    auditHash(start, 2n, event),
    auditHash('f'.repeat(64), 1n, event),
    auditHash(start, 1n, { ...event, at: new Date(1) }),
    auditHash(start, 1n, { ...event, outcome: 'no' }),
    auditHash(start, 1n, { ...event, keyId: 'a' }),
    auditHash(start, 1n, { ...event, address: 'a' }),
  ];
  expect(new Set([auditHash(start, 1n, event), ...others]).size).toBe(7);
});
