import sql from 'sql-template-tag';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { residentMb } from '../bench/statistics.ts';
import { countRows } from '../support/database.ts';
import { TestBed } from '../support/test-bed.ts';
import { untilReached } from '../support/until.ts';
import { isAtLeast, type LogLine } from '../support/wa2ai-process.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

/** Undecryptable messages of the storm, and messages of the backlog. WA2AI_STORM sets fewer for a quick run. */
const STORM = Number(process.env.WA2AI_STORM ?? 10_000);
const PEOPLE = 20;
/** V8 collects late while there is memory: a service that keeps more than this would end in the storm. */
const HEAP_MB = 160;
/** What the process may grow by beside that: buffers, connections, code. */
const GROWTH_MB = 200;
/** For an answer during the storm, on a busy machine. */
const PATIENCE_MS = 600_000;
/** The friend writes so many times during the storm. */
const PARTS = 10;
/** Longer than a busy machine needs; a test whose messages make no progress ends long before. */
const TIMEOUT = { timeout: 7_200_000 };
const LARGE = 'm'.repeat(60_000);
/** Together six times what may wait in memory. */
const LARGE_STORM = 3_600;

/** Every phone requests its message again repeatedly. */
const env = { WA2AI_LOOP_TURNS: '0' };
const nodeArgs = [`--max-old-space-size=${HEAP_MB}`];

let bed: TestBed;

beforeEach(async () => {
  bed = await TestBed.startPaired({ env, nodeArgs });
});

afterEach(async () => {
  await bed.close();
});

const isRefused = ({ msg }: LogLine) => msg === 'message not decrypted';

/** Nearly all lines of a storm are refusals, so the lines that the service dropped because this test read too slowly are too. */
const countRefused = (lines: LogLine[]): number =>
  lines.reduce((count, line) => {
    if (line.msg === 'log lines dropped, output not writable') return count + Number(line.lines);
    return count + (isRefused(line) ? 1 : 0);
  }, 0);

/** People whose phones never answer a request to send a message again. */
const silentPeople = (count: number): Person[] =>
  Array.from({ length: count }, () => Object.assign(bed.person(), { onReceipt: async () => undefined }));

const asks = async (person: Person, text: string): Promise<void> => {
  await person.say(text, { to: bed.phone });
  expect((await person.nextReply(PATIENCE_MS)).text).toBe(`Echo: ${text}`);
};

/** Samples resident memory until `work` has ended. @returns the largest growth in MiB */
async function growthDuring(work: () => Promise<void>): Promise<number> {
  const { pid } = bed.service;
  const beforeMb = residentMb(pid);
  let mostMb = beforeMb;
  const look = setInterval(() => {
    mostMb = Math.max(mostMb, residentMb(pid));
  }, 250);
  try {
    await work();
  } finally {
    clearInterval(look);
  }
  return mostMb - beforeMb;
}

describe('The service', () => {
  it('deletes a pre-key after its use', async () => {
    const postgres = bed.database.open();
    const preKeys = () => countRows(postgres, sql`auth_key WHERE category = 'pre-key'`);
    const before = await preKeys();
    const people = Array.from({ length: 10 }, () => bed.person());
    for (const person of people) await asks(person, 'hola');
    expect(await preKeys()).toBe(before - people.length);
    const journal = await countRows(postgres, sql`journal`);
    expect(journal).toBeLessThanOrEqual(people.length);
  });

  it(
    'limits its memory and its log in a storm of undecryptable messages, and answers others meanwhile',
    TIMEOUT,
    async () => {
      const friend = bed.person();
      await asks(friend, 'before');
      const senders = silentPeople(PEOPLE);
      const beforeLines = bed.service.lines.length;
      const refused = () => countRefused(bed.service.lines.slice(beforeLines));

      const grownMb = await growthDuring(async () => {
        const storm = (async () => {
          for (let sent = 0; sent < STORM; sent += PEOPLE) {
            await Promise.all(
              senders.map((sender) => sender.say('unreadable', { to: bed.phone, isCorrupt: true })),
            );
          }
        })();
        await bed.service.untilLog(isRefused, PATIENCE_MS, beforeLines);
        await asks(friend, 'during');
        await storm;
        await asks(friend, 'behind all of it');
        // in turn with the undecryptable messages, not after them
        expect(refused()).toBeLessThan(STORM);
        for (let part = 1; part <= PARTS; part++) {
          await untilReached('undecryptable messages', refused, (STORM * part) / PARTS);
          await asks(friend, `part ${part}`);
        }
      });

      const reported = bed.service.lines.slice(beforeLines).filter((line) => isAtLeast('warn', line));
      expect(reported.length).toBeGreaterThan(0);
      expect(reported.length).toBeLessThan(40);
      expect(grownMb).toBeLessThan(GROWTH_MB);
      expect(senders.flatMap((sender) => sender.received)).toEqual([]);
      await bed.service.end();
    },
  );

  it(
    'limits its memory when WhatsApp delivers more large messages than may wait in memory',
    TIMEOUT,
    async () => {
      const friend = bed.person();
      await asks(friend, 'before');
      const senders = silentPeople(PEOPLE);
      const [device] = bed.emulator.linkedDevices(bed.phone.pn);
      const beforeLines = bed.service.lines.length;

      const grownMb = await growthDuring(async () => {
        for (let sent = 0; sent < LARGE_STORM; sent += PEOPLE) {
          await Promise.all(senders.map((sender) => sender.say(LARGE, { to: bed.phone, isCorrupt: true })));
        }
        await asks(friend, 'behind all of it');
        const settled = () => LARGE_STORM - bed.emulator.waitingFor(device?.pn ?? '');
        await untilReached('large messages', settled, LARGE_STORM);
      });

      const reported = bed.service.lines.slice(beforeLines).map(({ msg }) => msg);
      expect(
        reported.filter((msg) => msg.startsWith('buffer full, messages dropped for redelivery')),
      ).not.toEqual([]);
      expect(grownMb).toBeLessThan(GROWTH_MB);
      expect(friend.received.map(({ text }) => text)).toEqual(['Echo: before', 'Echo: behind all of it']);
    },
  );

  it(
    'limits its memory while it answers the messages of a weekend, each once and in order',
    TIMEOUT,
    async () => {
      const people = Array.from({ length: PEOPLE }, (_, index) =>
        bed.person({ via: index % 2 === 0 ? 'pn' : 'lid' }),
      );
      for (const person of people) await asks(person, 'hello');
      const [device] = bed.emulator.linkedDevices(bed.phone.pn);
      await bed.emulator.waitUntilSettled(device?.pn ?? '', 20_000);
      await bed.service.end();
      const questions = Array.from({ length: STORM / PEOPLE }, (_, index) => `question ${index + 1}`);
      for (const question of questions) {
        await Promise.all(people.map((person) => person.say(question, { to: bed.phone })));
      }

      await bed.startService(env, nodeArgs);
      const grownMb = await growthDuring(async () => {
        const replies = () => people.reduce((sum, { received }) => sum + received.length, 0);
        await untilReached('replies', replies, people.length * (1 + questions.length));
      });
      for (const person of people) {
        expect(person.received.slice(1).map(({ text }) => text)).toEqual(
          questions.map((question) => `Echo: ${question}`),
        );
      }
      expect(bed.service.warnings).toEqual([]);
      expect(grownMb).toBeLessThan(GROWTH_MB);
    },
  );
});
