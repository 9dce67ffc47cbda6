import pg from 'pg';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LiveMemory, WITH_INSPECTOR } from '../support/live-memory.ts';
import { TestBed } from '../support/test-bed.ts';
import { untilReached } from '../support/until.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

const PEOPLE = 10;
const EACH = 50;
const BURST = PEOPLE * EACH;
/** Receipts that may be sent while the inbox rejects writes: the most messages that may wait for it. */
const MOST_UNSTORED = 210;
/** The pool, DBOS's, and the connections that hold locks and listen. */
const MOST_CONNECTIONS = 25;
/** What a burst that waits may occupy: 20 KB a message. */
const BURST_MB = 10;
/** What the service may keep of a burst that was answered: the keys and names in its bounded caches. */
const KEPT_MB = 5;

let bed: TestBed;
let people: Person[];
/** Questions of each person. */
let asked: number;
/** The test's connection, to lock tables with. */
let client: pg.Client;

beforeEach(async () => {
  bed = await TestBed.startPaired();
  client = new pg.Client({ connectionString: bed.database.url });
  await client.connect();
  people = Array.from({ length: PEOPLE }, (_, index) => bed.person({ via: index % 2 === 0 ? 'pn' : 'lid' }));
  for (const person of people) {
    await person.say('hello', { to: bed.phone });
    await person.nextReply();
  }
  await bed.emulator.waitUntilSettled(device(), 20_000);
  await bed.service.end('SIGKILL');
  asked = 0;
  await sayBurst();
});

afterEach(async () => {
  await client.end();
  await bed.close();
});

const unacknowledged = () => bed.emulator.waitingFor(device());
const device = () => bed.emulator.linkedDevices(bed.phone.pn)[0]?.pn ?? '';

async function sayBurst(): Promise<void> {
  for (const last = asked + EACH; asked < last; ) {
    asked += 1;
    await Promise.all(people.map((person) => person.say(`question ${asked}`, { to: bed.phone })));
  }
}

async function count(sql: string): Promise<number> {
  const { rows } = await client.query<{ count: number }>(`SELECT count(*)::integer AS count FROM ${sql}`);
  return rows[0]?.count ?? 0;
}

const connections = () => count('pg_stat_activity WHERE datname = current_database()');
const writesThatWait = (table: string) =>
  count(`pg_locks WHERE NOT granted AND relation = '${table}'::regclass`);

/** Starts the service while writes to `table` block, and unblocks them when `untilSeen` has resolved. */
async function startWhileLocked(table: string, untilSeen: () => Promise<void>): Promise<void> {
  await client.query('BEGIN');
  await client.query(`LOCK TABLE ${table} IN EXCLUSIVE MODE`);
  try {
    await bed.startService({}, [WITH_INSPECTOR]);
    await expect.poll(() => writesThatWait(table), { timeout: 60_000 }).toBeGreaterThan(0);
    await untilSeen();
  } finally {
    await client.query('COMMIT');
  }
}

/** Memory that the service keeps. */
async function liveMb(): Promise<number> {
  const memory = await LiveMemory.of(bed.service);
  try {
    return await memory.afterGc();
  } finally {
    memory.close();
  }
}

/** Resolves when the service makes no progress: nothing was acknowledged during many turns of its event loop. */
async function untilNothingMoves(): Promise<void> {
  let before: number;
  do {
    before = unacknowledged();
    for (let call = 0; call < 100; call++) await bed.service.api('GET', '/health/live');
  } while (unacknowledged() !== before);
}

async function expectAllAnswered(): Promise<void> {
  const questions = Array.from({ length: asked }, (_, index) => `Echo: question ${index + 1}`);
  const replies = () => people.reduce((sum, { received }) => sum + received.length, 0);
  await untilReached('replies', replies, PEOPLE * (1 + asked));
  for (const person of people) {
    expect(person.received.map(({ text }) => text)).toEqual(['Echo: hello', ...questions]);
  }
  await bed.emulator.waitUntilSettled(device(), 30_000);
}

it('a burst of messages is acknowledged only after it is in the journal, with constant connections and memory', {
  timeout: 900_000,
}, async () => {
  expect(unacknowledged()).toBe(BURST);
  let waitingMb = 0;
  await startWhileLocked('journal', async () => {
    await untilNothingMoves();
    expect(unacknowledged()).toBe(BURST);
    expect(await connections()).toBeLessThan(MOST_CONNECTIONS);
    waitingMb = await liveMb();
  });
  await expectAllAnswered();
  expect(await connections()).toBeLessThan(MOST_CONNECTIONS);
  const answeredMb = await liveMb();
  await sayBurst();
  await expectAllAnswered();
  const answeredTwiceMb = await liveMb();
  console.log(`live memory in MB: ${[waitingMb, answeredMb, answeredTwiceMb].map(Math.round).join(', ')}`);
  expect(waitingMb - answeredMb).toBeLessThan(BURST_MB);
  expect(answeredTwiceMb - answeredMb).toBeLessThan(KEPT_MB);
  // The lease counts in the journal what a process before left there, so it waits for the lock too.
  const others = bed.service.warnings.filter(({ msg }) => msg !== 'cannot read the other nodes, retrying');
  expect(others).toEqual([]);
});

it('a burst of messages is acknowledged only as far as messages may wait for the inbox', {
  timeout: 600_000,
}, async () => {
  await startWhileLocked('message', async () => {
    await expect.poll(unacknowledged, { timeout: 60_000 }).toBeLessThan(BURST - 100);
    await untilNothingMoves();
    expect(unacknowledged()).toBeGreaterThan(BURST - MOST_UNSTORED);
    expect(await count('journal')).toBeGreaterThanOrEqual(BURST - unacknowledged());
  });
  await expectAllAnswered();
});
