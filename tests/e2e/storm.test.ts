import { afterAll, beforeAll, expect, it } from 'vitest';
import { Stage } from '../support/stage.ts';
import type { LogLine } from '../support/wa2ai-process.ts';

/** Several times what Baileys gets at a time; the long form is in tests/faults/memory.test.ts. */
const STORM = 600;
const SENDERS = 6;

let stage: Stage;

beforeAll(async () => {
  stage = await Stage.setAndPaired();
});

afterAll(async () => {
  await stage.strike();
});

const isRefused = ({ said, error }: LogLine) => said === 'failed to decrypt message' && error !== undefined;

it('answers somebody in turn with those who send what nobody can read, and says so a few times', async () => {
  const friend = stage.person();
  await friend.say('before', { to: stage.phone });
  await friend.nextReply(20_000);
  // Their phones never answer a request to send a message again.
  const senders = Array.from({ length: SENDERS }, () =>
    Object.assign(stage.person(), { onReceipt: async () => undefined }),
  );
  const { lines, pid } = stage.service;
  const before = lines.length;
  const refused = () => stage.service.lines.slice(before).filter(isRefused).length;

  // All of it is there before the service takes up the first.
  process.kill(pid, 'SIGSTOP');
  try {
    for (let sent = 0; sent < STORM; sent += SENDERS) {
      await Promise.all(
        senders.map((sender) => sender.say('unreadable', { to: stage.phone, isCorrupt: true })),
      );
    }
    await friend.say('behind all of it', { to: stage.phone });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect((await friend.nextReply(60_000)).text).toBe('Echo: behind all of it');
  expect(refused()).toBeLessThan(STORM / 2);

  await expect.poll(refused, { timeout: 60_000 }).toBe(STORM);
  const [device] = stage.emulator.linkedDevices(stage.phone.pn);
  await stage.emulator.waitUntilSettled(device?.pn ?? '', 20_000);
  const told = stage.service.lines.slice(before).filter(({ level }) => level >= 40);
  expect(told.length).toBeGreaterThan(0);
  expect(told.length).toBeLessThan(20);
  expect(senders.flatMap((sender) => sender.received)).toEqual([]);
});
