import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { Logger } from '../../core/ports/logger.ts';
import { DatabaseError, errorCode, errorMessage } from './database-errors.ts';
import { holdInstanceLock } from './instance-lock.ts';
import { findPostgresBinaries, type PostgresBinaries } from './postgres-binaries.ts';
import {
  findFreePort,
  giveTo,
  mayBePostgres,
  readPidFile,
  removeHalfMade,
  removeStalePidFile,
  type ServerFolder,
  serverFolder,
} from './postgres-folder.ts';
import {
  createCluster,
  DATABASE_NAME,
  type LaunchedServer,
  launchServer,
  stopServerProcess,
} from './postgres-server.ts';
import { chooseServerUser, type ServerUser } from './postgres-user.ts';

/** Pause between two looks at a server that is starting or stopping. */
const POLL_MS = 20;

/** A server that recovers after a power cut may need minutes; one that does nothing is given up after this. */
const READY_TIMEOUT_MS = 300_000;

/** A process that holds the data folder and takes no connection is waited for this long. */
const SILENT_HOLDER_TIMEOUT_MS = 15_000;

/** Most launches in one start: a port taken in between, or the memory of a killed server not yet given back. */
const MAX_LAUNCHES = 10;

/** Open turns end quickly at a fast shutdown; after this the server is told to stop at once, and recovers later. */
const STOP_TIMEOUT_MS = 30_000;

/** Pause before the database is looked after again, once it was lost while wa2ai runs. */
const RECOVERY_PAUSE_MS = 500;

export interface EmbeddedPostgresOptions {
  /** wa2ai's data folder; the database lives in `postgres/` inside. Made when it is missing. */
  dataDir: string;
  log: Logger;
  /** Sentences for the person who waits, while something takes time. */
  onProgress?: (sentence: string) => void;
  /** PostgreSQL settings above the built-in ones, for tests. */
  settings?: Record<string, string>;
}

/** A running built-in database that this process alone uses. */
export interface EmbeddedPostgres {
  /** Holds the password: never for a log. Stays the same while this object is in use. */
  url: string;
  /** Stops the server after the transactions in flight; resolves when its process has ended. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts the PostgreSQL that comes with wa2ai, or takes over the one that a killed wa2ai left running. Looks after it
 * until `stop`: a server that dies meanwhile is started again on the same port.
 * @throws {DatabaseError} DATABASE_ALREADY_RUNNING: another live wa2ai uses this data folder · DATABASE_VERSION: the
 *   data was made by another major version · DATABASE_FOLDER: the folder cannot be used · DATABASE_START: PostgreSQL
 *   gave up, with its own last words · DATABASE_PLATFORM: there is none for this machine
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const supervisor = new PostgresSupervisor(options);
  await supervisor.start();
  return supervisor;
}

/** What a start ends with: a connection that our own password opened. */
interface Attached {
  client: pg.Client;
  pid: number;
  port: number;
}

class PostgresSupervisor implements EmbeddedPostgres {
  url = '';
  private readonly dataDir: string;
  private readonly folder: ServerFolder;
  private readonly log: Logger;
  private readonly onProgress: (sentence: string) => void;
  private readonly settings: Record<string, string>;
  private user: ServerUser | undefined;
  private binaries: PostgresBinaries | undefined;
  private password = '';
  private attached: Attached | undefined;
  private launched: LaunchedServer | undefined;
  private recovery: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;

  constructor({ dataDir, log, onProgress, settings }: EmbeddedPostgresOptions) {
    this.dataDir = resolve(dataDir);
    this.folder = serverFolder(join(this.dataDir, 'postgres'));
    this.log = log.child({ mod: 'postgres' });
    this.onProgress = onProgress ?? (() => undefined);
    this.settings = settings ?? {};
  }

  async start(): Promise<void> {
    await this.prepareFolder();
    const attached = await this.acquire({ mayMovePort: true });
    this.url = `postgresql://${DATABASE_NAME}:${this.password}@127.0.0.1:${attached.port}/${DATABASE_NAME}`;
    this.watch(attached);
  }

  stop(): Promise<void> {
    this.stopping ??= this.stopServer();
    return this.stopping;
  }

