import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { preparePostgres } from '../../router/src/infra/db/embedded/embedded-postgres.ts';
import {
  findFreePort,
  readPidFile,
  removeStalePidFile,
} from '../../router/src/infra/db/embedded/postgres-folder.ts';
import { DATABASE_NAME, launchServer } from '../../router/src/infra/db/embedded/postgres-server.ts';
import { quietLog } from './quiet-log.ts';
import { until } from './until.ts';

type PreparedPostgres = Awaited<ReturnType<typeof preparePostgres>>;

/** A PostgreSQL for one test, which stays down until the test starts it again. */
export class BreakablePostgres {
  readonly url: string;
  readonly #prepared: PreparedPostgres;
  readonly #dataDir: string;
  readonly #port: number;

  private constructor(dataDir: string, prepared: PreparedPostgres, port: number) {
    this.#dataDir = dataDir;
    this.#prepared = prepared;
    this.#port = port;
    this.url = `postgresql://${DATABASE_NAME}:${prepared.password}@127.0.0.1:${port}/${DATABASE_NAME}`;
  }

  /** Creates an empty database in a temporary folder and starts its server with the settings of the embedded one. */
  static async start(): Promise<BreakablePostgres> {
    const dataDir = await mkdtemp(join(tmpdir(), 'wa2ai-breakable-'));
    const prepared = await preparePostgres(dataDir, quietLog);
    const postgres = new BreakablePostgres(dataDir, prepared, await findFreePort());
    await postgres.launch();
    return postgres;
  }

  /** Starts the server again, on the same port; resolves when it answers. */
  async launch(): Promise<void> {
    const { folder, binaries, user } = this.#prepared;
    const launchOnce = () => launchServer(folder, binaries, user, this.#port, { max_connections: '200' });
    const left = await readPidFile(folder);
    if (left) await removeStalePidFile(folder, left);
    let server = await launchOnce();
    await until(
      'PostgreSQL to answer',
      async () => {
        // processes of a killed server may use its shared memory for a moment
        if (server.ended() !== undefined) server = await launchOnce();
        return (await this.#answers()) || undefined;
      },
      60_000,
    );
  }

  /** Ends the server: `SIGKILL` as a crash, `SIGINT` as an operator's fast shutdown; resolves when its process has ended. */
  async end(signal: 'SIGKILL' | 'SIGINT'): Promise<void> {
    const { pid } = (await readPidFile(this.#prepared.folder)) ?? {};
    if (pid === undefined) return;
    process.kill(pid, signal);
    await until('PostgreSQL to be gone', async () => !isAlive(pid) || undefined, 60_000);
  }

  async remove(): Promise<void> {
    await this.end('SIGINT');
    await rm(this.#dataDir, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return true;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
