import { createHash } from 'node:crypto';
import pg from 'pg';
import type { Sql } from 'sql-template-tag';
import { Changes } from '../../core/live/live-event.ts';
import type { ReplyFileStore } from '../../core/ports/media.ts';
import { createPostgresPool } from './connections/postgres-client.ts';
import { SecretCipher } from './encryption/secret-cipher.ts';

/** Distinct SQL texts that are prepared; further ones are sent unprepared. */
const MAX_PREPARED_STATEMENTS = 500;

/** The server ends a transaction that is idle for 15 s, so that a hung process keeps no row locked for longer. */
const SESSION_SETTINGS = "SET idle_in_transaction_session_timeout TO '15s'";

/** 64-bit integers as bigint; everything else as `pg` reads it. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid, format) =>
    oid === pg.types.builtins.INT8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format),
};

interface PostgresOptions {
  /** Maximum number of connections, from 1. Default 10. */
  poolSize?: number;
  /** Longest wait for a connection, in milliseconds. Default 5000. */
  connectTimeoutMs?: number;
  /** Encrypts the secrets that stores write. Default: without keys. */
  secrets?: SecretCipher;
  /** Where the files of replies are. Default: in the database. */
  files?: ReplyFileStore;
}

/** What a store needs of the database. Values of a statement are bound, never part of its text. */
export interface Statements {
  /** For values that are stored encrypted. */
  readonly secrets: SecretCipher;
  /** Where the files of replies are; absent: in the database. */
  readonly files?: ReplyFileStore;
  /** Where stores report what they have stored. */
  readonly changes: Pick<Changes, 'isWanted' | 'report'>;
  /**
   * @returns the rows
   * @throws pg's errors: a DatabaseError with its SQLSTATE in `code`, or a connection error
   */
  query<Row = unknown>(statement: Sql): Promise<Row[]>;
  /** @returns how many rows were written; throws as `query` does */
  execute(statement: Sql): Promise<number>;
}

/**
 * The connections of this process to the database: SQL statements through `pg`, prepared once per connection. Connects
 * with the first statement.
 */
export class Postgres implements Statements {
  readonly secrets: SecretCipher;
  readonly files?: ReplyFileStore;
  readonly changes = new Changes();
  readonly #pool: pg.Pool;
  #onError: (error: unknown) => void = ignore;
  readonly #names = new Map<string, string>();

  constructor(url: string, options: PostgresOptions = {}) {
    this.#pool = createPostgresPool(url, {
      name: `wa2ai ${process.pid} stores`,
      size: options.poolSize ?? 10,
      connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
      settings: SESSION_SETTINGS,
    });
    this.secrets = options.secrets ?? new SecretCipher();
    if (options.files) this.files = options.files;
  }

  /** Calls `listener` with every error of a statement or a connection, before it is thrown. */
  onError(listener: (error: unknown) => void): void {
    this.#onError = listener;
  }

  /** Opens connections before statements need them. Their errors appear with the statements. */
  connectAhead(connections: number): void {
    for (let number = 0; number < connections; number++) {
      this.#pool.connect().then((client) => client.release(), ignore);
    }
  }

  async query<Row = unknown>(statement: Sql): Promise<Row[]> {
    return (await this.#run(this.#pool, statement)).rows as Row[];
  }

  async execute(statement: Sql): Promise<number> {
    return (await this.#run(this.#pool, statement)).rowCount ?? 0;
  }

  /** Executes a statement of a library that writes its own SQL, in the form of `pg`. Throws as `query` does. */
  run(statement: pg.QueryConfig): Promise<pg.QueryResult> {
    return this.#reporting(() => this.#pool.query(statement));
  }

  /**
   * Resolves when the bytes of the statement are written to a connection: `pg` writes them before `query` returns, as
   * the connection is idle. The server executes them also when this process ends now. Throws as `query` does.
   * @returns `done`, which rejects when the statement fails; that may be ignored
   */
  async post(statement: Sql): Promise<{ done: Promise<void> }> {
    const client = await this.#connect();
    const done = this.#run(client, statement).then(() => undefined);
    const release = (error?: Error) => {
      client.off('error', ignore);
      client.release(error);
    };
    done.then(() => release(), release);
    return { done };
  }

  /** Runs `work` in one transaction on one connection; an error rolls it back and is thrown. */
  async transaction<T>(work: (transaction: Statements) => Promise<T>): Promise<T> {
    const client = await this.#connect();
    let isBroken = false;
    try {
      await client.query('BEGIN');
      const result = await work({
        secrets: this.secrets,
        // A report would come before the commit.
        changes: new Changes(),
        query: async <Row>(statement: Sql) => (await this.#run(client, statement)).rows as Row[],
        execute: async (statement) => (await this.#run(client, statement)).rowCount ?? 0,
      });
      await client.query('COMMIT');
      return result;
    } catch (error) {
      isBroken = await client.query('ROLLBACK').then(
        () => false,
        () => true,
      );
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(isBroken);
    }
  }

  /** Ends all connections when their statements have ended. Idempotent. */
  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  async #connect(): Promise<pg.PoolClient> {
    const client = await this.#reporting(() => this.#pool.connect());
    client.on('error', ignore); // the statement in flight rejects with the same error
    return client;
  }

  #run(on: pg.Pool | pg.PoolClient, { text, values }: Sql): Promise<pg.QueryResult> {
    return this.#reporting(() => on.query({ name: this.#nameOf(text), text, values, types }));
  }

  async #reporting<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#onError(error);
      throw error;
    }
  }

  /** The name under which a statement is prepared; undefined if too many are. */
  #nameOf(text: string): string | undefined {
    const known = this.#names.get(text);
    if (known !== undefined) return known;
    if (this.#names.size >= MAX_PREPARED_STATEMENTS) return undefined;
    const name = `wa2ai_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
    this.#names.set(text, name);
    return name;
  }
}

function ignore(): void {}