  private async prepareFolder(): Promise<void> {
    try {
      await mkdir(this.dataDir, { recursive: true });
      await removeHalfMade(this.dataDir, 'postgres.tmp-');
    } catch (error) {
      throw new DatabaseError(
        'DATABASE_FOLDER',
        `The data folder ${this.dataDir} cannot be used: ${errorMessage(error)}. Set WA2AI_DATA_DIR to a folder that this user may write.`,
        { cause: error },
      );
    }
    this.user = await chooseServerUser(this.folder.data, this.dataDir);
    this.binaries = await findPostgresBinaries(this.user, this.onProgress);
    if (!(await this.hasCluster())) await this.create(this.binaries);
    await this.checkVersion(this.binaries);
    await this.takePossession();
    this.password = await this.readPassword();
  }

  private async hasCluster(): Promise<boolean> {
    const found = await stat(this.folder.root).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    return found !== undefined;
  }

  /** Made under another name and renamed when it is complete, so that a kill leaves no half database behind. */
  private async create(binaries: PostgresBinaries): Promise<void> {
    this.onProgress('Creating the database (first start)');
    const name = `postgres.tmp-${process.pid}-${randomBytes(4).toString('hex')}`;
    const half = serverFolder(join(this.dataDir, name));
    try {
      await mkdir(half.root, { mode: 0o755 });
      await createCluster(half, binaries, this.user, randomBytes(24).toString('hex'));
      await rename(half.root, this.folder.root).catch(async (error: unknown) => {
        // another start was faster: its database is as good, and whose it is shows at the lock
        if (!(await this.hasCluster())) throw error;
      });
    } finally {
      await rm(half.root, { recursive: true, force: true });
    }
  }

  private async checkVersion(binaries: PostgresBinaries): Promise<void> {
    const text = await readFile(join(this.folder.data, 'PG_VERSION'), 'utf8').catch((error: unknown) => {
      throw new DatabaseError(
        'DATABASE_FOLDER',
        errorCode(error) === 'EACCES'
          ? `The database in ${this.folder.data} belongs to another user. Start wa2ai as the user who made it, or give the folder to this one.`
          : `${this.folder.root} holds no database (${errorCode(error) ?? 'unreadable'} on data/PG_VERSION). Move it away to start empty, or restore it from a backup.`,
        { cause: error },
      );
    });
    const major = Number.parseInt(text, 10);
    if (major === binaries.major) return;
    throw new DatabaseError(
      'DATABASE_VERSION',
      `The database in ${this.folder.data} was made by PostgreSQL ${text.trim()}, and this wa2ai brings PostgreSQL ${binaries.major}, which cannot read it. Start the wa2ai version that made it, or set WA2AI_DATA_DIR to another folder, or DATABASE_URL to a PostgreSQL server.`,
    );
  }

  /** A backup that root copied back belongs to root, and PostgreSQL opens only what belongs to its own user. */
  private async takePossession(): Promise<void> {
    if (this.user === undefined) return;
    const { uid } = await stat(this.folder.data);
    if (uid !== this.user.uid) await giveTo(this.user, this.folder.data);
  }

  private async readPassword(): Promise<string> {
    try {
      return (await readFile(this.folder.password, 'utf8')).trim();
    } catch (error) {
      throw new DatabaseError(
        'DATABASE_FOLDER',
        `The password of the database cannot be read from ${this.folder.password} (${errorCode(error)}). Start wa2ai as the user who made the data folder, or restore the file from a backup.`,
        { cause: error },
      );
    }
  }

  /** A connection that holds the lock of this data folder; the server is started when none answers. */
  private async acquire(options: { mayMovePort: boolean }): Promise<Attached> {
    for (let attempt = 1; ; attempt += 1) {
      const attached = await this.attach(options);
      try {
        await holdInstanceLock(attached.client, 'embedded', `the data folder ${this.dataDir}`);
        return attached;
      } catch (error) {
        await attached.client.end().catch(() => undefined);
        // the server may have been in the act of stopping, for a wa2ai that just ends: look again
        if (error instanceof DatabaseError || attempt === MAX_LAUNCHES) throw error;
      }
    }
  }

