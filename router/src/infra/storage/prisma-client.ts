import { createHash } from 'node:crypto';
import { PrismaPg } from '@prisma/adapter-pg';
import { PrismaClient } from './generated/client.ts';
import { createPostgresPool } from './postgres-pool.ts';
import { useRawStatements } from './raw-statements.ts';

/** Distinct SQL texts that one client keeps prepared; later ones are sent unprepared. */
const MAX_PREPARED_STATEMENTS = 500;

/** Prisma writes and reads times without their offset: on a server of another time zone they would be shifted. */
const SESSION_SETTINGS = "SET TimeZone TO 'UTC'; SET idle_in_transaction_session_timeout TO '15s'";

export interface PrismaClientOptions {
  /** Most connections this client opens, from 1. Default 10. */
  poolSize?: number;
  /** Longest wait for a connection, in milliseconds. Default 5000. */
  connectTimeoutMs?: number;
  /**
   * Statements are parsed once per connection. False behind a pooler that shares connections between transactions.
   * Default true.
   */
  prepareStatements?: boolean;
  /** Called when an idle connection breaks (database restarted); the pool replaces it by itself. */
  onConnectionLost?: (error: Error) => void;
  /** Told of every error of a raw statement, which is thrown all the same. */
  onStatementError?: (error: unknown) => void;
}

/**
 * A Prisma client over `pg` for the database at `url`. Connects at the first query; end it with `$disconnect()`.
 * A transaction left idle for 15 s is ended by the server, so that a hung process holds no row for longer. Raw
 * statements go straight to the same connections (raw-statements.ts).
 */
export function createPrismaClient(url: string, options: PrismaClientOptions = {}): PrismaClient {
  const pool = createPostgresPool(url, {
    name: 'wa2ai',
    size: options.poolSize ?? 10,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    settings: SESSION_SETTINGS,
    onConnectionLost: options.onConnectionLost,
  });
  const nameOf = options.prepareStatements === false ? () => '' : createStatementNames();
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { statementNameGenerator: nameOf }) });
  useRawStatements(prisma, pool, nameOf, options.onStatementError);
  const disconnect = prisma.$disconnect.bind(prisma);
  return Object.assign(prisma, {
    $disconnect: async () => {
      await disconnect();
      if (!pool.ending) await pool.end();
    },
  });
}

function createStatementNames(): (query: { sql: string }) => string {
  const names = new Map<string, string>();
  return ({ sql }) => {
    const known = names.get(sql);
    if (known !== undefined) return known;
    if (names.size >= MAX_PREPARED_STATEMENTS) return '';
    const name = `wa2ai_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
    names.set(sql, name);
    return name;
  };
}
