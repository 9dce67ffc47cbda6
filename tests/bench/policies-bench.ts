import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { ConversationSettings } from '../../router/src/core/policies/conversation-fields.ts';
import { repositoryRoot } from '../support/repository.ts';
import { Cluster, UNBUNDLED } from './cluster.ts';
import { type BenchGround, machine, withGround } from './ground.ts';
import { type LoadChat, oneByOne } from './load.ts';
import { chatsWith } from './round.ts';
import { StatementTap } from './statement-tap.ts';
import { cpuSeconds, median, quantile, round } from './statistics.ts';

const CHATS = 10;
const WARM_UP = 300;
/** Messages to one service before the other one has its turn: what else the machine does meets both. */
const STRETCH = 20;

/** What the settings of a chat do, switched off. */
const ALL_OFF: ConversationSettings = {
  reply: { format: 'as-is', quote: 'never' },
  presence: { readReceipts: 'never', typing: false },
  commands: { new: false, help: false, stop: false, status: false },
  takeover: { minutes: 0 },
  notices: { unsupported: false, failed: false, slow: false },
  edits: 'ignore',
  egressFilter: 'off',
};

/** One service, and what its messages cost. */
interface Side {
  cluster: Cluster;
  chats: LoadChat[];
  tap: StatementTap;
}

/** What one round saw of one service, for each message. */
interface Figures {
  /** Below it was a tenth of the round trips: other programs on the machine change it least. */
  p10Ms: number;
  p50Ms: number;
  nodeMs: number;
  statements: number;
}

/**
 * Prints what the policies add to a message at their defaults: one service with them and one without any run at the same time,
 * and messages go to them in turn, one at a time.
 * @param messages to each service, in each round
 */
export async function benchPolicies(rounds: number, messages: number): Promise<void> {
  await withGround(async (ground) => {
    const preload = pathToFileURL(join(repositoryRoot, 'dist/tests/bench/without-policies.js')).href;
    const sides = { with: await start(ground, []), without: await start(ground, ['--import', preload]) };
    await sides.without.cluster.nodes.any().api('PUT', '/api/settings/conversation', ALL_OFF);
    for (const { chats } of Object.values(sides)) await oneByOne(chats, WARM_UP);
    const seen: Record<keyof typeof sides, Figures[]> = { with: [], without: [] };
    const heads = ['p10 ms', 'added', 'p50 ms', 'added', 'CPU ms, node', 'added', 'statements', 'added'];
    console.log(
      `with, without     ${heads.map((head, index) => head.padStart(index % 2 ? 8 : 18)).join('')}`,
    );
    for (let turn = 1; turn <= rounds; turn++) {
      const figures = await measure(sides, messages);
      seen.with.push(figures.with);
      seen.without.push(figures.without);
      print(`round ${turn}`, figures.with, figures.without);
    }
    print('median', medians(seen.with), medians(seen.without));
    const added = (name: keyof Figures) => {
      const each = seen.with.map(
        (figures, index) => figures[name] - (seen.without[index]?.[name] ?? Number.NaN),
      );
      return round(median(each), 2);
    };
    console.log(
      `added, median of ${rounds} rounds: p10 ${added('p10Ms')} ms, p50 ${added('p50Ms')} ms, node ${added('nodeMs')} ms of processor time, ${added('statements')} statements`,
    );
    for (const { cluster, tap } of Object.values(sides)) {
      await cluster.stop();
      tap.stop();
    }
  });
}

async function start(ground: BenchGround, nodeArgs: string[]): Promise<Side> {
  const tap = await StatementTap.before(ground.postgres.url);
  const through = (url: string) => tap.through(url);
  const cluster = await Cluster.start(ground, {
    names: ['n1'],
    accounts: 1,
    nodeArgs,
    main: UNBUNDLED,
    through,
  });
  const accounts = cluster.phones.map(({ pn }) => pn);
  return { cluster, tap, chats: chatsWith(ground, CHATS, accounts) };
}

async function measure(
  sides: Record<'with' | 'without', Side>,
  messages: number,
): Promise<Record<'with' | 'without', Figures>> {
  const sums = {
    with: { trips: [] as number[], cpu: 0, statements: 0 },
    without: { trips: [] as number[], cpu: 0, statements: 0 },
  };
  for (let sent = 0; sent < messages; sent += STRETCH) {
    for (const name of ['with', 'without'] as const) {
      const { cluster, chats, tap } = sides[name];
      const { pid } = cluster.nodes.any();
      tap.take();
      const before = cpuSeconds(pid);
      const { roundTripsMs, lost } = await oneByOne(chats, STRETCH);
      if (lost > 0) throw new Error(`${lost} messages got no answer`);
      sums[name].trips.push(...roundTripsMs);
      sums[name].cpu += cpuSeconds(pid) - before;
      sums[name].statements += tap.take().length;
    }
  }
  const figures = ({ trips, cpu, statements }: (typeof sums)['with']): Figures => ({
    p10Ms: quantile(trips, 0.1),
    p50Ms: median(trips),
    nodeMs: (cpu * 1_000) / trips.length,
    statements: statements / trips.length,
  });
  return { with: figures(sums.with), without: figures(sums.without) };
}

const NAMES = ['p10Ms', 'p50Ms', 'nodeMs', 'statements'] as const;

function medians(figures: readonly Figures[]): Figures {
  const of = (name: keyof Figures) => median(figures.map((each) => each[name]));
  return { p10Ms: of('p10Ms'), p50Ms: of('p50Ms'), nodeMs: of('nodeMs'), statements: of('statements') };
}

function print(name: string, a: Figures, b: Figures): void {
  const cells = NAMES.map((figure) => {
    const both = `${round(a[figure], 2)}, ${round(b[figure], 2)}`;
    return both.padStart(18) + String(round(a[figure] - b[figure], 2)).padStart(8);
  });
  console.log(`${name.padEnd(18)}${cells.join('')}   (load ${machine().load})`);
}
