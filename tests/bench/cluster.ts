import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { Nodes } from '../support/nodes.ts';
import { Wa2aiProcess } from '../support/wa2ai-process.ts';
import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import { createPhone, type Phone } from '../whatsapp-emulator/phone.ts';
import { cpuSeconds } from './statistics.ts';

/** The environment of the bench of several nodes. */
export interface BenchGround {
  emulator: WhatsAppEmulator;
  agentUrl: string;
  /** The PostgreSQL of all runs, as its owner. */
  postgres: { url: string; dataDir: string };
}

export interface ClusterOptions {
  names: readonly string[];
  /** WhatsApp accounts, each with a route for every chat. */
  accounts: number;
  env?: Record<string, string>;
  /** Arguments for Node.js. */
  nodeArgs?: string[];
}

let databases = 0;
let phones = 0;

/** Several wa2ai nodes on a new database, with each account paired and open. */
export class Cluster {
  readonly nodes: Nodes;
  readonly phones: readonly Phone[];
  readonly #processes: Set<Wa2aiProcess>;
  readonly #ground: BenchGround;

  private constructor(ground: BenchGround, nodes: Nodes, phones: Phone[], processes: Set<Wa2aiProcess>) {
    this.#ground = ground;
    this.nodes = nodes;
    this.phones = phones;
    this.#processes = processes;
  }

  static async start(ground: BenchGround, options: ClusterOptions): Promise<Cluster> {
    const { emulator, agentUrl, postgres } = ground;
    const databaseUrl = await newDatabase(postgres.url);
    const processes = new Set<Wa2aiProcess>();
    const nodes = new Nodes(emulator, async (name) => {
      const service = await Wa2aiProcess.start({
        whatsappWsUrl: emulator.url,
        databaseUrl,
        nodeArgs: options.nodeArgs,
        env: {
          WA2AI_NODE_ID: name,
          WA2AI_LOG_LEVEL: 'info',
          NODE_ENV: 'production',
          // The people of the bench answer at once, which the service would treat as an auto-reply loop.
          WA2AI_LOOP_TURNS: '0',
          ...options.env,
        },
      });
      processes.add(service);
      return service;
    });
    const made: Phone[] = [];
    const cluster = new Cluster(ground, nodes, made, processes);
    await nodes.addAll(options.names);
    for (let index = 0; index < options.accounts; index++) {
      const id = index === 0 ? 'default' : `account-${index + 1}`;
      if (index > 0) await nodes.any().api('POST', '/api/accounts', { id });
      phones += 1;
      const phone = createPhone(emulator, { phone: `349${String(10_000_000 + phones)}` });
      await nodes.untilOwned(id);
      await nodes.pair(phone, id);
      await nodes.any().addRoute('*', agentUrl, { accountId: id });
      made.push(phone);
    }
    return cluster;
  }

  /** Processor time used so far by the nodes and by PostgreSQL, in seconds. */
  cpuSeconds(): { nodes: number; postgres: number } {
    const pids = [...this.#processes].map(({ pid }) => pid);
    return { nodes: sum(pids.map(cpuOf)), postgres: sum(postgresPids(this.#ground).map(cpuOf)) };
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

/** The server and its connections (Linux). */
function postgresPids({ postgres }: BenchGround): number[] {
  const pidFile = readFileSync(join(postgres.dataDir, 'postgres/data/postmaster.pid'), 'utf8');
  const server = Number(pidFile.split('\n')[0]);
  const children = readFileSync(`/proc/${server}/task/${server}/children`, 'utf8');
  return [server, ...children.trim().split(/\s+/).filter(Boolean).map(Number)];
}

/** 0 for a process that has ended: a connection of PostgreSQL may end at any time. */
function cpuOf(pid: number): number {
  try {
    return cpuSeconds(pid);
  } catch {
    return 0;
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
