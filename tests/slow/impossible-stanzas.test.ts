import { randomBytes } from 'node:crypto';
import { type BinaryNode, proto } from '@whiskeysockets/baileys';
import { afterEach, describe, expect, it } from 'vitest';
import { untilStatus } from '../support/pairing.ts';
import { TestBed } from '../support/test-bed.ts';
import { node } from '../whatsapp-emulator/nodes.ts';
import type { Person } from '../whatsapp-emulator/person.ts';
import { SenderKeys } from '../whatsapp-emulator/signal-sender-keys.ts';

let bed: TestBed;

afterEach(async () => {
  await bed.close();
});

/** Names that PostgreSQL cannot store as the name of a key. */
const NAMES = {
  'with NUL': 'a\u0000b',
  'of 100 kB': randomBytes(50_000).toString('hex'),
};

async function setup() {
  bed = await TestBed.startPaired();
  const [device] = bed.emulator.linkedDevices(bed.phone.pn);
  if (!device) throw new Error('the service is linked');
  let logins = 0;
  bed.emulator.events.on('logged-in', () => {
    logins += 1;
  });
  const isAnswered = async (person: Person, text: string) => {
    await person.say(text, { to: bed.phone });
    expect((await person.nextReply()).text).toBe(`Echo: ${text}`);
  };
  const isSettled = () => bed.emulator.waitUntilSettled(device.pn);
  return { device: device.pn, logins: () => logins, isAnswered, isSettled };
}

/** The key of a group with this name, as a member sends it before the first message. */
async function senderKey(groupId: string): Promise<proto.IMessage> {
  const axolotlSenderKeyDistributionMessage = await new SenderKeys().distribution(groupId);
  return { senderKeyDistributionMessage: { groupId, axolotlSenderKeyDistributionMessage } };
}

describe('a sender key of a group with an impossible name, from a stranger', () => {
  it('is acknowledged, and everybody is answered over the same connection, after a restart too', async () => {
    const { logins, isAnswered, isSettled } = await setup();
    const [mallory, ana] = [bed.person(), bed.person()];
    for (const name of Object.values(NAMES)) {
      await mallory.say(await senderKey(`${name}@g.us`), { to: bed.phone });
      await mallory.say({ conversation: 'hello', ...(await senderKey(`${name}@g.us`)) }, { to: bed.phone });
      expect((await mallory.nextReply()).text).toBe('Echo: hello');
      await isAnswered(ana, 'are you there?');
    }
    await isSettled();
    expect(logins()).toBe(0);

    await bed.service.end();
    for (const name of Object.values(NAMES)) {
      await mallory.say(await senderKey(`${name}@g.us`), { to: bed.phone });
    }
    await ana.say('and now?', { to: bed.phone });
    await bed.restartService();
    expect((await ana.nextReply()).text).toBe('Echo: and now?');
    await isSettled();
    expect(logins()).toBe(1);
  });
});

describe('stanzas of the server with impossible names', () => {
  it('are acknowledged without a new login', async () => {
    const { device, logins, isAnswered, isSettled } = await setup();
    const ana = bed.person();
    const bytes = Buffer.from('token');
    for (const [index, name] of Object.values(NAMES).entries()) {
      const jid = `${name}@lid`;
      const stanzas: BinaryNode[] = [
        node('notification', { id: `d${index}`, from: jid, type: 'devices' }, [
          node('remove', { device_hash: 'x' }, [node('device', { jid: `${name}:3@lid` })]),
        ]),
        node('notification', { id: `p${index}`, from: jid, sender_lid: jid, type: 'privacy_token' }, [
          node('tokens', {}, [node('token', { jid, t: '1700000000', type: 'trusted_contact' }, bytes)]),
        ]),
        node('notification', { id: `e${index}`, from: jid, type: 'encrypt' }, [node('identity')]),
        node('receipt', { id: name, from: ana.pn, t: '99999999999999999999' }),
        node('receipt', { id: name, from: ana.pn, type: 'retry' }, [
          node('retry', { count: '1', id: name, t: '1700000000', v: '1' }),
        ]),
        node('message', { id: `m${index}`, from: jid, t: '1700000000' }, [
          node('enc', { v: '2', type: 'msg' }, bytes),
        ]),
        node('message', { id: `n${index}`, from: `${name}@g.us`, participant: jid, t: '1700000000' }, [
          node('enc', { v: '2', type: 'skmsg' }, bytes),
        ]),
        node('message', { id: `${index}${name}`, from: ana.pn, participant: jid, sender_lid: jid, t: 'x' }, [
          node('enc', { v: '2', type: 'pkmsg' }, bytes),
          node('verified_name', {}, Buffer.from('no certificate')),
        ]),
      ];
      for (const stanza of stanzas) bed.emulator.deliverStanza(device, stanza);
      await isAnswered(ana, `are you there? ${index}`);
    }
    await isSettled();
    await isAnswered(ana, 'and now?');
    expect(logins()).toBe(0);
  });
});

describe('a message that nobody encrypted', () => {
  it('is refused and recorded, and nobody is answered', async () => {
    const { device, isAnswered, isSettled } = await setup();
    const ana = bed.person();
    const content = proto.Message.encode({ conversation: 'give Bob everything' }).finish();
    const attrs = { id: 'FORGED', from: ana.pn, t: String(Math.floor(Date.now() / 1_000)) };
    bed.emulator.deliverStanza(device, node('message', attrs, [node('plaintext', {}, content)]));
    await isSettled();
    await isAnswered(ana, 'hello');
    expect(await bed.message('FORGED:undecryptable')).toMatchObject({ kind: 'undecryptable', text: '' });
    expect(await bed.message('FORGED')).toBeUndefined();
  });
});

describe('a server whose certificate its issuer did not sign', () => {
  it('gets no login and no QR code', async () => {
    bed = await TestBed.start({ isForged: true });
    const service = await bed.startService();
    const status = await untilStatus(service, ({ state }) => state === 'waiting');
    expect(JSON.stringify(status)).toContain('no certificate of WhatsApp');
    expect(status.qr).toBeUndefined();
    expect(bed.emulator.stanzas()).toEqual([]);
  });
});
