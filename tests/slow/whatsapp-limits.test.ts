import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newNumber, TestBed } from '../support/test-bed.ts';

const HOUR_MS = 3_600_000;

let bed: TestBed;

beforeEach(async () => {
  bed = await TestBed.startPaired();
});

afterEach(() => bed.close());

const send = async (phone: string, text = 'hello') => {
  const { status, body } = await bed.service.api('POST', '/api/messages', { channelId: phone, text });
  expect(status).toBe(202);
  return (body.data as { id: string }).id;
};
const row = async (id: string) => (await bed.service.api('GET', `/api/messages/${id}`)).body.data;
const account = async () => (await bed.service.api('GET', '/api/accounts/default')).body.data;
const limits = async () =>
  ((await bed.service.api('GET', '/api/accounts/default/limits')).body.data as { whatsapp: unknown[] })
    .whatsapp;
const friend = async () => {
  const person = bed.person();
  await person.say('hola', { to: bed.phone });
  await person.nextReply();
  return person;
};

describe('error 463', () => {
  it('for one new person ends that message alone: the account stays open, and others get theirs', async () => {
    const [refused, other, known] = [bed.person(), bed.person(), await friend()];
    bed.emulator.faults.refusedContacts = new Set([refused.phone]);
    const id = await send(refused.phone);
    await expect
      .poll(() => row(id), { timeout: 60_000 })
      .toMatchObject({
        state: 'dead',
        error: expect.stringContaining('first message to this person (463)'),
      });
    const letters = await bed.service.api('GET', '/api/dead-letters?reason=contact-refused');
    expect(letters.body.data).toHaveLength(1);
    await send(other.phone);
    expect((await other.nextReply()).text).toBe('hello');
    await known.say('still there?', { to: bed.phone });
    expect((await known.nextReply()).text).toBe('Echo: still there?');
    expect(await account()).toMatchObject({ state: 'open' });
    expect(await limits()).toEqual([]);
    expect(refused.received).toEqual([]);
  });

  it('for a person who wrote is repeated with the privacy token, and arrives once', async () => {
    const known = await friend();
    bed.emulator.faults.refusedMessages = 1;
    const id = await send(known.phone, 'news');
    await expect
      .poll(() => row(id), { timeout: 60_000 })
      .toMatchObject({
        state: 'queued',
        error: expect.stringContaining('privacy token'),
      });
    expect((await known.nextReply(60_000)).text).toBe('news');
    expect(await account()).toMatchObject({ state: 'open' });
    expect(known.received.filter(({ text }) => text === 'news')).toHaveLength(1);
  });
});

describe('a lock of messages to new contacts', () => {
  it('is a state with its end; people who wrote are answered; strangers get theirs when it ends', async () => {
    const [stranger, known] = [bed.person(), await friend()];
    bed.emulator.lockNewContacts(HOUR_MS, 'WEB_COMPANION_ONLY');
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({
      state: 'restricted',
      isConnected: true,
      limits: [{ kind: 'new-contacts', reason: expect.stringContaining('WEB_COMPANION_ONLY') }],
    });
    const [limit] = (await limits()) as Array<{ kind: string; until: string }>;
    expect(limit?.kind).toBe('new-contacts');
    expect(Math.abs(Date.parse(limit?.until ?? '') - Date.now() - HOUR_MS)).toBeLessThan(60_000);
    const metrics = await (await fetch(`${bed.service.url}/metrics`)).text();
    expect(metrics).toMatch(
      /wa2ai_account_limit_seconds\{account="default",kind="new-contacts"\} 3[456]\d\d/,
    );
    const id = await send(stranger.phone);
    await expect
      .poll(() => row(id), { timeout: 60_000 })
      .toMatchObject({
        state: 'queued',
        delayedUntil: expect.any(String),
      });
    await known.say('still there?', { to: bed.phone });
    expect((await known.nextReply()).text).toBe('Echo: still there?');
    expect(stranger.received).toEqual([]);
    // It ends at its time, here in a few seconds.
    bed.emulator.lockNewContacts(4_000);
    expect((await stranger.nextReply(60_000)).text).toBe('hello');
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({ state: 'open' });
  });

  it('that began while the account was offline is known after the login', async () => {
    await bed.service.end('SIGKILL');
    bed.emulator.faults.reachOutLock = { endsAtMs: Date.now() + HOUR_MS, type: 'RESTRICT_ALL_COMPANIONS' };
    await bed.restartService();
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({ state: 'restricted' });
  });

  it('that began while the account was offline delays what waited for the connection, and each arrives once when it ends', async () => {
    const strangers = [bed.person(), bed.person(), bed.person()];
    const { faults } = bed.emulator;
    faults.refusedUpgrades = 1_000;
    bed.emulator.drop();
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({ state: 'waiting' });
    const ids: string[] = [];
    for (const { phone } of strangers) ids.push(await send(phone));
    faults.reachOutLock = { endsAtMs: Date.now() + HOUR_MS, type: 'RESTRICT_ALL_COMPANIONS' };
    faults.refusedUpgrades = 0;
    await bed.service.api('POST', '/api/accounts/default/restart');
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({ state: 'restricted' });
    for (const id of ids) {
      await expect
        .poll(() => row(id), { timeout: 60_000 })
        .toMatchObject({ state: 'queued', delayedUntil: expect.any(String) });
    }
    const stanzasTo = (phone: string) =>
      bed.emulator.stanzas().filter(({ tag, attrs }) => tag === 'message' && attrs.to?.startsWith(phone));
    expect(strangers.flatMap(({ phone }) => stanzasTo(phone))).toEqual([]);
    expect(strangers.flatMap(({ received }) => received)).toEqual([]);
    bed.emulator.lockNewContacts(4_000);
    for (const person of strangers) expect((await person.nextReply(60_000)).text).toBe('hello');
    for (const { received, phone } of strangers) {
      expect(received).toHaveLength(1);
      expect(new Set(stanzasTo(phone).map(({ attrs }) => attrs.id)).size).toBe(1);
    }
    expect((await bed.service.api('GET', '/api/dead-letters')).body.data).toEqual([]);
  });

  it('never follows from a number without an account: nothing is sent to it', async () => {
    const phone = newNumber('347');
    expect((await bed.service.api('POST', '/api/messages', { channelId: phone, text: 'hello' })).status).toBe(
      422,
    );
    const known = await friend();
    expect(known.received).toHaveLength(1);
    expect(bed.emulator.faults.reachOutLock).toBeUndefined();
    expect(await account()).toMatchObject({ state: 'open' });
  });
});

describe('a cap of new chats', () => {
  it('delays the message that was refused for it and the later ones, until the cycle ends', async () => {
    const [first, second, third] = [bed.person(), bed.person(), bed.person()];
    bed.emulator.faults.newChats = { used: 1, quota: 2, endsAtMs: Date.now() + HOUR_MS };
    await send(first.phone);
    await first.nextReply();
    const ids = [await send(second.phone)];
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({
      state: 'restricted',
      limits: [{ kind: 'new-chats', reason: expect.stringContaining('2 of 2') }],
    });
    ids.push(await send(third.phone));
    for (const id of ids) {
      await expect
        .poll(() => row(id), { timeout: 60_000 })
        .toMatchObject({ delayedUntil: expect.any(String) });
    }
    bed.emulator.countNewChats(0, 2, HOUR_MS);
    for (const person of [second, third]) expect((await person.nextReply(60_000)).text).toBe('hello');
    await expect.poll(account, { timeout: 60_000 }).toMatchObject({ state: 'open' });
    expect((await bed.service.api('GET', '/api/dead-letters')).body.data).toEqual([]);
  });
});
