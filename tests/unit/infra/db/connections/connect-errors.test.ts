import { describe, expect, it } from 'vitest';
import {
  addressOf,
  explainConnectError,
} from '../../../../../router/src/infra/db/connections/external-postgres.ts';

const address = addressOf('postgresql://ana:hunter2@db.example:6432/shop');

describe('explainConnectError', () => {
  it.each([
    [
      '28P01',
      'DATABASE_RIGHTS',
      'Cannot connect to PostgreSQL at db.example:6432: password rejected for user "ana". Check DATABASE_URL.',
    ],
    [
      '28000',
      'DATABASE_RIGHTS',
      'Cannot connect to PostgreSQL at db.example:6432: user "ana" rejected. Check DATABASE_URL and the server\'s pg_hba.conf.',
    ],
    [
      '3D000',
      'DATABASE_UNREACHABLE',
      'Cannot connect to PostgreSQL at db.example:6432: database "shop" does not exist. Create it, or correct DATABASE_URL.',
    ],
    [
      '42501',
      'DATABASE_RIGHTS',
      'Cannot connect to PostgreSQL at db.example:6432: user "ana" may not connect to database "shop". Grant it CONNECT.',
    ],
    [
      '53300',
      'DATABASE_UNREACHABLE',
      'Cannot connect to PostgreSQL at db.example:6432: no free connection. Raise max_connections of the server.',
    ],
    [
      'ECONNREFUSED',
      'DATABASE_UNREACHABLE',
      'Cannot connect to PostgreSQL at db.example:6432: refused. Check that the server runs and that DATABASE_URL names it.',
    ],
  ])('says for %s what failed, why, and what to do', (code, ours, sentence) => {
    const error = Object.assign(new Error('refused'), { code });
    expect(explainConnectError(error, address)).toMatchObject({
      code: ours,
      disposition: 'dead',
      message: sentence,
      cause: error,
    });
  });
});

describe('addressOf', () => {
  it('fills in what a URL leaves out, as PostgreSQL does, and decodes the rest', () => {
    expect(addressOf('postgresql://an%40a@localhost/')).toEqual({
      server: 'localhost:5432',
      database: 'an@a',
      user: 'an@a',
    });
    expect(addressOf('postgresql://host')).toMatchObject({ server: 'host:5432', user: 'the current user' });
  });
});
