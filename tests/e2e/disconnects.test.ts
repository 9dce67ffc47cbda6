import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { pairByQr, qrStatus, untilState } from '../support/pairing.ts';
import { Stage } from '../support/stage.ts';
import type { Person } from '../whatsapp-emulator/person.ts';

let stage: Stage;
let ana: Person;

beforeAll(async () => {
  stage = await Stage.setAndPaired();
  ana = stage.person();
});

afterAll(async () => {
  await stage.strike();
});

// A fresh connection for each test: the backoff of one end must not lengthen that of the next.
beforeEach(async () => {
  stage.emulator.faults.clear();
  await reconnected(restart);
});

function restart(): void {
  void stage.service.api('POST', '/api/accounts/default/restart', {});
}

let questions = 0;

async function expectAnAnswer(): Promise<void> {
  const text = `question ${++questions}`;
  await ana.say(text, { to: stage.phone });
  expect((await ana.nextReply(20_000)).text).toBe(`Echo: ${text}`);
}

/** Does something that ends the connection, and resolves when the service is logged in again by itself. */
async function reconnected(cause: () => void): Promise<void> {
  const live = stage.emulator.waitFor('live', undefined, 60_000);
  cause();
  await live;
  await untilState(stage.service, 'open');
}

/** Resolves at the next change to that state. */
async function nextState(state: string): Promise<void> {
  const isState = (line: { msg: string; state?: unknown }) =>
    line.msg === 'account state' && line.state === state;
  await stage.service.untilLog(isState, 20_000, stage.service.lines.length);
}

describe('a connection that ends', () => {
  it.each([408, 428, 500, 503, 515] as const)('comes back by itself after stream error %i', async (code) => {
    const { pid } = stage.service;
    await reconnected(() => stage.emulator.endStream(code));
    await expectAnAnswer();
    expect(stage.service.pid).toBe(pid);
  });

  it('comes back after a dropped connection, and answers what was sent meanwhile', async () => {
    const live = stage.emulator.waitFor('live', undefined, 60_000);
    stage.emulator.drop();
    await ana.say('into the gap', { to: stage.phone });
    await live;
    expect((await ana.nextReply(20_000)).text).toBe('Echo: into the gap');
  });

  it('comes back after refused upgrades, which Baileys itself would wait on for ever', async () => {
    stage.emulator.faults.refusalStatus = 503;
    stage.emulator.faults.refusedUpgrades = 2;
    await reconnected(() => stage.emulator.drop());
    expect(stage.emulator.faults.refusedUpgrades).toBe(0);
    await expectAnAnswer();
  });

  it('sends a reply again, as the same bubble, whose ack was lost with the connection', async () => {
    stage.emulator.faults.withheldAcks = 1;
    await expectAnAnswer();
    const bubbles = ana.received.length;
    await reconnected(() => stage.emulator.drop());
    await expectAnAnswer();
    expect(ana.received).toHaveLength(bubbles + 1);
  });

  it('stops as replaced when another client takes over, and starts again when told to', async () => {
    const replaced = nextState('replaced');
    stage.emulator.endStream(440);
    await replaced;
    expect((await qrStatus(stage.service)).state).toBe('replaced');
    await reconnected(restart);
    await expectAnAnswer();
  });

  it('says that the client is outdated', async () => {
    const outdated = nextState('outdated');
    stage.emulator.endStream(405);
    await outdated;
    await reconnected(restart);
    await expectAnAnswer();
  });

  it.each(['unlinked by the phone', 'refused with 403'])(
    'stops and asks to link again when %s',
    async (how) => {
      const { pid } = stage.service;
      const loggedOut = nextState('logged-out');
      if (how === 'unlinked by the phone') stage.phone.unlink();
      else stage.emulator.endStream(403);
      await loggedOut;
      const { body } = await stage.service.api('GET', '/api/accounts');
      expect(body.data).toMatchObject([{ state: 'logged-out', nextAction: expect.stringMatching(/link/i) }]);

      if (how !== 'unlinked by the phone') stage.phone.unlink();
      await stage.service.api('POST', '/api/accounts/default/pair', { method: 'qr' });
      await pairByQr(stage.service, stage.phone, stage.emulator);
      await expectAnAnswer();
      expect(stage.service.pid).toBe(pid);
    },
  );
});
