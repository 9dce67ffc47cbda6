import { expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';
import { untilReached } from '../support/until.ts';
import { isAtLeast, type LogLine } from '../support/wa2ai-process.ts';

/** Several times the number that Baileys receives at once; the long form is in tests/faults/memory.test.ts. */
const STORM = 600;
const SENDERS = 6;

const bed = TestBed.shared();

const isRefused = ({ msg }: LogLine) => msg === 'message not decrypted';

it('answers one person during a storm of undecryptable messages, and logs the storm in a few lines', async () => {
  const friend = bed.person();
  await friend.say('before', { to: bed.phone });
  await friend.nextReply();
  // their phones never answer a retry receipt
  const senders = Array.from({ length: SENDERS }, () =>
    Object.assign(bed.person(), { onReceipt: async () => undefined }),
  );
  const { lines, pid } = bed.service;
  const before = lines.length;
  const refused = () => bed.service.lines.slice(before).filter(isRefused).length;

  // All messages are queued before the service receives the first one.
  process.kill(pid, 'SIGSTOP');
  try {
    for (let sent = 0; sent < STORM; sent += SENDERS) {
      await Promise.all(
        senders.map((sender) => sender.say('unreadable', { to: bed.phone, isCorrupt: true })),
      );
    }
    await friend.say('behind all of it', { to: bed.phone });
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  expect((await friend.nextReply(60_000)).text).toBe('Echo: behind all of it');
  expect(refused()).toBeLessThan(STORM / 2);

  await untilReached('undecryptable messages', refused, STORM);
  const [device] = bed.emulator.linkedDevices(bed.phone.pn);
  await bed.emulator.waitUntilSettled(device?.pn ?? '', 20_000);
  const logged = bed.service.lines.slice(before).filter((line) => isAtLeast('warn', line));
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.length).toBeLessThan(20);
  expect(senders.flatMap((sender) => sender.received)).toEqual([]);
});
