import { describe, expect, it } from 'vitest';
import { troubleOf } from '../../../../../router/src/infra/db/upkeep/storage-faults.ts';

/** An error as thrown by `pg`. */
const ofServer = (message: string) => Object.assign(new Error(message), { severity: 'ERROR' });

describe('troubleOf', () => {
  it.each([
    ['53100', 'full'],
    ['25006', 'read-only'],
    ['42501', 'rights'],
    ['3F000', 'schema'],
    ['42P01', 'schema'],
    ['42703', 'schema'],
    ['42883', 'schema'],
  ])('classifies %s as %s, and names the code', (code, kind) => {
    const trouble = troubleOf(code, ofServer('x'));
    expect(trouble?.kind).toBe(kind);
    expect(trouble?.said.sentence).toContain(code);
  });

  it('quotes the server only when the error contains no message text', () => {
    const secret = 'permission denied for table message';
    expect(troubleOf('42501', ofServer(secret))?.said.sentence).toContain(secret);
    expect(troubleOf('53100', ofServer('value "hello Ana"'))?.said.sentence).not.toContain('Ana');
    expect(troubleOf('42501', new Error('Prisma quotes "hello Ana"'))?.said.sentence).not.toContain('Ana');
  });

  it.each([undefined, '40P01', '57P01', '23505'])('does not classify %s', (code) => {
    expect(troubleOf(code, ofServer('x'))).toBeUndefined();
  });
});
