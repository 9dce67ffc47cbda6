import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { StorageTroubleError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { takeInstanceLock } from '../connections/node-connection.ts';
import { makeFolder } from '../files.ts';
import { DatabaseError, errorCode, errorMessage } from '../stores/storage-errors.ts';
import { fullDiskTrouble, orFullDisk } from '../upkeep/storage-check.ts';
import {
  chooseServerUser,
  findPostgresBinaries,
  type PostgresBinaries,
  type ServerUser,
} from './postgres-binaries.ts';
import {
  chownFolder,
  findFreePort,
  mayBePostgres,
  readPidFile,
  removeStalePidFile,
  removeUnfinished,
  type ServerFolder,
  serverFolder,
} from './postgres-folder.ts';
import {
  createCluster,
  DATABASE_NAME,
  type LaunchedServer,
  launchServer,
  prepareServiceRole,
  stopServerProcess,
} from './postgres-server.ts';

/** Pause between two checks of a server that is starting or stopping. */
const POLL_MS = 20;

/** A server that recovers after a power cut may need minutes. */
const READY_TIMEOUT_MS = 300_000;

/** How long to wait for a process that uses the data folder and accepts no connection. */
const SILENT_PROCESS_TIMEOUT_MS = 15_000;

/**
 * Messages after which another launch may succeed: the port was taken meanwhile, another start was faster, processes of a
 * killed server still use its shared memory.
 */
const TRANSIENT_FAILURE =
  /could not bind|could not create any TCP|lock file "[^"\n]*" already exists|shared memory block/;
const MAX_LAUNCHES = 20;

/** Limit of a fast shutdown; then the server is stopped immediately and recovers at its next start. */
const STOP_TIMEOUT_MS = 30_000;

/** First and longest pause between attempts to restart a lost server while wa2ai runs. */
const RECOVERY_PAUSE_MS = 500;
const MAX_RECOVERY_PAUSE_MS = 15_000;

interface EmbeddedPostgresOptions {
  /** wa2ai's data folder; the database is in `postgres/` inside. Created if it is missing. */
  dataDir: string;
  log: Logger;
  /** PostgreSQL settings that replace wa2ai's, for tests. */
  settings?: Record<string, string>;
  /** Called once the process of the server runs, or answers. */
  onServerStart?: (() => void) | undefined;
}

/** A running database that only this process uses under its node's name; an external server is never stopped. */
export interface RunningPostgres {
  /** Of the role that the service uses. Contains the password: never log it. Does not change while this object is in use. */
  url: string;
  /** Why a server that ended cannot be restarted until an operator acts; undefined while it runs. */
  readonly trouble: StorageTroubleError | undefined;
  /** Stops the server; resolves when its process has ended. Transactions in flight are rolled back. Idempotent. */
  stop(): Promise<void>;
  /** Stops the server without waiting for its end. Transactions in flight are rolled back. */
  abandon(): void;
}

/**
 * Starts the PostgreSQL that is installed with wa2ai, or takes over the one that a killed wa2ai left running. Supervises it
 * until `stop`: a server that ends unexpectedly is restarted on the same port.
 * @throws {DatabaseError} DATABASE_ALREADY_RUNNING: another running wa2ai uses this data folder · DATABASE_VERSION: the
 *   data is of another major version · DATABASE_FOLDER: the folder cannot be used · DATABASE_START: PostgreSQL does not
 *   start, with its message · DATABASE_FULL: the disk is full · DATABASE_PLATFORM: no PostgreSQL for this platform
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<RunningPostgres> {
  const dataDir = resolve(options.dataDir);
  const prepared = await preparePostgres(dataDir, options.log.child({ mod: 'postgres' }));
  const supervisor = new PostgresSupervisor(prepared, { ...options, dataDir });
  await supervisor.start();
  return supervisor;
}

/** The result of a start: a connection that our own password opened. */
interface Attached {
  client: pg.Client;
  pid: number;
  port: number;
}

class PostgresSupervisor implements RunningPostgres {
  url = '';
  trouble: StorageTroubleError | undefined;
  private readonly dataDir: string;
  private readonly prepared: PreparedPostgres;
  private readonly log: Logger;
  private readonly settings: Record<string, string>;
  private attached: Attached | undefined;
  private launched: LaunchedServer | undefined;
  private recovery: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;
  private readonly onServerStart: () => void;
  private readonly stopSignal = new AbortController();

