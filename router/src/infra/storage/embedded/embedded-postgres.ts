import { chown, readFile, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import pg from 'pg';
import type { StorageTroubleError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { DatabaseError, errorCode } from '../database-errors.ts';
import { fullDiskTrouble, orFullDisk } from '../upkeep/full-disk.ts';
import { holdInstanceLock } from './instance-lock.ts';
import { findFreePort, mayBePostgres, readPidFile, removeStalePidFile } from './postgres-folder.ts';
import { type PreparedPostgres, preparePostgres } from './postgres-preparation.ts';
import { DATABASE_NAME, type LaunchedServer, launchServer, stopServerProcess } from './postgres-server.ts';

/** Pause between two looks at a server that is starting or stopping. */
const POLL_MS = 20;

/** A server that recovers after a power cut may need minutes; one that does nothing is given up after this. */
const READY_TIMEOUT_MS = 300_000;

/** A process that holds the data folder and takes no connection is waited for this long. */
const SILENT_HOLDER_TIMEOUT_MS = 15_000;

/**
 * Last words after which another launch may do: a port taken in between, another start that was faster, processes of
 * a killed server that still hold its memory.
 */
const PASSING_FAILURE =
  /could not bind|could not create any TCP|lock file .* already exists|shared memory block/;
const MAX_LAUNCHES = 20;

/** Open turns end quickly at a fast shutdown; after this the server is told to stop at once, and recovers later. */
const STOP_TIMEOUT_MS = 30_000;

/** First and longest pause between two tries to get a lost database back while wa2ai runs. */
const RECOVERY_PAUSE_MS = 500;
const MAX_RECOVERY_PAUSE_MS = 15_000;

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
  /** What keeps a server that ended from coming back, when an operator has to mend it; undefined while it runs. */
  readonly trouble: StorageTroubleError | undefined;
  /** Stops the server after the transactions in flight; resolves when its process has ended. Idempotent. */
  stop(): Promise<void>;
  /** Tells the server to end, for a process that will not wait for it. Transactions in flight are rolled back. */
  abandon(): void;
}

/**
 * Starts the PostgreSQL that comes with wa2ai, or takes over the one that a killed wa2ai left running. Looks after it
 * until `stop`: a server that dies meanwhile is started again on the same port.
 * @throws {DatabaseError} DATABASE_ALREADY_RUNNING: another live wa2ai uses this data folder · DATABASE_VERSION: the
 *   data was made by another major version · DATABASE_FOLDER: the folder cannot be used · DATABASE_START: PostgreSQL
 *   gave up, with its own last words · DATABASE_FULL: the disk is · DATABASE_PLATFORM: there is none for this machine
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const dataDir = resolve(options.dataDir);
  const prepared = await preparePostgres(dataDir, options.onProgress ?? (() => undefined));
  const supervisor = new PostgresSupervisor(prepared, { ...options, dataDir });
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
  trouble: StorageTroubleError | undefined;
  private readonly dataDir: string;
  private readonly prepared: PreparedPostgres;
  private readonly log: Logger;
  private readonly onProgress: (sentence: string) => void;
  private readonly settings: Record<string, string>;
  private attached: Attached | undefined;
  private launched: LaunchedServer | undefined;
  private recovery: Promise<void> | undefined;
  private stopping: Promise<void> | undefined;
  private readonly stopSignal = new AbortController();

  constructor(prepared: PreparedPostgres, options: EmbeddedPostgresOptions) {
    this.dataDir = options.dataDir;
    this.prepared = prepared;
    this.log = options.log.child({ mod: 'postgres' });
    this.onProgress = options.onProgress ?? (() => undefined);
    this.settings = options.settings ?? {};
  }

  async start(): Promise<void> {
    const attached = await this.acquire({ mayMovePort: true }).catch(async (error: unknown) => {
      throw await orFullDisk(error, this.dataDir);
    });
    if (this.launched === undefined) {
      this.log.info({ pid: attached.pid }, 'took over the database that was left running');
    }
    this.url = `postgresql://${DATABASE_NAME}:${this.prepared.password}@127.0.0.1:${attached.port}/${DATABASE_NAME}`;
    this.watch(attached);
  }

  stop(): Promise<void> {
    this.stopping ??= this.stopServer();
    return this.stopping;
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
      const pidFile = await readPidFile(this.prepared.folder);
      const answer = pidFile?.port === undefined ? 'silent' : await this.connect(pidFile.port);
      if (typeof answer === 'object') return answer;
      const lastWords = this.launched?.ended();
      const isOurs = this.launched !== undefined && lastWords === undefined;
      if (answer === 'starting' || isOurs) {
        silentSinceMs = undefined;
      } else if (pidFile !== undefined && (await mayBePostgres(pidFile.pid))) {
        silentSinceMs ??= performance.now();
        if (performance.now() - silentSinceMs > SILENT_HOLDER_TIMEOUT_MS) {
          throw this.gaveUp(
            `process ${pidFile.pid} holds ${this.prepared.folder.data} and takes no connection; end that process first`,
          );
        }
      } else {
        // a server of an earlier start that has ended is what this start is about, not its failure
        if (launches > 0 && lastWords !== undefined) {
          if (launches === MAX_LAUNCHES || !PASSING_FAILURE.test(lastWords)) throw this.gaveUp(lastWords);
          await wait(launches * POLL_MS);
        }
        if (pidFile !== undefined) await removeStalePidFile(this.prepared.folder, pidFile);
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
      `The built-in database did not start: ${reason}. Its log is ${this.prepared.folder.log}.`,
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
   * `starting` also stands for a server that is stopping: both mean to look again. A server that refuses our password
   * is someone else's on a port that changed hands, as good as silence.
   */
  private async connect(port: number): Promise<Attached | 'starting' | 'silent'> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: DATABASE_NAME,
      password: this.prepared.password,
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
    for (let pauseMs = RECOVERY_PAUSE_MS; this.stopping === undefined; ) {
      try {
        const attached = await this.acquire({ mayMovePort: false });
        this.recovery = undefined;
        this.trouble = undefined;
        this.watch(attached);
        this.log.info({ pid: attached.pid }, 'the database is back');
        return;
      } catch (error) {
        if (this.stopping !== undefined) return;
        this.trouble = await fullDiskTrouble(error, this.dataDir);
        this.log.error({ err: error }, 'the database is not back yet');
        await wait(pauseMs, undefined, { signal: this.stopSignal.signal }).catch(() => undefined);
        pauseMs = Math.min(pauseMs * 2, MAX_RECOVERY_PAUSE_MS);
      }
    }
  }

  abandon(): void {
    const { folder, binaries } = this.prepared;
    if (this.pid !== undefined) stopServerProcess(this.pid, 'fast', folder, binaries);
  }

  /** Of the server, as long as it is known to run. */
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
    if (!(await this.isGoneWithin(pid, STOP_TIMEOUT_MS))) {
      this.log.warn({ pid }, 'the database did not stop in time; it will recover at the next start');
      stopServerProcess(pid, 'immediate', folder, binaries);
      await this.isGoneWithin(pid, STOP_TIMEOUT_MS);
    }
    await attached?.client.end().catch(() => undefined);
  }

  private async isGoneWithin(pid: number, timeoutMs: number): Promise<boolean> {
    const beganMs = performance.now();
    for (;;) {
      const pidFile = await readPidFile(this.prepared.folder);
      const isChildRunning = this.launched !== undefined && this.launched.ended() === undefined;
      if (pidFile?.pid !== pid && !isChildRunning) return true;
      if (performance.now() - beganMs > timeoutMs) return false;
      await wait(POLL_MS);
    }
  }
}
