import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { Nodes } from '../support/nodes.ts';
import { repositoryRoot } from '../support/repository.ts';
import { superuserUrl } from '../support/superuser.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import type { UsedCpu } from './bots.ts';
import { PRODUCTION, WITHOUT_LIMIT } from './bots.ts';
import type { BenchGround } from './ground.ts';
import { childrenOf, cpuSeconds } from './statistics.ts';

export interface ClusterOptions {
  names: readonly string[];
  /** WhatsApp accounts, each with a route for every chat. */
  accounts: number;
  env?: Record<string, string>;
  /** Switches for Node itself. */
  nodeArgs?: string[];
  /** The program; default: the built service, one bundle of which single modules cannot be replaced. */
  main?: string;
  /** The way from the nodes to their database, such as a tap; default: directly. */
  through?: (databaseUrl: string) => string;
}

/** The service with one file for each module, so that `nodeArgs` can replace one of them. */
export const UNBUNDLED = join(repositoryRoot, 'dist/router/src/main.js');

let databases = 0;
let phones = 0;

/** wa2ai as some nodes on a database of their own, paired, each account open. */
export class Cluster {
  readonly nodes: Nodes;
  readonly phones: readonly Phone[];
  /** The database of its nodes, without a tap. */
  readonly databaseUrl: string;
  readonly #processes: Set<Wa2aiProcess>;
  readonly #ground: BenchGround;

  private constructor(
    ground: BenchGround,
    databaseUrl: string,
    nodes: Nodes,
    phones: Phone[],
    processes: Set<Wa2aiProcess>,
  ) {
    this.databaseUrl = databaseUrl;
    this.#ground = ground;
    this.nodes = nodes;
    this.phones = phones;
    this.#processes = processes;
  }

  static async start(ground: BenchGround, options: ClusterOptions): Promise<Cluster> {
    const { emulator, agentUrl, postgres } = ground;
    const databaseUrl = await newDatabase(await superuserUrl(postgres.dataDir, postgres.url));
    const processes = new Set<Wa2aiProcess>();
    const nodes = new Nodes(emulator, async (name) => {
      const service = await Wa2aiProcess.start({
        whatsappWsUrl: emulator.url,
        databaseUrl: options.through?.(databaseUrl) ?? databaseUrl,
        nodeArgs: options.nodeArgs,
        main: options.main,
        env: {
          WA2AI_NODE_ID: name,
          ...PRODUCTION,
          ...options.env,
        },
      });
      processes.add(service);
      return service;
    });
    const made: Phone[] = [];
    const cluster = new Cluster(ground, databaseUrl, nodes, made, processes);
    await nodes.addAll(options.names);
    for (let index = 0; index < options.accounts; index++) {
      const id = index === 0 ? 'default' : `account-${index + 1}`;
      if (index > 0) await nodes.any().api('POST', '/api/accounts', { id: id });
      phones += 1;
      const phone = createPhone(emulator, { phone: `349${String(10_000_000 + phones)}` });
      await nodes.untilOwned(id);
      await nodes.pair(phone, id);
      await nodes.any().addRoute('*', agentUrl, { accountId: id });
      made.push(phone);
    }
    await nodes.any().api('PUT', '/api/settings/governor', WITHOUT_LIMIT);
    return cluster;
  }

  /** Processor time used so far by all nodes, and by the PostgreSQL of all measurements. */
  cpu(): UsedCpu {
    return {
      node: sum([...this.#processes].map(({ pid }) => cpuSeconds(pid))),
      postgres:
        cpuSeconds(serverPid(this.#ground), { withEnded: true }) +
        sum(childrenOf(serverPid(this.#ground)).map((pid) => cpuSeconds(pid))),
    };
  }

  async stop(): Promise<void> {
    await this.nodes.endAll('SIGKILL');
  }
}

async function newDatabase(ownerUrl: string): Promise<string> {
  databases += 1;
  const name = `bench_${databases}`;
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  await client.query(`CREATE DATABASE ${name} STRATEGY file_copy`);
  await client.end();
  const url = new URL(ownerUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** PostgreSQL's main process; its connections are its children. */
function serverPid({ postgres }: BenchGround): number {
  const pidFile = readFileSync(join(postgres.dataDir, 'postgres/data/postmaster.pid'), 'utf8');
  return Number(pidFile.split('\n')[0]);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