  constructor(prepared: PreparedPostgres, options: EmbeddedPostgresOptions) {
    this.dataDir = options.dataDir;
    this.prepared = prepared;
    this.log = options.log.child({ mod: 'postgres' });
    this.settings = options.settings ?? {};
    this.onServerStart = options.onServerStart ?? (() => undefined);
  }

  async start(): Promise<void> {
    const attached = await this.acquire({ mayMovePort: true }).catch(async (error: unknown) => {
      throw await orFullDisk(error, this.dataDir);
    });
    if (this.launched === undefined) {
      this.log.info({ pid: attached.pid }, 'took over a running database');
    }
    const { folder, user } = this.prepared;
    this.watch(attached);
    try {
      this.url = await prepareServiceRole(attached.client, folder, user, attached.port);
    } catch (error) {
      await this.stop();
      const failure = this.startFailure(
        `its role for wa2ai cannot be prepared (${errorMessage(error)})`,
        error,
      );
      throw await orFullDisk(failure, this.dataDir);
    }
  }

  stop(): Promise<void> {
    this.stopping ??= this.stopServer();
    return this.stopping;
  }

  /** Returns a connection that has the lock of this data folder; starts the server if none answers. */
  private async acquire(options: { mayMovePort: boolean }): Promise<Attached> {
    for (let attempt = 1; ; attempt += 1) {
      const attached = await this.attach(options);
      try {
        await takeInstanceLock(attached.client, 'embedded', `the data folder ${this.dataDir}`);
        return attached;
      } catch (error) {
        await attached.client.end().catch(() => undefined);
        // the server may have been stopping with a wa2ai that just ends: check again
        if (error instanceof DatabaseError || attempt === MAX_LAUNCHES) throw error;
      }
    }
  }

  /** Connects to the server of this folder; starts it if none answers. */
  private async attach({ mayMovePort }: { mayMovePort: boolean }): Promise<Attached> {
    const startedMs = performance.now();
    let silentSinceMs: number | undefined;
    let launches = 0;
    while (this.stopping === undefined) {
      if (performance.now() - startedMs > READY_TIMEOUT_MS) {
        throw this.startFailure(`it was not ready after ${READY_TIMEOUT_MS / 1000} s`);
      }
      const pidFile = await readPidFile(this.prepared.folder);
      const reply = pidFile?.port === undefined ? 'silent' : await this.connect(pidFile.port);
      if (typeof reply === 'object') return reply;
      if (reply === 'starting') this.onServerStart();
      const failure = this.launched?.ended();
      const isOurs = this.launched !== undefined && failure === undefined;
      if (reply === 'starting' || isOurs) {
        silentSinceMs = undefined;
      } else if (pidFile !== undefined && (await mayBePostgres(pidFile.pid))) {
        silentSinceMs ??= performance.now();
        if (performance.now() - silentSinceMs > SILENT_PROCESS_TIMEOUT_MS) {
          throw this.startFailure(
            `process ${pidFile.pid} uses ${this.prepared.folder.data} and accepts no connection; end that process first`,
          );
        }
      } else {
        // the server of an earlier start has ended: that is not a failure of this start
        if (launches > 0 && failure !== undefined) {
          if (launches === MAX_LAUNCHES || !TRANSIENT_FAILURE.test(failure)) throw this.startFailure(failure);
          await wait(launches * POLL_MS);
        }
        if (pidFile !== undefined) await removeStalePidFile(this.prepared.folder, pidFile);
        if (launches === 0) this.log.info({}, 'starting the database');
        launches += 1;
        await this.launch(mayMovePort);
        this.onServerStart();
      }
      await wait(POLL_MS);
    }
    throw this.startFailure('wa2ai is stopping');
  }

  private startFailure(reason: string, cause?: unknown): DatabaseError {
    return new DatabaseError(
      'DATABASE_START',
      `The embedded database did not start: ${reason}. Its log is ${this.prepared.folder.log}.`,
      { cause },
    );
  }