  /** Connects to the server of this folder, starting it first when none answers. */
  private async attach({ mayMovePort }: { mayMovePort: boolean }): Promise<Attached> {
    const beganMs = performance.now();
    let silentSinceMs: number | undefined;
    let launches = 0;
    while (this.stopping === undefined) {
      if (performance.now() - beganMs > READY_TIMEOUT_MS) {
        throw this.gaveUp(`it was not ready after ${READY_TIMEOUT_MS / 1000} s`);
      }
      const pidFile = await readPidFile(this.folder);
      const answer = pidFile?.port === undefined ? 'silent' : await this.connect(pidFile.port);
      if (typeof answer === 'object') {
        if (launches === 0)
          this.log.info({ pid: answer.pid }, 'took over the database that was left running');
        return answer;
      }
      const lastWords = this.launched?.ended();
      const isOurs = this.launched !== undefined && lastWords === undefined;
      if (answer === 'starting' || isOurs) {
        silentSinceMs = undefined;
      } else if (pidFile !== undefined && (await mayBePostgres(pidFile.pid))) {
        silentSinceMs ??= performance.now();
        if (performance.now() - silentSinceMs > SILENT_HOLDER_TIMEOUT_MS) {
          throw this.gaveUp(
            `process ${pidFile.pid} holds ${this.folder.data} and takes no connection; end that process first`,
          );
        }
      } else {
        if (launches === MAX_LAUNCHES) throw this.gaveUp(lastWords ?? 'it ended at once');
        if (launches > 0) await wait(launches * POLL_MS * 5);
        if (pidFile !== undefined) await removeStalePidFile(this.folder, pidFile);
        if (launches === 0) this.onProgress('Starting the database');
        launches += 1;
        await this.launch(mayMovePort);
      }
      await wait(POLL_MS);
    }
    throw this.gaveUp('it was told to stop');
  }

  private gaveUp(reason: string): DatabaseError {
    return new DatabaseError(
      'DATABASE_START',
      `The built-in database did not start: ${reason}. Its log is ${this.folder.log}.`,
    );
  }

  private async launch(mayMovePort: boolean): Promise<void> {
    if (this.binaries === undefined) throw new TypeError('launch before prepareFolder');
    const kept = Number(await readFile(this.folder.port, 'utf8').catch(() => '')) || undefined;
    const port = mayMovePort ? await findFreePort(kept) : (kept ?? (await findFreePort()));
    if (port !== kept) {
      await writeFile(this.folder.port, `${port}\n`, { mode: 0o600 });
      if (this.user) await chown(this.folder.port, this.user.uid, this.user.gid);
    }
    this.launched = await launchServer(this.folder, this.binaries, this.user, port, this.settings);
  }

  /**
   * `starting` also stands for a server that is stopping: both mean to look again. A server that refuses our password
   * is someone else's on a port that changed hands, as good as silence.
   */
  private async connect(port: number): Promise<Attached | 'starting' | 'silent'> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: DATABASE_NAME,
      password: this.password,
      database: DATABASE_NAME,
      application_name: `wa2ai ${process.pid}`,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    client.on('error', () => undefined); // `end` follows, and that is what is watched
    try {
      await client.connect();
      // only the server of this very folder can read this file: the id in it is safe to signal
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
    this.log.warn({}, 'the database connection broke; looking after the database');
    while (this.stopping === undefined) {
      try {
        const attached = await this.acquire({ mayMovePort: false });
        this.recovery = undefined;
        this.watch(attached);
        this.log.info({ pid: attached.pid }, 'the database is back');
        return;
      } catch (error) {
        if (this.stopping !== undefined) return;
        this.log.error({ err: error }, 'the database is not back yet');
        await wait(RECOVERY_PAUSE_MS);
      }
    }
  }

  private async stopServer(): Promise<void> {
    await this.recovery;
    const attached = this.attached;
    if (attached === undefined || this.binaries === undefined) return;
    const ended = new Promise((resolveEnd) => attached.client.once('end', resolveEnd));
    stopServerProcess(attached.pid, 'fast', this.folder, this.binaries);
    await Promise.race([ended, wait(STOP_TIMEOUT_MS, undefined, { ref: false })]);
    if (await this.isGoneWithin(attached.pid, STOP_TIMEOUT_MS)) return;
    this.log.warn(
      { pid: attached.pid },
      'the database did not stop in time; it will recover at the next start',
    );
    stopServerProcess(attached.pid, 'immediate', this.folder, this.binaries);
    await this.isGoneWithin(attached.pid, STOP_TIMEOUT_MS);
  }

  private async isGoneWithin(pid: number, timeoutMs: number): Promise<boolean> {
    const beganMs = performance.now();
    for (;;) {
      const pidFile = await readPidFile(this.folder);
      const isChildRunning = this.launched !== undefined && this.launched.ended() === undefined;
      if (pidFile?.pid !== pid && !isChildRunning) return true;
      if (performance.now() - beganMs > timeoutMs) return false;
      await wait(POLL_MS);
    }
  }
}
