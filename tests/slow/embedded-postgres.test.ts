import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, chown, cp, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Logger } from '../../router/src/core/logger.ts';
import {
  preparePostgres,
  type RunningPostgres,
  startEmbeddedPostgres,
} from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { findFreePort } from '../../router/src/infra/db/embedded/postgres-folder.ts';
import { launchServer } from '../../router/src/infra/db/embedded/postgres-server.ts';
import { applyMigrations } from '../../router/src/infra/db/upkeep/migrations.ts';
import { createTaskTables } from '../../router/src/infra/engine/create-task-tables.ts';
import type { ChildReport } from '../support/postgres-child.ts';
import { quietLog, recordingLog } from '../support/quiet-log.ts';
import { repositoryRoot } from '../support/repository.ts';
import { until } from '../support/until.ts';

const childProgram = join(import.meta.dirname, '../../dist/tests/support/postgres-child.js');
const isRoot = process.getuid?.() === 0;
const NOBODY = 65_534;

describe('startEmbeddedPostgres', () => {
  let parent: string;
  let dataDir: string;
  const children: ChildProcess[] = [];
  const servers: RunningPostgres[] = [];

  let made: string;

  beforeAll(async () => {
    if (!existsSync(childProgram)) throw new Error('run "npm run check" first: a built program is started');
    made = await mkdtemp(join(tmpdir(), 'wa2ai made '));
    await (await startEmbeddedPostgres({ dataDir: made, log: quietLog })).stop();
  });

  afterAll(() => rm(made, { recursive: true, force: true }));

  /** A database created once, so that most tests need not create one. */
  async function useMadeDatabase(): Promise<void> {
    await cp(join(made, 'postgres'), join(dataDir, 'postgres'), { recursive: true });
  }

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'wa2ai data '));
    dataDir = join(parent, 'data');
    await mkdir(dataDir);
    await chmod(parent, 0o755);
  });

  afterEach(async () => {
    for (const child of children.splice(0)) await end(child, 'SIGKILL');
    // a server that a killed child left running is taken over and stopped here
    if (servers.length === 0 && existsSync(join(dataDir, 'postgres', 'data', 'postmaster.pid'))) {
      await start().catch(() => undefined);
    }
    for (const server of servers.splice(0)) await server.stop();
    await rm(parent, { recursive: true, force: true });
  });

  async function start(log: Logger = quietLog): Promise<RunningPostgres> {
    const server = await startEmbeddedPostgres({ dataDir, log, settings: { fsync: 'off' } });
    servers.push(server);
    return server;
  }

  async function startChild(
    options: { uid?: number } = {},
  ): Promise<{ child: ChildProcess; report: ChildReport }> {
    const child = fork(childProgram, [dataDir], {
      ...(options.uid === undefined ? {} : { uid: options.uid, gid: options.uid }),
      stdio: 'inherit',
    });
    children.push(child);
    const [report] = (await once(child, 'message')) as [ChildReport];
    return { child, report };
  }

  async function end(child: ChildProcess, signal?: 'SIGKILL'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    if (signal) child.kill(signal);
    else child.send('stop');
    await exit;
  }

  async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  async function serverPid(): Promise<number> {
    return Number.parseInt(await readFile(join(dataDir, 'postgres/data/postmaster.pid'), 'utf8'), 10);
  }

  it('creates a durable database on loopback with a password, and keeps data over a restart', async () => {
    const log = recordingLog();
    const first = await startEmbeddedPostgres({ dataDir, log });
    servers.push(first);
    expect(log.lines.map(({ message }) => message)).toEqual([
      'creating the database',
      'starting the database',
    ]);
    const settings = await query(
      first.url,
      `SELECT name, setting FROM pg_settings
        WHERE name IN ('fsync', 'synchronous_commit', 'listen_addresses', 'password_encryption', 'server_encoding')`,
    );
    expect(Object.fromEntries(settings.map(({ name, setting }) => [name, setting]))).toEqual({
      fsync: 'on',
      synchronous_commit: 'on',
      listen_addresses: '127.0.0.1',
      password_encryption: 'scram-sha-256',
      server_encoding: 'UTF8',
    });
    await query(first.url, 'CREATE TABLE kept (id INT); INSERT INTO kept VALUES (7)');

    const wrong = new URL(first.url);
    wrong.password = 'guess';
    await expect(query(wrong.href, 'SELECT 1')).rejects.toMatchObject({ code: '28P01' });
    const password = await stat(join(dataDir, 'postgres/password'));
    expect(password.mode & 0o777).toBe(0o600);

    await first.stop();
    await expect(query(first.url, 'SELECT 1')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    const second = await start();
    expect(second.url).toBe(first.url);
    expect(await query(second.url, 'SELECT id FROM kept')).toEqual([{ id: 7 }]);
  });

  /** Owners of the database, its schemas, tables, views, sequences and functions, each once. */
  const OWNERS = `
    SELECT DISTINCT o.owner::regrole::text AS owner FROM (
      SELECT datdba AS owner FROM pg_database WHERE datname = current_database()
      UNION ALL SELECT nspowner FROM pg_namespace WHERE nspname = 'dbos'
      UNION ALL SELECT relowner FROM pg_class WHERE relnamespace::regnamespace::text IN ('public', 'dbos')
      UNION ALL SELECT proowner FROM pg_proc WHERE pronamespace::regnamespace::text IN ('public', 'dbos')
      UNION ALL SELECT typowner FROM pg_type WHERE typnamespace::regnamespace::text IN ('public', 'dbos')
    ) AS o`;

  it('is used by a role that may neither run programs, read files nor make roles and databases', async () => {
    await useMadeDatabase();
    const { url } = await start();
    for (const statement of [
      `COPY (SELECT 1) TO PROGRAM 'true'`,
      `SELECT pg_read_file('postmaster.pid')`,
      `SELECT * FROM pg_authid`,
      `CREATE ROLE other SUPERUSER`,
      `CREATE ROLE other`,
      `CREATE DATABASE other`,
      `ALTER ROLE wa2ai PASSWORD 'mine'`,
      `SET ROLE wa2ai`,
      `SET log_statement TO 'all'`,
      `CREATE FUNCTION f() RETURNS integer AS 'libc', 'getpid' LANGUAGE c`,
      `CREATE TABLE pg_catalog.mine (id INT)`,
    ]) {
      await expect(query(url, statement), statement).rejects.toMatchObject({ code: '42501' });
    }
    const file = await stat(join(dataDir, 'postgres/service-password'));
    expect(file.mode & 0o777).toBe(0o600);
  });

  it('starts with another password of its role when the file with it is lost or damaged', async () => {
    await useMadeDatabase();
    const path = join(dataDir, 'postgres/service-password');
    const passwords = new Set<string>();
    for (const damage of [() => rm(path), () => writeFile(path, `x' SUPERUSER --`), () => undefined]) {
      const server = await start();
      passwords.add(new URL(server.url).password);
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await server.stop();
      await damage();
    }
    expect(passwords.size).toBe(3);
    const again = await start();
    expect(passwords).toContain(new URL(again.url).password);
  });

  it('gives a database of an older wa2ai, whose service was superuser, to the role of the service', async () => {
    const prepared = await preparePostgres(dataDir, quietLog);
    const { folder, binaries, user, password } = prepared;
    const port = await findFreePort();
    const old = `postgresql://wa2ai:${password}@127.0.0.1:${port}/wa2ai`;
    const runOld = async (...works: Array<() => Promise<unknown>>) => {
      const server = await launchServer(folder, binaries, user, port, { fsync: 'off' });
      await until('the server', () => query(old, 'SELECT 1').catch(() => undefined), 30_000);
      for (const work of works) await work();
      process.kill(server.pid ?? 0, 'SIGINT');
      await until('its end', async () => server.ended() ?? undefined, 30_000);
    };
    await runOld(
      () => applyMigrations(old, join(repositoryRoot, 'prisma')),
      () => createTaskTables(old),
      () => query(old, `INSERT INTO account (id, updated_at) VALUES ('kept', now())`),
    );

    const { url, stop } = await started();
    expect(await query(url, OWNERS)).toEqual([{ owner: 'service' }]);
    expect(await query(url, 'SELECT id FROM account')).toEqual([{ id: 'kept' }]);
    // Replacing functions and changing tables needs their owner.
    await query(url, `UPDATE sql_functions SET sha256 = ''; ALTER TABLE account ADD COLUMN added INT`);
    await applyMigrations(url, join(repositoryRoot, 'prisma'));
    await createTaskTables(url);
    await stop();

    // The older version runs on it again, and makes something more.
    await runOld(() =>
      query(
        old,
        `CREATE TABLE more (id INT GENERATED ALWAYS AS IDENTITY, n SERIAL); CREATE VIEW one AS SELECT 1 AS one;
         CREATE SCHEMA other; CREATE SEQUENCE other.free; CREATE TYPE mood AS ENUM ('ok');
         CREATE FUNCTION two() RETURNS integer LANGUAGE sql AS 'SELECT 2'`,
      ),
    );
    const again = await started();
    expect(await query(again.url, OWNERS)).toEqual([{ owner: 'service' }]);
    await query(again.url, 'DROP TABLE more; DROP SCHEMA other CASCADE; DROP TYPE mood; DROP FUNCTION two');
    expect(await query(again.url, 'SELECT id FROM account')).toEqual([{ id: 'kept' }]);
    await again.stop();

    async function started() {
      const server = await start();
      return { url: server.url, stop: () => server.stop() };
    }
  });

  it('takes over the server that a killed wa2ai left running', async () => {
    await useMadeDatabase();
    const { child, report } = await startChild();
    expect(report).toMatchObject({ state: 'ready' });
    const pid = await serverPid();
    await end(child, 'SIGKILL');
    const log = recordingLog();
    const server = await start(log);
    expect(await serverPid()).toBe(pid);
    expect(log.lines.map(({ message }) => message)).toEqual(['took over a running database']);
    expect(server.url).toBe(report.state === 'ready' ? report.url : undefined);
    await server.stop();
    expect(existsSync(join(dataDir, 'postgres/data/postmaster.pid'))).toBe(false);
  });

  it('reports that another wa2ai is running, with its process id, and leaves its database unchanged', async () => {
    await useMadeDatabase();
    const { child, report } = await startChild();
    await expect(start()).rejects.toMatchObject({
      code: 'DATABASE_ALREADY_RUNNING',
      message: `wa2ai is already running on the data folder ${dataDir} (process ${child.pid}). Use that one, or stop it first.`,
    });
    const url = report.state === 'ready' ? report.url : '';
    expect(await query(url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    await end(child);
  });

  it('lets one of two first starts at the same time run, and refuses the other', async () => {
    const reports = (await Promise.all([startChild(), startChild()])).map(({ report }) => report);
    expect(reports.map(({ state }) => state).sort()).toEqual(['failed', 'ready']);
    expect(reports.find(({ state }) => state === 'failed')).toMatchObject({
      code: 'DATABASE_ALREADY_RUNNING',
    });
  });

  it('starts when the process id of a dead server now belongs to another program', async () => {
    await useMadeDatabase();
    const first = await start();
    await first.stop();
    const stale = `${process.pid}\n${dataDir}/postgres/data\n1700000000\n1\n\n127.0.0.1\n\n\n`;
    await writeFile(join(dataDir, 'postgres/data/postmaster.pid'), stale);
    const again = await start();
    expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('takes another port when its own was taken while it was down', async () => {
    await useMadeDatabase();
    const first = await start();
    await first.stop();
    const taken = createServer().listen(Number(new URL(first.url).port), '127.0.0.1');
    await once(taken, 'listening');
    const again = await start();
    expect(new URL(again.url).port).not.toBe(new URL(first.url).port);
    expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    taken.close();
  });

  it('restarts the server on the same port when it is killed under a running wa2ai', async () => {
    await useMadeDatabase();
    let tellBack = () => {};
    const backAgain = new Promise<void>((resolve) => {
      tellBack = resolve;
    });
    const log: Logger = {
      ...quietLog,
      info: (_fields, message) => message === 'database connected again' && tellBack(),
      child: () => log,
    };
    const server = await start(log);
    const pid = await serverPid();
    process.kill(pid, 'SIGKILL');
    await backAgain;
    expect(await serverPid()).not.toBe(pid);
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('quotes PostgreSQL when it does not start', async () => {
    await useMadeDatabase();
    await (await start()).stop();
    await writeFile(join(dataDir, 'postgres/data/pg_hba.conf'), 'nonsense\n');
    await expect(start()).rejects.toMatchObject({
      code: 'DATABASE_START',
      message: expect.stringMatching(/pg_hba\.conf/),
    });
  });

  describe.runIf(isRoot)('as root', () => {
    it('runs the server as another user', async () => {
      await useMadeDatabase();
      await start();
      expect((await stat(`/proc/${await serverPid()}`)).uid).not.toBe(0);
      expect((await stat(join(dataDir, 'postgres/data'))).uid).not.toBe(0);
    });

    it('works below a private folder that the other user cannot enter, and keeps its permissions', async () => {
      await chmod(parent, 0o700);
      const server = await start();
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await server.stop();
      await start();
      expect((await stat(parent)).mode & 0o777).toBe(0o700);
    });

    it('opens a database whose files root restored from a backup', async () => {
      await useMadeDatabase();
      await (await start()).stop();
      await chown(join(dataDir, 'postgres/data'), 0, 0);
      const server = await start();
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });

    it('runs as an ordinary user; root may take over and leaves the folder usable for that user', async () => {
      await chown(dataDir, NOBODY, NOBODY);
      const first = await startChild({ uid: NOBODY });
      expect(first.report).toMatchObject({ state: 'ready' });
      await end(first.child, 'SIGKILL');
      const server = await start();
      expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
      await server.stop();
      const again = await startChild({ uid: NOBODY });
      expect(again.report).toMatchObject({ state: 'ready' });
      await end(again.child);
    });

    it('refuses an ordinary user when the database belongs to another user', async () => {
      await useMadeDatabase();
      await chmod(join(dataDir, 'postgres'), 0o700);
      const { report } = await startChild({ uid: NOBODY });
      expect(report).toMatchObject({
        state: 'failed',
        code: 'DATABASE_FOLDER',
        message: expect.stringMatching(/belongs to another user/),
      });
    });
  });
});
