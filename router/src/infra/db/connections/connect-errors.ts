import { DatabaseError, type DatabaseErrorCode, errorCode, errorMessage } from '../database-errors.ts';

/** Parts of a database URL for messages; no password. */
export interface DatabaseAddress {
  /** Host and port. */
  server: string;
  database: string;
  user: string;
}

export function addressOf(text: string): DatabaseAddress {
  const url = new URL(text);
  return {
    server: `${url.hostname || 'localhost'}:${url.port || '5432'}`,
    database: decodeURIComponent(url.pathname.slice(1)) || decodeURIComponent(url.username),
    user: decodeURIComponent(url.username) || 'the current user',
  };
}

/** A failed connection in words for the operator. */
export function explainConnectError(error: unknown, address: DatabaseAddress): DatabaseError {
  const { server, database, user } = address;
  const fail = (code: DatabaseErrorCode, reason: string) =>
    new DatabaseError(code, `Cannot connect to PostgreSQL at ${server}: ${reason}`, { cause: error });
  switch (errorCode(error)) {
    case '28P01':
      return fail('DATABASE_RIGHTS', `password rejected for user "${user}". Check DATABASE_URL.`);
    case '28000':
      return fail(
        'DATABASE_RIGHTS',
        `user "${user}" rejected. Check DATABASE_URL and the server's pg_hba.conf.`,
      );
    case '3D000':
      return fail(
        'DATABASE_UNREACHABLE',
        `database "${database}" does not exist. Create it, or correct DATABASE_URL.`,
      );
    case '42501':
      return fail(
        'DATABASE_RIGHTS',
        `user "${user}" may not connect to database "${database}". Grant it CONNECT.`,
      );
    case '53300':
      return fail('DATABASE_UNREACHABLE', 'no free connection. Raise max_connections of the server.');
    default:
      return fail(
        'DATABASE_UNREACHABLE',
        `${errorMessage(error)}. Check that the server runs and that DATABASE_URL names it.`,
      );
  }
}
