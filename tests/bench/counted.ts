import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import pg from 'pg';
import { repositoryRoot } from '../support/repository.ts';
import type { Wa2aiProcess } from '../support/wa2ai-process.ts';
import { Cluster } from './cluster.ts';
import { withGround } from './ground.ts';
import type { InsideCounts } from './inside-node.ts';
import { oneByOne } from './load.ts';
import { chatsWith } from './round.ts';
import { StatementTap } from './statement-tap.ts';

/** Work that is counted, not timed: a busy or slow machine gives the same numbers. */
interface CountedWork {
  statementsPerMessage: number;
  commitsPerMessage: number;
  /** Bytes that PostgreSQL writes to its write-ahead log. */
  walBytesPerMessage: number;
  /** What V8 allocates on its heap, in KB. */
  allocatedKbPerMessage: number;
  timersPerIdleMinute: number;
  statementsPerIdleMinute: number;
  /** With those that the first messages load. */
  modulesLoaded: number;
}

/** The most that may be counted; a change that lowers a count lowers its budget too. */
const BUDGETS_FILE = join(repositoryRoot, 'tests/bench/budgets.json');
const MESSAGES = 300;
const CHATS = 10;
const SETTLE_SECONDS = 10;
/** What the node does once a minute is counted once, whenever the window begins. */
const IDLE_SECONDS = 60;

/** Counts the work of messages that come one by one, and of a node without any. */
async function countWork(): Promise<CountedWork> {
  let counted: CountedWork | undefined;
  await withGround(async (ground) => {
    const tap = await StatementTap.before(ground.postgres.url);
    const cluster = await Cluster.start(ground, {
      names: ['n1'],
      accounts: 1,
      through: (url) => tap.through(url),
      env: { BENCH_COUNTS: '1' },
      nodeArgs: [
        '--trace-gc',
        '--import',
        pathToFileURL(join(repositoryRoot, 'dist/tests/bench/inside-node.js')).href,
      ],
    });
    const service = cluster.nodes.node('n1');
    const chats = chatsWith(
      ground,
      CHATS,
      cluster.phones.map(({ pn }) => pn),
    );
    await oneByOne(chats, MESSAGES);
    // what is loaded when it is first needed is loaded now
    const { modules } = await insideCounts(service);
    const database = new pg.Client({ connectionString: cluster.databaseUrl });
    await database.connect();
    const look = async () => ({
      ...(await databaseCounts(database)),
      timers: (await insideCounts(service)).timers,
      allocatedKb: allocatedKb(service.output),
      statements: tap.take().length,
      atMs: performance.now(),
    });
    await look();
    const before = await look();
    const { lost } = await oneByOne(chats, MESSAGES);
    const loaded = await look();
    // marks and retries of the last messages end in it
    await wait(SETTLE_SECONDS * 1_000);
    const settled = await look();
    await wait(IDLE_SECONDS * 1_000);
    const idle = await look();
    await database.end();
    await cluster.stop();
    tap.stop();
    if (lost > 0) throw new Error(`${lost} of ${MESSAGES} messages got no answer`);
    const perMinute = (later: number) => (later / (idle.atMs - settled.atMs)) * 60_000;
    // what the node does without messages too is not theirs
    const share = (loaded.atMs - before.atMs) / (idle.atMs - settled.atMs);
    const perMessage = (during: number, without: number) => (during - without * share) / MESSAGES;
    counted = {
      statementsPerMessage: perMessage(loaded.statements, idle.statements),
      commitsPerMessage: perMessage(loaded.commits - before.commits, idle.commits - settled.commits),
      walBytesPerMessage: perMessage(loaded.walBytes - before.walBytes, idle.walBytes - settled.walBytes),
      allocatedKbPerMessage: perMessage(
        loaded.allocatedKb - before.allocatedKb,
        idle.allocatedKb - settled.allocatedKb,
      ),
      timersPerIdleMinute: perMinute(idle.timers - settled.timers),
      statementsPerIdleMinute: perMinute(idle.statements),
      modulesLoaded: modules,
    };
  });
  if (counted === undefined) throw new Error('nothing was counted');
  return counted;
}

/** Prints each count beside its budget; whether none is above it. */
export async function checkCounts(): Promise<{ passed: number; failed: number }> {
  const budgets = JSON.parse(readFileSync(BUDGETS_FILE, 'utf8')) as CountedWork;
  const counted = await countWork();
  let failed = 0;
  const names = Object.keys(budgets) as Array<keyof CountedWork>;
  for (const name of names) {
    const isWithin = counted[name] <= budgets[name];
    if (!isWithin) failed += 1;
    const verdict = isWithin ? 'ok  ' : 'MORE';
    console.log(
      `${verdict}  ${name.padEnd(26)} ${counted[name].toFixed(1).padStart(9)}  budget ${budgets[name]}`,
    );
  }
  if (failed > 0) {
    console.log(
      'More work than the budget: find the change that adds it, or raise tests/bench/budgets.json and say why.',
    );
  }
  return { passed: names.length - failed, failed };
}

/** Asks the node; see inside-node.ts. */
export async function insideCounts(service: Wa2aiProcess): Promise<InsideCounts> {
  const from = service.lines.length;
  process.kill(service.pid, 'SIGUSR2');
  const line = await service.untilLog(({ msg }) => msg === 'bench counts', 20_000, from);
  return line as unknown as InsideCounts;
}

async function databaseCounts(client: pg.Client): Promise<{ commits: number; walBytes: number }> {
  // connections report what they did with a delay of up to a second
  await wait(1_500);
  const { rows } = await client.query(`
    SELECT xact_commit::float AS commits, wal_bytes::float AS "walBytes"
    FROM pg_stat_database, pg_stat_wal WHERE datname = current_database()`);
  return rows[0];
}

/** Sum of what was allocated between two collections, from the lines of `--trace-gc`: `Scavenge 23.1 (25.3) -> 21.2 (...) MB`. */
export function allocatedKb(output: string): number {
  let allocatedMb = 0;
  let after: number | undefined;
  for (const [, from, to] of output.matchAll(/ ms: [A-Z][^\n]*? (\d+\.\d) \([\d.]+\) -> (\d+\.\d) \(/g)) {
    if (after !== undefined) allocatedMb += Math.max(0, Number(from) - after);
    after = Number(to);
  }
  return allocatedMb * 1_024;
}
