import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestBed } from '../support/test-bed.ts';

let bed: TestBed;

beforeEach(async () => {
  bed = await TestBed.startPaired({ env: { WA2AI_ACK_TIMEOUT: '1s' } });
});

afterEach(async () => {
  await bed.close();
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${bed.service.url}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

describe('A reply that WhatsApp receives and does not acknowledge', () => {
  it('is sent again with the same id until it is acknowledged, as one bubble', async () => {
    const ana = bed.person();
    bed.emulator.faults.withheldAcks = 1;
    bed.emulator.faults.isWithheldLost = true;
    const id = await ana.say('are you there?', { to: bed.phone });
    await bed.service.untilLog((line) => line.msg === 'reply not acknowledged in time, sending it again');
    expect((await ana.nextReply()).text).toBe('Echo: are you there?');
    await bed.service.untilLog((line) => line.msg === 'reply sent');
    const bubble = ana.received[0];
    const [reply] = ((await bed.message(id))?.replies ?? []) as Array<Record<string, unknown>>;
    expect(reply?.waMessageId).toBe(bubble?.id);
    expect(ana.received).toHaveLength(1);
    expect(await metric('wa2ai_dead_letters')).toBe(0);
  });
});

describe('An account of which WhatsApp locks messages to new contacts', () => {
  const lock = () => {
    bed.emulator.faults.reachOutLock = { endsAtMs: Date.now() + 3_600_000, type: 'RESTRICT_ALL_COMPANIONS' };
  };

  it('is still restricted after a restart, shows until when, and writes to strangers only then', async () => {
    const [stranger, another, friend] = [bed.person(), bed.person(), bed.person()];
    await friend.say('hola', { to: bed.phone });
    await friend.nextReply();
    const send = (to: string) =>
      bed.service.api('POST', '/api/messages', { channelId: to, text: 'Good morning' });
    const account = async () =>
      ((await bed.service.api('GET', '/api/accounts')).body.data as Array<Record<string, string>>)[0];

    lock();
    await send(stranger.phone);
    await bed.service.untilLog((line) => line.msg === 'account state' && line.state === 'restricted');
    const until = Date.parse((await account())?.retryAt ?? '');
    await bed.service.end('SIGKILL');
    await bed.restartService({ WA2AI_ACK_TIMEOUT: '1s' });
    await expect.poll(async () => (await account())?.state).toBe('restricted');
    expect(await account()).toMatchObject({ reason: expect.stringContaining('RESTRICT_ALL_COMPANIONS') });
    // The two clocks are read within seconds of each other.
    expect(Math.abs(Date.parse((await account())?.retryAt ?? '') - until)).toBeLessThan(30_000);

    expect((await send(another.phone)).status).toBe(202);
    await bed.service.untilLog((line) => String(line.msg).startsWith('message to a new contact delayed'));
    await friend.say('still there?', { to: bed.phone });
    expect((await friend.nextReply()).text).toBe('Echo: still there?');
    expect([...stranger.received, ...another.received]).toEqual([]);

    // WhatsApp ended the lock, and an operator restarts the account: the delayed messages are sent
    bed.emulator.faults.clear();
    await bed.service.api('POST', '/api/accounts/default/restart', {});
    expect((await stranger.nextReply()).text).toBe('Good morning');
    expect((await another.nextReply()).text).toBe('Good morning');
  });

  it('delays messages to strangers, shows until when, and keeps answering', async () => {
    const [stranger, another, friend] = [bed.person(), bed.person(), bed.person()];
    await friend.say('hola', { to: bed.phone });
    await friend.nextReply();

    lock();
    const send = (to: string) =>
      bed.service.api('POST', '/api/messages', { channelId: to, text: 'Good morning' });
    const first = await send(stranger.phone);
    const outboxId = (first.body.data as { id: string }).id;
    await bed.service.untilLog((line) => line.msg === 'account state' && line.state === 'restricted');
    const second = await send(another.phone);
    expect(second.status).toBe(202);
    await bed.service.untilLog((line) => String(line.msg).startsWith('message to a new contact delayed'));

    await friend.say('still there?', { to: bed.phone });
    expect((await friend.nextReply()).text).toBe('Echo: still there?');

    const { body } = await bed.service.api('GET', '/api/accounts');
    const [account] = body.data as Array<Record<string, string>>;
    expect(account).toMatchObject({
      state: 'restricted',
      reason: expect.stringContaining('RESTRICT_ALL_COMPANIONS'),
    });
    expect(Date.parse(account?.retryAt ?? '')).toBeGreaterThan(Date.now() + 60_000);
    expect([...stranger.received, ...another.received]).toEqual([]);
    bed.emulator.faults.clear();
    const letters = await bed.service.api('GET', '/api/dead-letters');
    expect(letters.body.data).toEqual([]);
    expect(outboxId).toMatch(/^\d+$/);
  });
});