  private async launch(mayMovePort: boolean): Promise<void> {
    const { folder, binaries, user } = this.prepared;
    const kept = Number(await readFile(folder.port, 'utf8').catch(() => '')) || undefined;
    const port = kept !== undefined && !mayMovePort ? kept : await findFreePort(kept);
    if (port !== kept) {
      await writeFile(folder.port, `${port}\n`, { mode: 0o600 });
      if (user) await chown(folder.port, user.uid, user.gid);
    }
    this.launched = await launchServer(folder, binaries, user, port, this.settings);
  }

  /**
   * `starting` also means a server that is stopping: check again in both cases. A server that rejects our password is
   * another program's on a reused port, so it counts as `silent`.
   */
  private async connect(port: number): Promise<Attached | 'starting' | 'silent'> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: DATABASE_NAME,
      password: this.prepared.password,
      database: DATABASE_NAME,
      application_name: `wa2ai ${process.pid} lock`,
      // The service owns the schemas of the database, so no name of theirs may stand for one of PostgreSQL.
      options: '-c search_path=pg_catalog',
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    client.on('error', () => undefined); // `end` follows, and that is what is watched
    try {
      await client.connect();
      // only the server of this folder can read this file, so the process id in it is safe to signal
      const result = await client.query<{ text: string }>("SELECT pg_read_file('postmaster.pid') AS text");
      return { client, port, pid: Number.parseInt(result.rows[0]?.text ?? '', 10) };
    } catch (error) {
      await client.end().catch(() => undefined);
      return errorCode(error) === '57P03' ? 'starting' : 'silent';
    }
  }

  private watch(attached: Attached): void {
    this.attached = attached;
    attached.client.once('end', () => {
      this.attached = undefined;
      if (this.stopping === undefined) this.recovery ??= this.recover();
    });
  }

  private async recover(): Promise<void> {
    this.log.warn({}, 'database connection lost, restarting the database if it has ended');
    for (let pauseMs = RECOVERY_PAUSE_MS; this.stopping === undefined; ) {
      try {
        const attached = await this.acquire({ mayMovePort: false });
        this.recovery = undefined;
        this.trouble = undefined;
        this.watch(attached);
        this.log.info({ pid: attached.pid }, 'database connected again');
        return;
      } catch (error) {
        if (this.stopping !== undefined) return;
        this.trouble = await fullDiskTrouble(error, this.dataDir);
        this.log.error({ err: error }, 'cannot restart the database, retrying');
        await wait(pauseMs, undefined, { signal: this.stopSignal.signal }).catch(() => undefined);
        pauseMs = Math.min(pauseMs * 2, MAX_RECOVERY_PAUSE_MS);
      }
    }
  }

  abandon(): void {
    const { folder, binaries } = this.prepared;
    if (this.pid !== undefined) stopServerProcess(this.pid, 'fast', folder, binaries);
  }

  /** Process id of the server while it is known to run. */
  private get pid(): number | undefined {
    if (this.attached === undefined && this.launched?.ended() !== undefined) return undefined;
    return this.attached?.pid ?? this.launched?.pid;
  }

  private async stopServer(): Promise<void> {
    this.stopSignal.abort();
    await this.recovery;
    const { attached, pid } = this;
    if (pid === undefined) return;
    const { folder, binaries } = this.prepared;
    this.abandon();
    if (!(await this.hasEndedWithin(pid, STOP_TIMEOUT_MS))) {
      this.log.warn({ pid }, 'database did not stop in time, it will recover at the next start');
      stopServerProcess(pid, 'immediate', folder, binaries);
      await this.hasEndedWithin(pid, STOP_TIMEOUT_MS);
    }
    await attached?.client.end().catch(() => undefined);
  }

  private async hasEndedWithin(pid: number, timeoutMs: number): Promise<boolean> {
    const startedMs = performance.now();
    for (;;) {
      const pidFile = await readPidFile(this.prepared.folder);
      const isChildRunning = this.launched !== undefined && this.launched.ended() === undefined;
      if (pidFile?.pid !== pid && !isChildRunning) return true;
      if (performance.now() - startedMs > timeoutMs) return false;
      await wait(POLL_MS);
    }
  }
}

/** What a start of the embedded server needs. */
interface PreparedPostgres {
  folder: ServerFolder;
  binaries: PostgresBinaries;
  /** The user that the server runs as, if that is not the user of this process. */
  user: ServerUser | undefined;
  password: string;
}

