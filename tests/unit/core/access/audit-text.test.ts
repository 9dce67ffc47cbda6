import { expect, it } from 'vitest';
import { type AuditEvent, auditFields, auditText } from '../../../../router/src/core/ports/audit-log.ts';

const event: AuditEvent = {
  at: new Date('2026-01-31T12:00:00.123Z'),
  face: 'rest',
  caller: 'key',
  keyId: '0123456789ab',
  action: 'sendMessage',
  object: '815',
  outcome: 'ok',
  requestId: 'r-1',
  address: '10.0.0.1',
};

it('is the text that stored hashes cover: it must never change', () => {
  const fields =
    '["2026-01-31T12:00:00.123Z","rest","key","0123456789ab","sendMessage","815","ok","r-1","10.0.0.1"]';
  expect(auditFields(event)).toBe(fields);
  expect(auditText(7n, event)).toBe(`7 ${fields}`);
});

it('tells an absent field from an empty one, and ignores what is no field', () => {
  const { keyId: _keyId, object: _object, address: _address, ...required } = event;
  expect(auditFields(required)).toBe(
    '["2026-01-31T12:00:00.123Z","rest","key",null,"sendMessage",null,"ok","r-1",null]',
  );
  expect(auditFields({ ...required, object: '' })).not.toBe(auditFields(required));
  expect(auditFields({ ...event, seq: 9n, hash: 'x' } as AuditEvent)).toBe(auditFields(event));
});
