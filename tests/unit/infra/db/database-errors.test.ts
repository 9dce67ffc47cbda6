import { describe, expect, it } from 'vitest';
import {
  DatabaseError,
  errorCode,
  errorMessage,
} from '../../../../router/src/infra/db/stores/storage-errors.ts';

describe('DatabaseError', () => {
  it('is an error that no retry resolves', () => {
    expect(new DatabaseError('DATABASE_FULL', 'Free space.')).toMatchObject({
      name: 'DatabaseError',
      code: 'DATABASE_FULL',
      disposition: 'dead',
    });
  });
});

describe('errorCode', () => {
  it.each([
    [Object.assign(new Error('no'), { code: '28P01' }), '28P01'],
    [{ code: 'ENOENT' }, 'ENOENT'],
    [Object.assign(new Error('no'), { code: 7 }), undefined],
    [new Error('no'), undefined],
    ['ENOENT', undefined],
    [null, undefined],
    [undefined, undefined],
  ])('of %o is %s', (error, code) => {
    expect(errorCode(error)).toBe(code);
  });
});

describe('errorMessage', () => {
  it('of an error without its own message, as for a host with two addresses, has those of its parts', () => {
    const parts = [
      new Error('connect ECONNREFUSED ::1:5432'),
      new Error('connect ECONNREFUSED 127.0.0.1:5432'),
    ];
    expect(errorMessage(new AggregateError(parts))).toBe(
      'connect ECONNREFUSED ::1:5432; connect ECONNREFUSED 127.0.0.1:5432',
    );
    expect(errorMessage(new AggregateError(parts, 'both failed'))).toBe('both failed');
  });

  it.each([
    [new Error('refused'), 'refused'],
    ['refused', 'refused'],
    [undefined, 'undefined'],
    [{}, '[object Object]'],
  ])('of %o is %j', (error, message) => {
    expect(errorMessage(error)).toBe(message);
  });
});
