import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import pg from 'pg';
import sql from 'sql-template-tag';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Logger } from '../../router/src/core/logger.ts';
import { connectExternalPostgres } from '../../router/src/infra/db/connections/external-postgres.ts';
import type { RunningPostgres } from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { Postgres } from '../../router/src/infra/db/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { withIntruder } from '../support/foreign-lock.ts';
import { quietLog } from '../support/quiet-log.ts';
import { TransactionPooler } from '../support/transaction-pooler.ts';

describe('connectExternalPostgres', () => {
  let database: TestDatabase;
  let admin: pg.Client;
  const opened: RunningPostgres[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    admin = new pg.Client({ connectionString: database.url });
    await admin.connect();
  });

  afterEach(async () => {
    for (const one of opened.splice(0)) await one.stop();
  });

  afterAll(async () => {
    await admin.end();
    await database.drop();
  });

  async function open(change: (url: URL) => void = () => {}, nodeId = 'n1', log: Logger = quietLog) {
    const url = new URL(database.url);
    change(url);
    const external = await connectExternalPostgres({ url: url.href, nodeId, log, startTimeoutMs: 0 });
    opened.push(external);
    return external;
  }

  it('lets nodes of different names share a database, and only one node of each name', async () => {
    const first = await open();
    await open(undefined, 'n2');
    await expect(open()).rejects.toMatchObject({
      code: 'DATABASE_ALREADY_RUNNING',
      message: `wa2ai is already running on this database under the node name "n1" (process ${process.pid}). Use that one, or stop it first.`,
    });
    await first.stop();
    await open();
  });

  it('starts although another role has the lock of its name, and excludes a second process', async () => {
    await withIntruder(database, async (intruder) => {
      expect(await intruder.take(0x77613261, 'node n3')).toBe(true);
      await open(undefined, 'n3');
      await expect(open(undefined, 'n3')).rejects.toMatchObject({ code: 'DATABASE_ALREADY_RUNNING' });
    });
    await expect(open(undefined, 'n3')).rejects.toMatchObject({ code: 'DATABASE_ALREADY_RUNNING' });
  });

  it('takes its name again after the server ended the connection', async () => {
    let tellBack = () => {};
    const backAgain = new Promise<void>((resolve) => {
      tellBack = resolve;
    });
    const log: Logger = {
      ...quietLog,
      info: (_fields, message) => message === 'database connected again' && tellBack(),
      child: () => log,
    };
    await open(undefined, 'n1', log);
    await admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'wa2ai ${process.pid} lock'`,
    );
    await backAgain;
    await expect(open()).rejects.toMatchObject({ code: 'DATABASE_ALREADY_RUNNING' });
  });

  it('refuses a transaction pooler, and says what to use instead', async () => {
    const pooler = await TransactionPooler.before(database.url, 'transaction');
    try {
      const { host } = new URL(pooler.url);
      await expect(
        connectExternalPostgres({ url: pooler.url, nodeId: 'n1', log: quietLog }),
      ).rejects.toMatchObject({
        code: 'DATABASE_POOLER',
        message: expect.stringMatching(
          `DATABASE_URL names a pooler at ${host} .* Name the PostgreSQL server itself`,
        ),
      });
    } finally {
      await pooler.close();
    }
    // The node leaves no state in a session that other clients use later.
    await open();
  });

  it('works through a session pooler', async () => {
    const pooler = await TransactionPooler.before(database.url, 'session');
    const postgres = new Postgres(pooler.url);
    try {
      const external = await connectExternalPostgres({ url: pooler.url, nodeId: 'n1', log: quietLog });
      const [row] = await postgres.query(sql`
        SELECT current_setting('TimeZone') AS zone, current_setting('idle_in_transaction_session_timeout') AS idle`);
      expect(row).toEqual({ zone: 'UTC', idle: '15s' });
      await external.stop();
    } finally {
      await postgres.close();
      await pooler.close();
    }
  });

  it('reports that nothing listens at the address', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    await expect(
      open((url) => {
        url.port = String(port);
      }),
    ).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringContaining(
        `Cannot connect to PostgreSQL at 127.0.0.1:${port}: connect ECONNREFUSED`,
      ),
    });
  });

  it('reports a wrong password without showing it', async () => {
    const refused = open((url) => {
      url.password = 'guessed-secret';
    });
    await expect(refused).rejects.toMatchObject({
      code: 'DATABASE_RIGHTS',
      message: expect.stringMatching(
        /^Cannot connect to PostgreSQL at 127.0.0.1:\d+: password rejected for user "wa2ai". Check DATABASE_URL.$/,
      ),
    });
    await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('guessed-secret') });
  });

  it('reports that the database does not exist', async () => {
    await expect(
      open((url) => {
        url.pathname = '/no_such_database';
      }),
    ).rejects.toMatchObject({
      message: expect.stringMatching(/database "no_such_database" does not exist\. Create it/),
    });
  });

  it('refuses a database whose encoding cannot store every text', async () => {
    const name = `ascii_${process.hrtime.bigint()}`;
    await admin.query(
      `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LOCALE 'C'`,
    );
    try {
      await expect(
        open((url) => {
          url.pathname = `/${name}`;
        }),
      ).rejects.toMatchObject({
        message: expect.stringMatching(
          /its encoding is SQL_ASCII\. Create the database with ENCODING 'UTF8'/,
        ),
      });
    } finally {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
    }
  });

  it('refuses a user without the right to create the schemas', async () => {
    const role = `r${process.hrtime.bigint()}`;
    await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
    try {
      await expect(
        open((url) => {
          url.username = role;
          url.password = 'x';
        }),
      ).rejects.toMatchObject({
        code: 'DATABASE_RIGHTS',
        message: expect.stringMatching(/GRANT CREATE ON DATABASE/),
      });
    } finally {
      await admin.query(`DROP ROLE ${role}`);
    }
  });

  it('refuses a read-only database, and names the setting', async () => {
    const other = await createTestDatabase({ template: 'empty' });
    const name = new URL(other.url).pathname.slice(1);
    await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    try {
      await expect(
        open((url) => {
          url.pathname = `/${name}`;
        }),
      ).rejects.toMatchObject({
        code: 'DATABASE_RIGHTS',
        message: expect.stringMatching(/default_transaction_read_only is on/),
      });
    } finally {
      await other.drop();
    }
  });

  it('refuses a PostgreSQL older than 14', async () => {
    const server = await startOldServer();
    try {
      await expect(
        open((url) => {
          url.port = String((server.address() as AddressInfo).port);
        }),
      ).rejects.toMatchObject({
        code: 'DATABASE_VERSION',
        message: expect.stringMatching(/it is PostgreSQL 13\.22, and wa2ai needs 14 or newer/),
      });
    } finally {
      server.close();
    }
  });
});

/** Speaks the part of PostgreSQL's protocol (version 3, simple query) that the version query needs. */
async function startOldServer() {
  const message = (type: string, body: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeInt32BE(body.length + 4);
    return Buffer.concat([Buffer.from(type), length, body]);
  };
  const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
  const ready = message('Z', Buffer.from('I'));
  const fields = {
    version: '130022',
    name: '13.22',
    encoding: 'UTF8',
    isReplica: 'f',
    isReadOnly: 'f',
    mayCreate: 't',
  };
  const types = { version: 23, name: 25, encoding: 25, isReplica: 16, isReadOnly: 16, mayCreate: 16 };
  const columns = Object.keys(fields).map((name) => {
    const description = Buffer.alloc(18);
    description.writeInt32BE(types[name as keyof typeof types], 6);
    return Buffer.concat([Buffer.from(`${name}\0`), description]);
  });
  const values = Object.values(fields).map((value) =>
    Buffer.concat([Buffer.from([0, 0, 0, value.length]), Buffer.from(value)]),
  );
  const answer = Buffer.concat([
    message('T', Buffer.concat([int16(columns.length), ...columns])),
    message('D', Buffer.concat([int16(values.length), ...values])),
    message('C', Buffer.from('SELECT 1\0')),
    ready,
  ]);
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(Buffer.concat([message('R', Buffer.alloc(4)), ready]));
      socket.on('data', (data) => data.toString('latin1', 0, 1) === 'Q' && socket.write(answer));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
