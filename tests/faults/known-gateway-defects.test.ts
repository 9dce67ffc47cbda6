import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { guardConsole } from '../../router/src/providers/baileys/connection/open-socket.ts';
import { residentMb } from '../bench/statistics.ts';
import { untilState } from '../support/pairing.ts';
import { quietLog } from '../support/quiet-log.ts';
import { TestBed } from '../support/test-bed.ts';
import { untilReached } from '../support/until.ts';
import { isAtLeast } from '../support/wa2ai-process.ts';

let bed: TestBed;
let releaseConsole: () => void;

// libsignal prints the sessions of the emulator's people, thousands of lines in a storm.
beforeAll(() => {
  releaseConsole = guardConsole(quietLog);
});
afterAll(() => releaseConsole());

afterEach(async () => {
  await bed.close();
});

describe('A storm of stanzas with a bad MAC', () => {
  it('fills neither log nor memory, delays no other chat, and is requested again stanza by stanza', {
    timeout: 600_000,
  }, async () => {
    bed = await TestBed.startPaired();
    const [broken, other] = [bed.person(), bed.person({ via: 'lid' })];
    for (const person of [broken, other]) {
      await person.say('hello', { to: bed.phone });
      await person.nextReply();
    }
    const { service } = bed;
    const before = { mb: residentMb(service.pid), lines: service.lines.length };
    const requestedAgain = new Set<string>();
    bed.emulator.events.on('receipt', ({ id, type }) => {
      if (type === 'retry') requestedAgain.add(id);
    });
    const storm = Array.from({ length: 200 }, (_, index) => `garbled ${index}`);
    const said = storm.map((text) => broken.say(text, { to: bed.phone, isCorrupt: true }));

    for (const text of ['one', 'two', 'three']) {
      await other.say(text, { to: bed.phone });
      expect((await other.nextReply(60_000)).text).toBe(`Echo: ${text}`);
    }
    const ids = await Promise.all(said);
    const requested = () => ids.filter((id) => requestedAgain.has(id)).length;
    await untilReached('messages requested again', requested, ids.length);
    const reported = service.lines
      .slice(before.lines)
      .filter((line) => isAtLeast('info', line) && /decrypt|session|MAC/i.test(JSON.stringify(line)));
    expect(reported.length).toBeLessThan(20);
    expect(residentMb(service.pid) - before.mb).toBeLessThan(200);
  });
});

describe('A message that WhatsApp delivers again after a restart', () => {
  it.each(['SIGTERM', 'SIGKILL'] as const)('is answered once (%s)', async (signal) => {
    bed = await TestBed.startPaired();
    const ana = bed.person();
    const ids = [await ana.say('first', { to: bed.phone }), await ana.say('second', { to: bed.phone })];
    await ana.waitForReceived(2);
    await bed.service.end(signal);
    for (const id of ids) ana.redeliver(id);
    await bed.restartService();
    await ana.say('third', { to: bed.phone });
    await ana.waitForReceived(3);
    await bed.emulator.waitUntilSettled(device(), 20_000);
    expect(ana.received.map(({ text }) => text)).toEqual(['Echo: first', 'Echo: second', 'Echo: third']);
  });
});

describe('A reconnect', () => {
  it('leaves one socket, never two that replace each other', async () => {
    bed = await TestBed.startPaired();
    const ana = bed.person();
    const logins: string[] = [];
    const closed: string[] = [];
    bed.emulator.events.on('logged-in', (login) => logins.push(login.device));
    bed.emulator.events.on('closed', ({ reason }) => closed.push(reason));
    for (const round of [1, 2, 3]) {
      const live = bed.emulator.waitFor('live', undefined, 60_000);
      if (round === 2) bed.emulator.endStream(503);
      else bed.emulator.drop();
      // A person who asks for a restart in the middle of it must not make a second one.
      await bed.service.api('POST', '/api/accounts/default/restart', {});
      await live;
      await untilState(bed.service, 'open');
      await ana.say(`round ${round}`, { to: bed.phone });
      expect((await ana.nextReply()).text).toBe(`Echo: round ${round}`);
    }
    expect(closed).not.toContain('replaced');
    expect(logins.length).toBeLessThanOrEqual(6);
  });
});

describe('Another client that takes over the account (440)', () => {
  it('makes wa2ai disconnect and report the state replaced', async () => {
    bed = await TestBed.startPaired();
    const logins: string[] = [];
    bed.emulator.events.on('logged-in', (login) => logins.push(login.device));
    const replaced = bed.service.untilLog(
      (line) => line.msg === 'account state' && line.state === 'replaced',
      20_000,
    );
    bed.emulator.endStream(440);
    await replaced;
    // the routes are still served, and the API reports what to do
    const { body } = await bed.service.api('GET', '/api/accounts');
    expect(body.data).toMatchObject([{ state: 'replaced' }]);
    expect(logins).toEqual([]);
    const live = bed.emulator.waitFor('live', undefined, 60_000);
    await bed.service.api('POST', '/api/accounts/default/restart', {});
    await live;
    expect(logins).toHaveLength(1);
  });
});

describe('Credentials that are saved many times at once', () => {
  it('still log in after a kill between two writes', { timeout: 120_000 }, async () => {
    bed = await TestBed.startPaired();
    const ana = bed.person();
    for (const round of [1, 2, 3]) {
      // Each login writes credentials several times: routing, name, counters.
      const loggedIn = bed.emulator.waitFor('logged-in', undefined, 60_000);
      const live = bed.emulator.waitFor('live', undefined, 60_000);
      bed.emulator.endStream(515);
      await loggedIn;
      if (round > 1) {
        live.catch(() => undefined);
        await bed.service.end('SIGKILL');
        await bed.restartService();
      } else await live;
      await ana.say(`round ${round}`, { to: bed.phone });
      expect((await ana.nextReply()).text).toBe(`Echo: round ${round}`);
    }
  });
});

describe('An event buffer of Baileys that is never flushed', () => {
  it('does not prevent a reply', { timeout: 120_000 }, async () => {
    bed = await TestBed.startPaired();
    const ana = bed.person();
    await ana.say('before', { to: bed.phone });
    await ana.nextReply();
    await bed.service.end();
    bed.emulator.faults.isOfflineEndless = true;
    await ana.say('while away', { to: bed.phone });
    await bed.restartService();
    expect((await ana.nextReply()).text).toBe('Echo: while away');
    await ana.say('live', { to: bed.phone });
    expect((await ana.nextReply()).text).toBe('Echo: live');
  });
});

function device(): string {
  return bed.emulator.linkedDevices(bed.phone.pn)[0]?.pn ?? '';
}
