import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pairByQr, qrStatus, untilState } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let bed: TestBed;
let ana: Person;

beforeAll(async () => {
  bed = await TestBed.startPaired();
  ana = bed.person();
});

afterAll(async () => {
  await bed.close();
});

// A new connection per test, so that no test inherits the backoff of the previous one.
beforeEach(async () => {
  bed.emulator.faults.clear();
  await reconnected(restart);
});

function restart(): void {
  void bed.service.api('POST', '/api/accounts/default/restart', {});
}

let questions = 0;

async function expectAnAnswer(): Promise<void> {
  const text = `question ${++questions}`;
  await ana.say(text, { to: bed.phone });
  expect((await ana.nextReply()).text).toBe(`Echo: ${text}`);
}

/** Runs an action that ends the connection; resolves when the service has logged in again. */
async function reconnected(cause: () => void): Promise<void> {
  const live = bed.emulator.waitFor('live', undefined, 60_000);
  cause();
  await live;
  await untilState(bed.service, 'open');
}

/** Resolves at the next change to that state. */
async function nextState(state: string): Promise<void> {
  const isState = (line: { msg: string; state?: unknown }) =>
    line.msg === 'account state' && line.state === state;
  await bed.service.untilLog(isState, 20_000, bed.service.lines.length);
}

describe('A connection that ends', () => {
  it.each([408, 428, 500, 503, 515] as const)('is restored after stream error %i', async (code) => {
    const { pid } = bed.service;
    await reconnected(() => bed.emulator.endStream(code));
    await expectAnAnswer();
    expect(bed.service.pid).toBe(pid);
  });

  it('is restored after a network failure, and messages sent in between are answered', async () => {
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    bed.emulator.drop();
    await ana.say('into the gap', { to: bed.phone });
    await live;
    expect((await ana.nextReply()).text).toBe('Echo: into the gap');
  });

  it('is restored after a rejected upgrade, for which Baileys would wait without a limit', async () => {
    bed.emulator.faults.refusalStatus = 503;
    bed.emulator.faults.refusedUpgrades = 1;
    await reconnected(() => bed.emulator.drop());
    expect(bed.emulator.faults.refusedUpgrades).toBe(0);
    await expectAnAnswer();
  });

  it('before the acknowledgement of a reply makes wa2ai send the same reply again', async () => {
    bed.emulator.faults.withheldAcks = 1;
    await expectAnAnswer();
    const bubbles = ana.received.length;
    await reconnected(() => bed.emulator.drop());
    await expectAnAnswer();
    expect(ana.received).toHaveLength(bubbles + 1);
  });

  it('because another client took over stays in state replaced until it is restarted', async () => {
    const replaced = nextState('replaced');
    bed.emulator.endStream(440);
    await replaced;
    expect((await qrStatus(bed.service)).state).toBe('replaced');
    await reconnected(restart);
    await expectAnAnswer();
  });

  it('because the client is outdated is reported as such', async () => {
    const outdated = nextState('outdated');
    bed.emulator.endStream(405);
    await outdated;
    await reconnected(restart);
    await expectAnAnswer();
  });

  it.each(['unlinked by the phone', 'refused with 403'])(
    'stops and asks to link again when %s',
    async (how) => {
      const { pid } = bed.service;
      const loggedOut = nextState('logged-out');
      if (how === 'unlinked by the phone') bed.phone.unlink();
      else bed.emulator.endStream(403);
      await loggedOut;
      const { body } = await bed.service.api('GET', '/api/accounts');
      expect(body.data).toMatchObject([{ state: 'logged-out', nextAction: expect.stringMatching(/link/i) }]);

      if (how !== 'unlinked by the phone') bed.phone.unlink();
      await bed.service.api('POST', '/api/accounts/default/pair', { method: 'qr' });
      await pairByQr(bed.service, bed.phone, bed.emulator);
      await expectAnAnswer();
      expect(bed.service.pid).toBe(pid);
    },
  );
});
