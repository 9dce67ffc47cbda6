import { describe, expect, it } from 'vitest';
import { WhatsAppTime } from '../../../../../router/src/providers/baileys/connection/whatsapp-time.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const HOUR_MS = 3_600_000;
const LOGIN_MS = Date.UTC(2030, 0, 1);

function setup() {
  const clock = new FakeClock();
  return { clock, time: new WhatsAppTime(clock) };
}

describe('WhatsAppTime', () => {
  it("is this machine's time before the first login", async () => {
    const { clock, time } = setup();
    clock.jumpMs(HOUR_MS);
    await clock.advanceMs(1_500);
    expect(time.now()).toBe(clock.now());
  });

  it.each([5 * HOUR_MS, -5 * HOUR_MS])('is not affected when the clock is set by %i ms', async (jumpMs) => {
    const { clock, time } = setup();
    time.set(String(LOGIN_MS / 1_000));
    clock.jumpMs(jumpMs);
    await clock.advanceMs(1_500);
    expect(time.now()).toBe(LOGIN_MS + 1_500);
  });

  it('is set again by each login, also back', async () => {
    const { clock, time } = setup();
    time.set(String(LOGIN_MS / 1_000));
    await clock.advanceMs(HOUR_MS);
    time.set(String(LOGIN_MS / 1_000));
    expect(time.now()).toBe(LOGIN_MS);
  });

  it.each([undefined, '', 'x', '0', '-5', '1230768000', 'Infinity', '1e400'])(
    'ignores the invalid time %j',
    (seconds) => {
      const { time } = setup();
      time.set(String(LOGIN_MS / 1_000));
      time.set(seconds);
      expect(time.now()).toBe(LOGIN_MS);
    },
  );
});