/** Folders of unfinished first starts are named `postgres.tmp-<process id>-<random>`. */
const UNFINISHED_PREFIX = 'postgres.tmp-';

/**
 * Creates the database in `<dataDir>/postgres` if there is none, and checks that this wa2ai can use it. Leaves no process
 * running. Concurrent calls create one database.
 * @throws {DatabaseError} DATABASE_FOLDER · DATABASE_FULL · DATABASE_VERSION · DATABASE_START · DATABASE_PLATFORM
 */
export async function preparePostgres(dataDir: string, log: Logger): Promise<PreparedPostgres> {
  const folder = serverFolder(join(dataDir, 'postgres'));
  await makeDataDir(dataDir);
  const user = await chooseServerUser(folder.data, dataDir);
  const binaries = await findPostgresBinaries(user, log);
  if (!(await exists(folder.root))) {
    log.info({ folder: folder.root }, 'creating the database');
    await create(dataDir, folder, binaries, user);
  }
  await checkVersion(folder, binaries);
  if (user) await chownData(folder, user);
  return { folder, binaries, user, password: await readPassword(folder) };
}

async function makeDataDir(dataDir: string): Promise<void> {
  try {
    await makeFolder(dataDir);
    await removeUnfinished(dataDir, UNFINISHED_PREFIX);
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The data folder ${dataDir} cannot be used: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write.`,
      { cause: error },
    );
  }
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}

/** Created under another name and renamed when it is complete, so that a kill leaves no incomplete database. */
async function create(
  dataDir: string,
  folder: ServerFolder,
  binaries: PostgresBinaries,
  user: ServerUser | undefined,
): Promise<void> {
  const name = `${UNFINISHED_PREFIX}${process.pid}-${randomBytes(4).toString('hex')}`;
  const draft = serverFolder(join(dataDir, name));
  try {
    await makeDraft(draft);
    await createCluster(draft, binaries, user, randomBytes(24).toString('hex'));
    await rename(draft.root, folder.root).catch(async (error: unknown) => {
      // another start was faster; the instance lock decides which one uses the database
      if (!(await exists(folder.root))) throw error;
    });
  } catch (error) {
    throw await orFullDisk(error, dataDir);
  } finally {
    await rm(draft.root, { recursive: true, force: true });
  }
}

async function makeDraft(draft: ServerFolder): Promise<void> {
  try {
    await mkdir(draft.root, { mode: 0o755 });
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The database cannot be created in the data folder: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write.`,
      { cause: error },
    );
  }
}

async function checkVersion(folder: ServerFolder, binaries: PostgresBinaries): Promise<void> {
  const text = await readFile(join(folder.data, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      errorCode(error) === 'EACCES'
        ? `The database in ${folder.root} belongs to another user. Start wa2ai as that user, or change the owner of the folder.`
        : `${folder.root} contains no database (${errorCode(error) ?? 'unreadable'} on data/PG_VERSION). Restore it from a backup, or move it away to start with an empty one.`,
      { cause: error },
    );
  });
  if (Number.parseInt(text, 10) === binaries.major) return;
  throw new DatabaseError(
    'DATABASE_VERSION',
    `The database in ${folder.root} is of PostgreSQL ${text.trim()}, and this wa2ai has PostgreSQL ${binaries.major}, which cannot read it. Start the wa2ai version that created it, or set WA2AI_DATA_DIR to another folder, or DATABASE_URL to a PostgreSQL server.`,
  );
}

/** A backup restored by root belongs to root, and PostgreSQL opens only files that its user owns. */
async function chownData(folder: ServerFolder, user: ServerUser): Promise<void> {
  const { uid } = await stat(folder.data);
  if (uid !== user.uid) await chownFolder(user, folder.data);
}

async function readPassword(folder: ServerFolder): Promise<string> {
  try {
    return (await readFile(folder.password, 'utf8')).trim();
  } catch (error) {
    throw new DatabaseError(
      'DATABASE_FOLDER',
      `The password of the database cannot be read from ${folder.password} (${errorCode(error)}). Start wa2ai as the user who owns the data folder, or restore the file from a backup.`,
      { cause: error },
    );
  }
}
