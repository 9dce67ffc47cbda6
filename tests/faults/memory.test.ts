import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { residentMb } from '../bench/statistics.ts';
import { Stage } from '../support/stage.ts';
import type { LogLine } from '../support/wa2ai-process.ts';

/** Undecryptable messages of the storm; WA2AI_STORM is for a quick look. */
const STORM = Number(process.env.WA2AI_STORM ?? 10_000);
const SENDERS = 20;
/** V8 collects late while there is memory: a service that keeps more than this would end in the storm. */
const HEAP_MB = 160;
/**
 * So many wait for their acknowledgement at a time. How many WhatsApp lets wait is not known; all 10,000 at once do not fit
 * into the heap above, since Baileys holds each until its turn.
 */
const WINDOW = 1_000;
/** Who writes during the storm stands behind that many. */
const PATIENCE_MS = 120_000;

let stage: Stage;

beforeAll(async () => {
  // The friend asks again and again, as soon as there is an answer.
  stage = await Stage.setAndPaired({
    env: { WA2AI_LOOP_TURNS: '0' },
    nodeArgs: [`--max-old-space-size=${HEAP_MB}`],
  });
});

afterAll(async () => {
  await stage.strike();
});

describe('what the service keeps', () => {
  it('is no pre-key that somebody used', async () => {
    const prisma = stage.database.prisma();
    const preKeys = () => prisma.authKey.count({ where: { category: 'pre-key' } });
    const before = await preKeys();
    const people = Array.from({ length: 10 }, () => stage.person());
    for (const person of people) {
      await person.say('hola', { to: stage.phone });
      await person.nextReply(10_000);
    }
    expect(await preKeys()).toBe(before - people.length);
    const journal = await prisma.journal.count();
    expect(journal).toBeLessThanOrEqual(people.length);
  });

  it(
    'stays small in a storm of undecryptable messages, in memory and in the log, while others are answered',
    async () => {
      const friend = stage.person();
      await friend.say('before', { to: stage.phone });
      await friend.nextReply(10_000);
      const senders = Array.from({ length: SENDERS }, () => stage.person());
      // Their phones never answer a request to send a message again.
      for (const sender of senders) Object.assign(sender, { onReceipt: async () => undefined });
      const beforeMb = residentMb(stage.service.pid);
      const beforeLines = stage.service.lines.length;

      const [device] = stage.emulator.linkedDevices(stage.phone.pn);
      const waiting = () => stage.emulator.waitingFor(device?.pn ?? '');
      const storm = (async () => {
        for (let sent = 0; sent < STORM; sent += SENDERS) {
          await expect.poll(waiting, { timeout: PATIENCE_MS }).toBeLessThan(WINDOW);
          await Promise.all(
            senders.map((sender) => sender.say('unreadable', { to: stage.phone, isCorrupt: true })),
          );
        }
      })();
      for (const text of ['during', 'still during']) {
        await friend.say(text, { to: stage.phone });
        expect((await friend.nextReply(PATIENCE_MS)).text).toBe(`Echo: ${text}`);
      }
      await storm;
      const isRefused = ({ said, error }: LogLine) =>
        said === 'failed to decrypt message' && error !== undefined;
      const refused = () => stage.service.lines.slice(beforeLines).filter(isRefused).length;
      // Behind all of them: the last one of each sender was tried.
      while (refused() < STORM) {
        await friend.say('and now?', { to: stage.phone });
        expect((await friend.nextReply(PATIENCE_MS)).text).toBe('Echo: and now?');
        await stage.service.untilLog(isRefused, 1_000, stage.service.lines.length).catch(() => undefined);
      }

      const told = stage.service.lines.slice(beforeLines).filter(({ level }) => level >= 40);
      expect(told.length).toBeGreaterThan(0);
      expect(told.length).toBeLessThan(40);
      expect(residentMb(stage.service.pid) - beforeMb).toBeLessThan(150);
      expect(senders.flatMap((sender) => sender.received)).toEqual([]);
      await stage.service.end();
    },
    120_000 + STORM * 100,
  );
});
