import { readdirSync } from 'node:fs';
import pg from 'pg';
import { Cluster } from './cluster.ts';
import { withGround } from './ground.ts';
import { steady } from './load.ts';
import { chatsWith } from './round.ts';
import { median, quantile, residentMb, round } from './statistics.ts';

const CHATS = 100;
const PER_SECOND = 20;
const SAMPLE_SECONDS = 60;
/** The most by which the last third may exceed the second. The first third fills caches, tables and the heap. */
const FLAT = 1.15;

/** What is looked at after each minute. */
interface SoakSample {
  memoryMb: number;
  openFiles: number;
  databaseMb: number;
  p99Ms: number;
}

/**
 * Messages for a long time, with retention on: everything that has ended counts as older than its limit, so that each run of
 * retention removes it. Whether memory, open files, database and p99 stay the same.
 */
export async function soak(minutes: number): Promise<boolean> {
  const samples: SoakSample[] = [];
  let unanswered = 0;
  await withGround(async (ground) => {
    const cluster = await Cluster.start(ground, { names: ['n1'], accounts: 1 });
    const database = new pg.Client({ connectionString: cluster.databaseUrl });
    await database.connect();
    const accounts = cluster.phones.map(({ pn }) => pn);
    const chats = chatsWith(ground, CHATS, accounts);
    const { pid } = cluster.nodes.node('n1');
    console.log('minute  memory MB  open files  database MB  p99 ms  unanswered');
    for (let minute = 1; minute <= minutes; minute++) {
      const { roundTripsMs, lost } = await steady(chats, PER_SECOND, SAMPLE_SECONDS);
      unanswered += lost;
      await database.query(AGE);
      const { rows } = await database.query('SELECT pg_database_size(current_database())::float AS bytes');
      const sample = {
        memoryMb: residentMb(pid),
        openFiles: readdirSync(`/proc/${pid}/fd`).length,
        databaseMb: rows[0].bytes / 1_048_576,
        p99Ms: quantile(roundTripsMs, 0.99),
      };
      samples.push(sample);
      const cells = [minute, ...Object.values(sample).map((value) => round(value)), lost];
      console.log(
        cells.map((value, index) => String(value).padStart([6, 9, 10, 11, 6, 10][index] ?? 0)).join('  '),
      );
    }
    await database.end();
    await cluster.stop();
  });
  return isFlat(samples) && unanswered === 0;
}

/** Makes what has ended a year older; retention runs every ten minutes. */
const AGE = `
  WITH messages AS (
    UPDATE message SET finished_at = finished_at - interval '1 year' WHERE finished_at > now() - interval '2 months')
  UPDATE outbox SET acked_at = acked_at - interval '1 year' WHERE acked_at > now() - interval '2 months'`;

function isFlat(samples: readonly SoakSample[]): boolean {
  const third = Math.floor(samples.length / 3);
  if (third === 0) throw new Error('a soak takes at least three minutes');
  let isFlatSoFar = true;
  for (const kind of ['memoryMb', 'openFiles', 'databaseMb', 'p99Ms'] as const) {
    const of = (part: readonly SoakSample[]) => median(part.map((sample) => sample[kind]));
    const ratio = of(samples.slice(-third)) / of(samples.slice(third, 2 * third));
    const isFlatKind = ratio <= FLAT;
    isFlatSoFar &&= isFlatKind;
    console.log(
      `${isFlatKind ? 'flat ' : 'GROWS'}  ${kind}: last third ${round(ratio, 2)}x the second (at most ${FLAT}x)`,
    );
  }
  return isFlatSoFar;
}
