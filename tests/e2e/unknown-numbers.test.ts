import { describe, expect, it } from 'vitest';
import { startNodeCluster } from '../support/node-cluster.ts';
import { newNumber, TestBed } from '../support/test-bed.ts';
import { createPerson } from '../whatsapp-emulator/person.ts';

const bed = TestBed.shared();

const send = (phone: string, text: string, headers = {}) =>
  bed.service.api('POST', '/api/messages', { channelId: phone, text }, headers);

/** Message stanzas that were sent to a number or a group. */
const sentTo = (phone: string) =>
  bed.emulator.stanzas().filter(({ tag, attrs }) => tag === 'message' && attrs.to?.startsWith(phone));

const asked = (phone: string) => bed.emulator.lookUps().filter((each) => each === phone).length;

const rowOf = async (id: string) => (await bed.service.api('GET', `/api/messages/${id}`)).body.data;

/** Resolves when the account is not connected, until `connect`. */
async function disconnect(): Promise<void> {
  bed.emulator.faults.refusedUpgrades = 1_000;
  bed.emulator.drop();
  await expect
    .poll(async () => (await bed.service.api('GET', '/api/accounts/default')).body.data, { timeout: 60_000 })
    .toMatchObject({ state: 'waiting' });
}

async function connect(): Promise<void> {
  bed.emulator.faults.refusedUpgrades = 0;
  await bed.service.api('POST', '/api/accounts/default/restart');
}

describe('the first message to a number', () => {
  it('is refused with 422 when WhatsApp has no account with it: nothing is sent or stored, and WhatsApp is asked once', async () => {
    const phone = newNumber('347');
    for (let n = 0; n < 2; n++) {
      const { status, body } = await send(phone, 'hello');
      expect(status).toBe(422);
      expect(body).toMatchObject({ code: 'NOT_ON_WHATSAPP', error: expect.stringContaining('no account') });
    }
    const { body } = await bed.service.api('GET', `/api/messages?direction=outgoing&channelId=${phone}`);
    expect(body.data).toEqual([]);
    expect(sentTo(phone)).toEqual([]);
    expect(asked(phone)).toBe(1);
  });

  it('is sent when the number has an account; WhatsApp is not asked again, nor about people who wrote, LIDs and groups', async () => {
    const [stranger, known] = [bed.person(), bed.person()];
    await known.say('hello', { to: bed.phone });
    await known.nextReply();
    const before = bed.emulator.lookUps().length;
    expect((await send(stranger.phone, 'one')).status).toBe(202);
    expect((await send(stranger.phone, 'two')).status).toBe(202);
    expect((await send(known.phone, 'news')).status).toBe(202);
    expect((await stranger.waitForReceived(2)).map(({ text }) => text)).toEqual(['one', 'two']);
    expect((await known.nextReply()).text).toBe('news');
    expect(bed.emulator.lookUps().slice(before)).toEqual([stranger.phone]);
  });

  it('waits for the connection with its question, and ends as a dead letter when nobody has the number', async () => {
    const [stranger, phone] = [bed.person(), newNumber('347')];
    await disconnect();
    const [unknown, good] = [await send(phone, 'hello'), await send(stranger.phone, 'hello')];
    expect([unknown.status, good.status]).toEqual([202, 202]);
    await connect();
    expect((await stranger.nextReply()).text).toBe('hello');
    const { id } = unknown.body.data as { id: string };
    await expect
      .poll(() => rowOf(id), { timeout: 60_000 })
      .toMatchObject({
        state: 'dead',
        error: expect.stringContaining('no account with this number'),
      });
    const letters = (await bed.service.api('GET', '/api/dead-letters?reason=not-on-whatsapp')).body;
    expect(letters.data).toMatchObject([{ reason: 'not-on-whatsapp' }]);
    expect(sentTo(phone)).toEqual([]);
  });

  it('is sent once after a crash in the middle of the question, and WhatsApp is not asked again after an answer', async () => {
    const [phone, nobody] = [newNumber('346'), newNumber('347')];
    expect((await send(nobody, 'hello')).status).toBe(422);
    await disconnect();
    expect((await send(phone, 'hello')).status).toBe(202);
    bed.emulator.faults.isIgnoringLookUps = true;
    await connect();
    await expect.poll(() => asked(phone)).toBe(1);
    expect(sentTo(phone)).toEqual([]);
    const stranger = createPerson(bed.emulator, { phone });
    await bed.service.end('SIGKILL');
    bed.emulator.faults.clear();
    await bed.restartService();
    expect((await stranger.nextReply()).text).toBe('hello');
    await bed.service.end();
    await bed.restartService();
    expect(stranger.received.map(({ text, repeats }) => [text, repeats])).toEqual([['hello', 0]]);
    expect(new Set(sentTo(phone).map(({ attrs }) => attrs.id)).size).toBe(1);
    expect((await send(nobody, 'hello')).status).toBe(422);
    expect(asked(nobody)).toBe(1);
  });
});

describe('the first message to a number that a node sends for an account of another node', () => {
  it('is refused with 422 before it is stored, and sent when the number has an account', async () => {
    const { bed: shared, nodes } = await startNodeCluster(['a', 'b']);
    try {
      await nodes.pair(shared.phone);
      const owner = await nodes.untilOwned();
      const other = nodes.any(owner);
      const [phone, stranger] = [newNumber('347'), shared.person()];
      const { status, body } = await other.api('POST', '/api/messages', { channelId: phone, text: 'hello' });
      expect([status, body.code]).toEqual([422, 'NOT_ON_WHATSAPP']);
      const stored = await other.api('GET', `/api/messages?direction=outgoing&channelId=${phone}`);
      expect(stored.body.data).toEqual([]);
      expect(shared.emulator.lookUps()).toEqual([phone]);
      const sent = await other.api('POST', '/api/messages', { channelId: stranger.phone, text: 'hello' });
      expect(sent.status).toBe(202);
      expect((await stranger.nextReply()).text).toBe('hello');
      expect(shared.emulator.lookUps()).toEqual([phone, stranger.phone]);
      expect(await nodes.ownersOf()).toEqual([owner]);
    } finally {
      await nodes.endAll('SIGTERM');
      await shared.close();
    }
  });
});
