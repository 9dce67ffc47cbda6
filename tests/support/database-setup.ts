import { mkdtemp, readdir, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import {
  type RunningPostgres,
  startEmbeddedPostgres,
} from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import { applyMigrations } from '../../router/src/infra/db/upkeep/migrations.ts';
import { quietLog } from './quiet-log.ts';
import { superuserUrl } from './superuser.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** Superuser's connection to the run's PostgreSQL; only tests/support/database.ts uses it. */
    adminDatabaseUrl: string;
  }
}

/** A migrated database that test databases are copied from. */
export const TEMPLATE_NAME = 'wa2ai_template';

const FOLDER_PREFIX = 'wa2ai-test-run-';

/**
 * Linux keeps its files in memory. Who names a folder for temporary files gets it instead: tests with an engine of their own have their own
 * process ids, too, and would take the servers of others for dead.
 */
const MEMORY_FOLDER = process.env.TMPDIR === undefined ? '/dev/shm' : undefined;
/** Several times what the databases of a whole run take. */
const ROOM_BYTES = 4e9;

interface Run {
  users: number;
  started: Promise<StartedRun>;
}

interface StartedRun {
  folder: string;
  postgres: RunningPostgres;
  adminUrl: string;
}

/** Every Vitest project loads its own copy of this module; the server is one for the process. */
const shared = globalThis as typeof globalThis & { wa2aiTestRun?: Run };

/** Vitest's global setup: one PostgreSQL for the whole run, stopped and removed by the last project that ends. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  shared.wa2aiTestRun ??= { users: 0, started: start() };
  const run = shared.wa2aiTestRun;
  run.users += 1;
  const { postgres, adminUrl } = await run.started;
  project.provide('adminDatabaseUrl', adminUrl);
  return async () => {
    run.users -= 1;
    if (run.users > 0) return;
    shared.wa2aiTestRun = undefined;
    const { folder } = await run.started;
    await postgres.stop();
    await rm(folder, { recursive: true, force: true });
  };
}

async function start(): Promise<StartedRun> {
  await removeLeftBehind();
  const parent = MEMORY_FOLDER && (await hasRoom(MEMORY_FOLDER)) ? MEMORY_FOLDER : tmpdir();
  const folder = await mkdtemp(join(parent, `${FOLDER_PREFIX}${process.pid}-`));
  const postgres = await startEmbeddedPostgres({
    dataDir: folder,
    log: quietLog,
    // nothing here outlives the run: speed before durability
    settings: { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '300' },
  });
  const adminUrl = await superuserUrl(folder, postgres.url);
  await makeTemplate(adminUrl);
  return { folder, postgres, adminUrl };
}

async function hasRoom(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize > ROOM_BYTES;
  } catch {
    return false;
  }
}

async function makeTemplate(adminUrl: string): Promise<void> {
  const admin = new pg.Client({ connectionString: adminUrl });
  await admin.connect();
  await admin.query(`CREATE DATABASE ${TEMPLATE_NAME} STRATEGY file_copy`);
  await admin.end();
  const url = new URL(adminUrl);
  url.pathname = `/${TEMPLATE_NAME}`;
  await applyMigrations(url.href, join(import.meta.dirname, '../../prisma'));
}

/** Stops the server that a killed test run left running, after taking it over as wa2ai would. */
async function removeLeftBehind(): Promise<void> {
  const parents = [tmpdir(), ...(MEMORY_FOLDER ? [MEMORY_FOLDER] : [])];
  for (const folder of (await Promise.all(parents.map(runsIn))).flat()) {
    if (isAlive(Number(basename(folder).slice(FOLDER_PREFIX.length).split('-')[0]))) continue;
    try {
      const postgres = await startEmbeddedPostgres({ dataDir: folder, log: quietLog });
      await postgres.stop();
      await rm(folder, { recursive: true, force: true });
    } catch {
      // another user's folder, or partly removed: not this run's to repair
    }
  }
}

/** The folders of test runs in a folder, which may be missing. */
async function runsIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => name.startsWith(FOLDER_PREFIX)).map((name) => join(folder, name));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
