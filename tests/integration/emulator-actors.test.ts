import { randomBytes } from 'node:crypto';
import {
  aesDecryptCTR,
  aesEncryptCTR,
  aesEncryptGCM,
  type BinaryNode,
  Curve,
  configureSuccessfulPairing,
  derivePairingCodeKey,
  hkdf,
  initAuthCreds,
  normalizeMessageContent,
  proto,
  type WAMessage,
} from '@whiskeysockets/baileys';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { TestClient } from '../support/signal-test-client.ts';
import type { LinkCodeFinish, LinkCodeHello } from '../whatsapp-emulator/actors.ts';
import { checkDeviceIdentity, parsePairingQr } from '../whatsapp-emulator/adv-identity.ts';
import { createGroup } from '../whatsapp-emulator/group.ts';
import {
  document,
  editedText,
  ephemeralText,
  image,
  mentioningText,
  place,
  reaction,
  revocation,
  sticker,
  textOf,
  video,
  viewOnceImage,
  voice,
} from '../whatsapp-emulator/message-content.ts';
import { createPeople, createPerson, type Person } from '../whatsapp-emulator/person.ts';
import { createPhone } from '../whatsapp-emulator/phone.ts';
import { SignalIdentity } from '../whatsapp-emulator/signal-identity.ts';
import { SignalStore } from '../whatsapp-emulator/signal-store.ts';

const UNREADABLE = proto.WebMessageInfo.StubType.CIPHERTEXT;

let client: TestClient;
let maria: Person;

beforeEach(async () => {
  // libsignal prints sessions, private keys included
  for (const method of ['info', 'warn', 'error'] as const) vi.spyOn(console, method).mockReturnValue();
  client = new TestClient();
  await client.uploadKeys(8);
  maria = createPerson(client, { phone: '34600111111', name: 'Maria' });
});

function textIn(message: WAMessage): string | undefined {
  return textOf(message.message ?? {});
}

describe('a person who writes', () => {
  it('opens a session with her first message and keeps it for the next', async () => {
    await maria.say('hola', { to: client.account });
    await maria.say('¿hay alguien?', { to: client.account });
    expect(client.messages.map(({ encs }) => encs[0]?.attrs.type)).toEqual(['pkmsg', 'pkmsg']);
    expect(client.bundlesTaken).toBe(1);
    const texts = [];
    for (const message of client.messages) texts.push(textIn(await client.read(message)));
    expect(texts).toEqual(['hola', '¿hay alguien?']);
  });

  it('switches to the short form after the first reply', async () => {
    await maria.say('hola', { to: client.account });
    await client.readLast();
    await maria.onMessage(await client.write(maria, { conversation: 'hi' }, 'A1'));
    await maria.say('bien', { to: client.account });
    expect(client.messages.at(-1)?.encs[0]?.attrs.type).toBe('msg');
    expect(textIn(await client.readLast())).toBe('bien');
  });

  it('is decrypted by LID and by phone number, in one session', async () => {
    await maria.say('one', { to: client.account, via: 'pn' });
    expect(textIn(await client.readLast())).toBe('one');
    await maria.say('two', { to: client.account, via: 'lid' });
    expect(textIn(await client.readLast())).toBe('two');
    expect(client.bundlesTaken).toBe(1);
  });

  it('sends each kind of content with readable text', async () => {
    const kinds: [proto.IMessage, string | undefined][] = [
      [ephemeralText('gone soon'), 'gone soon'],
      [viewOnceImage('look once'), 'look once'],
      [image('a caption'), 'a caption'],
      [video('a film'), 'a film'],
      [document('letter.pdf', 'a letter'), 'a letter'],
      [document('letter.pdf'), undefined],
      [mentioningText('hi @34600222222', ['34600222222@s.whatsapp.net']), 'hi @34600222222'],
      [reaction('👍', { id: 'A1', author: maria.pn, chat: maria.pn, isOwn: true }), '👍'],
      [voice(), undefined],
      [sticker(), undefined],
      [place(40.4, -3.7), undefined],
    ];
    for (const [content, text] of kinds) {
      await maria.say(content, { to: client.account });
      const read = await client.readLast();
      expect(read.messageStubType).toBeUndefined();
      expect(textIn(read)).toBe(text);
    }
  });

  it('quotes messages, and edits her own', async () => {
    const quoted = { id: 'A1', author: client.account, text: 'hi' };
    const id = await maria.say('yes, this one', { to: client.account, quoted });
    const reply = normalizeMessageContent((await client.readLast()).message);
    expect(reply?.extendedTextMessage?.contextInfo?.stanzaId).toBe('A1');
    await maria.edit(id, 'no, that one', { to: client.account });
    expect(client.messages.at(-1)?.attrs).toEqual({ edit: '1' });
    const edit = normalizeMessageContent((await client.readLast()).message);
    expect(edit?.protocolMessage?.key?.id).toBe(id);
    expect(textOf(edit ?? {})).toBe('no, that one');
  });

  it('keeps the order of calls that are not awaited', async () => {
    const lines = Array.from({ length: 20 }, (_, index) => `line ${index}`);
    await Promise.all(lines.map((line) => maria.say(line, { to: client.account })));
    expect(client.messages.map(({ message }) => message.conversation)).toEqual(lines);
  });

  it('sends a corrupted message again when the client requests it', async () => {
    const id = await maria.say('one more time', { to: client.account, isCorrupt: true });
    expect((await client.readLast()).messageStubType).toBe(UNREADABLE);
    await maria.onReceipt(await client.retryReceipt(id, 1));
    const again = client.messages.at(-1);
    expect(again).toMatchObject({ id, encs: [{ attrs: { count: '1', type: 'pkmsg' } }] });
    expect(textIn(await client.readLast())).toBe('one more time');
  });

  it('redelivers the same bytes, and encrypts the same message again', async () => {
    const id = await maria.say('once', { to: client.account });
    await client.readLast();
    maria.redeliver(id);
    expect(client.messages[1]).toEqual(client.messages[0]);
    expect((await client.readLast()).messageStubType).toBe(UNREADABLE);
    await maria.sayAgain(id);
    expect(client.messages[2]?.id).toBe(id);
    expect(textIn(await client.readLast())).toBe('once');
  });

  it('posts a status', async () => {
    await maria.postStatus('at the beach', client.account);
    const read = await client.readLast();
    expect(read.key).toMatchObject({ remoteJid: 'status@broadcast', participant: maria.pn });
    expect(textIn(read)).toBe('at the beach');
  });

  it('refuses an account that is not linked', async () => {
    await expect(maria.say('hola', { to: '34699999999' })).rejects.toThrow(/no linked device/);
  });
});

describe('a person who reads', () => {
  it('shows a message of an unknown client and sends its receipt', async () => {
    const reading = await maria.onMessage(await client.write(maria, { conversation: 'hi' }, 'A1'));
    expect(reading.kind).toBe('read');
    expect(maria.received).toMatchObject([{ id: 'A1', text: 'hi', chat: client.account, repeats: 0 }]);
    expect(client.receipts).toMatchObject([{ to: client.pn, ids: ['A1'] }]);
    expect(client.receipts[0]?.type).toBeUndefined();
  });

  it('returns replies one by one, and waits for later ones', async () => {
    await maria.onMessage(await client.write(maria, { conversation: 'first' }, 'A1'));
    expect((await maria.nextReply()).text).toBe('first');
    const second = maria.nextReply();
    await maria.onMessage(await client.write(maria, { conversation: 'second' }, 'A2'));
    expect((await second).text).toBe('second');
    await expect(maria.nextReply(1)).rejects.toThrow('waited 1 ms for a reply');
  });

  it('treats a repeated id as the same bubble, in the same bytes or in new ones', async () => {
    const first = await client.write(maria, { conversation: 'hi' }, 'A1');
    await maria.onMessage(first);
    expect(await maria.onMessage(first)).toMatchObject({ kind: 'repeat' });
    const repeated = await client.write(maria, { conversation: 'hi' }, 'A1');
    expect(await maria.onMessage(repeated)).toMatchObject({ kind: 'repeat' });
    expect(maria.received).toMatchObject([{ id: 'A1', repeats: 2 }]);
    const next = await client.write(maria, { conversation: 'still here' }, 'A2');
    expect(await maria.onMessage(next)).toMatchObject({ kind: 'read' });
  });

  it('requests an undecryptable message again, with her keys the second time', async () => {
    await maria.onMessage(await client.write(maria, { conversation: 'hi' }, 'A1'));
    await maria.say('hola', { to: client.account });
    await client.readLast();
    await maria.loseSession(client.account);
    const lost = await client.write(maria, { conversation: 'lost' }, 'A2');
    expect(lost.ciphertexts[0]?.type).toBe('msg');
    expect(await maria.onMessage(lost)).toMatchObject({ kind: 'unreadable' });
    await maria.onMessage(lost);
    const retries = client.receipts.filter(({ type }) => type === 'retry');
    expect(retries.map(({ children }) => children?.map(({ tag }) => tag))).toEqual([
      ['retry', 'registration'],
      ['retry', 'registration', 'keys'],
    ]);
    await client.openSession(maria);
    const repeated = await client.write(maria, { conversation: 'found' }, 'A2');
    expect(await maria.onMessage(repeated)).toMatchObject({ kind: 'read' });
    expect(maria.received.map(({ text }) => text)).toEqual(['hi', 'found']);
  });

  it('ignores bytes that fit no session', async () => {
    await maria.onMessage(await client.write(maria, { conversation: 'one' }, 'A1'));
    const corrupted = await client.write(maria, { conversation: 'two' }, 'A2');
    const bytes = Buffer.from(corrupted.ciphertexts[0]?.bytes ?? []);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 20) ^ 1, bytes.length - 20);
    const ciphertexts = [{ type: corrupted.ciphertexts[0]?.type ?? 'msg', bytes }];
    expect(await maria.onMessage({ ...corrupted, ciphertexts })).toMatchObject({ kind: 'unreadable' });
    const next = await client.write(maria, { conversation: 'three' }, 'A3');
    expect(await maria.onMessage(next)).toMatchObject({ kind: 'read' });
  });

  it('withholds receipts until requested, and sends read receipts when configured', async () => {
    maria.habit.receipts = 'hold';
    await maria.onMessage(await client.write(maria, { conversation: 'hi' }, 'A1'));
    expect(client.receipts).toEqual([]);
    maria.habit.receipts = 'read';
    maria.releaseReceipts();
    await maria.onMessage(await client.write(maria, { conversation: 'hi' }, 'A2'));
    expect(client.receipts.map(({ ids, type }) => [ids[0], type])).toEqual([
      ['A1', undefined],
      ['A2', undefined],
      ['A2', 'read'],
    ]);
  });

  it('decrypts both sides when client and person open a session at the same time', async () => {
    const crossing = await client.write(maria, { conversation: 'hi' }, 'A1');
    await maria.say('hola', { to: client.account });
    expect(textIn(await client.readLast())).toBe('hola');
    expect(await maria.onMessage(crossing)).toMatchObject({ kind: 'read' });
    const late = await client.write(maria, { conversation: 'late' }, 'A2');
    await maria.say('more', { to: client.account });
    expect(textIn(await client.readLast())).toBe('more');
    expect(await maria.onMessage(late)).toMatchObject({ kind: 'read' });
    await maria.say('and more', { to: client.account });
    expect(client.messages.at(-1)?.encs[0]?.attrs.type).toBe('msg');
  });

  it('shows an edited text, and none after a deletion', async () => {
    await maria.onMessage(await client.write(maria, { conversation: 'hi' }, 'A1'));
    await maria.onMessage(await client.write(maria, editedText('A1', 'hello'), 'A2'));
    expect(maria.received).toMatchObject([{ id: 'A1', text: 'hello' }]);
    await maria.onMessage(await client.write(maria, revocation('A1'), 'A3'));
    expect(maria.received.map(({ id, text }) => [id, text])).toEqual([['A1', undefined]]);
  });

  it('keeps the session small over many changes of direction', async () => {
    const store = new SignalStore(new SignalIdentity());
    const stored: number[] = [];
    const storeSession = vi.spyOn(SignalStore.prototype, 'storeSession');
    for (let index = 0; index < 60; index += 1) {
      await maria.say(`q${index}`, { to: client.account });
      await client.readLast();
      await maria.onMessage(await client.write(maria, { conversation: `a${index}` }, `A${index}`));
      const [address, record] = storeSession.mock.lastCall ?? [];
      if (!address || !record) throw new Error('no session was stored');
      await store.storeSession(address, record);
      stored.push(JSON.stringify(store.snapshot(address)).length);
    }
    expect(maria.received).toHaveLength(60);
    expect(stored.at(-1)).toBeLessThan((stored[5] ?? 0) * 1.1);
  });
});

describe.each(['lid', 'pn'] as const)('a group addressed by %s', (addressing) => {
  const subject = 'Friends';

  it('receives the sender key with the first message only', async () => {
    const group = createGroup(client, { subject, addressing, members: [maria, accountOf(client)] });
    await maria.say('hola a todos', { to: group });
    await maria.say('otra vez', { to: group });
    expect(client.messages.map(({ encs }) => encs.map(({ attrs }) => attrs.type))).toEqual([
      ['pkmsg', 'skmsg'],
      ['skmsg'],
    ]);
    const texts = [];
    for (const message of client.messages) texts.push(textIn(await client.read(message)));
    expect(texts).toEqual(['hola a todos', 'otra vez']);
  });

  it('decrypts with the distributed sender key, and requests a message again without it', async () => {
    const group = createGroup(client, { subject, addressing, members: [maria, accountOf(client)] });
    const withKey = await client.writeToGroup(group, maria, { conversation: 'hi all' }, 'G1', true);
    expect(await maria.onMessage(withKey)).toMatchObject({ kind: 'read' });
    const without = await client.writeToGroup(group, maria, { conversation: 'again' }, 'G2', false);
    expect(await maria.onMessage(without)).toMatchObject({ kind: 'read' });
    expect(maria.received.map(({ text, chat }) => [text, chat])).toEqual([
      ['hi all', group.jid],
      ['again', group.jid],
    ]);
    maria.loseGroupKeys(group);
    const lost = await client.writeToGroup(group, maria, { conversation: 'lost' }, 'G3', false);
    expect(await maria.onMessage(lost)).toMatchObject({ kind: 'unreadable' });
    const found = await client.writeToGroup(group, maria, { conversation: 'lost' }, 'G3', true);
    expect(await maria.onMessage(found)).toMatchObject({ kind: 'read' });
  });

  it('answers a retry receipt with key and message in one stanza', async () => {
    const group = createGroup(client, { subject, addressing, members: [maria, accountOf(client)] });
    const id = await maria.say('hola', { to: group, isCorrupt: true });
    expect((await client.readLast()).messageStubType).toBe(UNREADABLE);
    await maria.onReceipt({ ...(await client.retryReceipt(id, 1)), isGroup: true, chat: group.jid });
    expect(textIn(await client.readLast())).toBe('hola');
    await maria.say('y más', { to: group });
    expect(textIn(await client.readLast())).toBe('y más');
  });
});

describe('the phone of an account', () => {
  const qrText = (creds: ReturnType<typeof initAuthCreds>, prefix: string) => {
    const keys = [creds.noiseKey.public, creds.signedIdentityKey.public].map((key) =>
      Buffer.from(key).toString('base64'),
    );
    return `${prefix}${['2@ref', ...keys, creds.advSecretKey, '1'].join(',')}`;
  };

  it.each(['', 'https://wa.me/settings/linked_devices#'])(
    'links a client by the QR text "%s...", with valid signatures',
    async (prefix) => {
      const creds = initAuthCreds();
      const phone = createPhone(client, { phone: '34600000001' });
      await phone.scan(qrText(creds, prefix));
      const [request] = client.pairRequests;
      if (!request) throw new Error('nothing was paired');
      expect(request.ref).toBe('2@ref');
      const { reply, creds: paired } = configureSuccessfulPairing(pairSuccess(request.deviceIdentity), creds);
      expect(paired.me?.id).toBe(client.pn);
      const signed = signedIdentity(reply);
      const companion = creds.signedIdentityKey.public;
      expect(checkDeviceIdentity(signed, phone.identityKey, companion)).toBeUndefined();
      const stranger = Curve.generateKeyPair().public;
      expect(checkDeviceIdentity(signed, stranger, companion)).toBe('the account signature is wrong');
      expect(checkDeviceIdentity(signed, phone.identityKey, stranger)).toBe('the account signature is wrong');
      const unsigned = proto.ADVSignedDeviceIdentity.decode(signed);
      unsigned.deviceSignature = Buffer.alloc(64);
      const forged = proto.ADVSignedDeviceIdentity.encode(unsigned).finish();
      expect(checkDeviceIdentity(forged, phone.identityKey, companion)).toBe('the device signature is wrong');
    },
  );

  it('creates an identity that a client with another secret refuses', async () => {
    const creds = initAuthCreds();
    const phone = createPhone(client, { phone: '34600000001' });
    await phone.scan(qrText(creds, ''));
    const identity = client.pairRequests[0]?.deviceIdentity ?? Buffer.alloc(0);
    const other = { ...creds, advSecretKey: initAuthCreds().advSecretKey };
    expect(() => configureSuccessfulPairing(pairSuccess(identity), other)).toThrow(/account signature/);
  });

  it('links a client by its code, however it is typed', async () => {
    const phone = createPhone(client, { phone: '34600000001' });
    const companion = new Companion('ABCD2345');
    const linked = phone.enterCode('abcd-2345');
    phone.onLinkCodeHello(await companion.hello());
    await phone.onLinkCodeFinish(await companion.finish(await client.nextLinkCode()));
    expect(await linked).toBe(client.pn);
    const identity = client.pairRequests[0]?.deviceIdentity ?? Buffer.alloc(0);
    expect(configureSuccessfulPairing(pairSuccess(identity), companion.creds).creds.me?.id).toBe(client.pn);
  });

  it('reports a wrong code', async () => {
    const phone = createPhone(client, { phone: '34600000001' });
    const companion = new Companion('ABCD2345');
    phone.onLinkCodeHello(await companion.hello());
    const linked = expect(phone.enterCode('ABCD2346')).rejects.toThrow(/the code is wrong/);
    await phone.onLinkCodeFinish(await companion.finish(await client.nextLinkCode()));
    await linked;
    expect(client.pairRequests).toEqual([]);
  });

  it('reports what is wrong with a QR text', () => {
    expect(() => parsePairingQr('2@ref,AAAA')).toThrow("the QR text's noise key has 3 bytes instead of 32");
  });

  it("receives a copy of the client's messages, unwrapped", async () => {
    const phone = createPhone(client, { phone: '34600000001' });
    const copy = { deviceSentMessage: { destinationJid: maria.pn, message: { conversation: 'hi Maria' } } };
    await phone.onMessage(await client.write(phone, copy, 'A1'));
    expect(phone.copies).toMatchObject([{ id: 'A1', text: 'hi Maria' }]);
  });

  it('writes to a person, which the client sees as its own message', async () => {
    const phone = createPhone(client, { phone: '34600000001' });
    await phone.say('from my phone', { to: maria });
    const read = await client.readLast();
    expect(read.key).toMatchObject({ fromMe: true, remoteJid: maria.pn });
    expect(textIn(read)).toBe('from my phone');
  });
});

it('creates two hundred people with distinct numbers and LIDs', () => {
  const people = createPeople(client, 200);
  expect(new Set(people.flatMap(({ pn, lid }) => [pn, lid]))).toHaveProperty('size', 400);
});

/** The client's part of pairing by code, made with the helpers of Baileys' socket handler. */
class Companion {
  readonly creds = initAuthCreds();
  readonly #ephemeral = Curve.generateKeyPair();
  readonly #code: string;

  constructor(code: string) {
    this.#code = code;
  }

  async hello(): Promise<LinkCodeHello> {
    const salt = randomBytes(32);
    const iv = randomBytes(16);
    const wrapped = aesEncryptCTR(this.#ephemeral.public, await derivePairingCodeKey(this.#code, salt), iv);
    return {
      ref: 'code-ref',
      wrappedCompanionEphemeral: Buffer.concat([salt, iv, wrapped]),
      noiseKey: this.creds.noiseKey.public,
      platform: '1',
    };
  }

  async finish(answer: { ref: string; wrapped: Uint8Array; identity: Uint8Array }): Promise<LinkCodeFinish> {
    const wrapped = Buffer.from(answer.wrapped);
    const key = await derivePairingCodeKey(this.#code, wrapped.subarray(0, 32));
    const primary = aesDecryptCTR(wrapped.subarray(48, 80), key, wrapped.subarray(32, 48));
    const shared = Curve.sharedKey(this.#ephemeral.private, primary);
    const { signedIdentityKey } = this.creds;
    const salt = randomBytes(32);
    const iv = randomBytes(12);
    const random = randomBytes(32);
    const info = 'link_code_pairing_key_bundle_encryption_key';
    const bundle = Buffer.concat([signedIdentityKey.public, answer.identity, random]);
    const sealed = aesEncryptGCM(bundle, hkdf(shared, 32, { salt, info }), iv, Buffer.alloc(0));
    const identityShared = Curve.sharedKey(signedIdentityKey.private, answer.identity);
    const secret = hkdf(Buffer.concat([shared, identityShared, random]), 32, { info: 'adv_secret' });
    this.creds.advSecretKey = Buffer.from(secret).toString('base64');
    return {
      ref: answer.ref,
      wrappedKeyBundle: Buffer.concat([salt, iv, sealed]),
      companionIdentity: signedIdentityKey.public,
    };
  }
}

function accountOf({ account, lid }: TestClient) {
  return { pn: account, lid: lid.replace(/:\d+@/, '@') };
}

function pairSuccess(deviceIdentity: Uint8Array): BinaryNode {
  return {
    tag: 'iq',
    attrs: { id: '1', from: 's.whatsapp.net', type: 'set' },
    content: [
      {
        tag: 'pair-success',
        attrs: {},
        content: [
          { tag: 'device-identity', attrs: {}, content: deviceIdentity },
          {
            tag: 'device',
            attrs: { jid: '34600000001:3@s.whatsapp.net', lid: '100000000000001:3@lid' },
          },
          { tag: 'platform', attrs: { name: 'android' } },
        ],
      },
    ],
  };
}

function signedIdentity(reply: ReturnType<typeof configureSuccessfulPairing>['reply']): Uint8Array {
  const [sign] = Array.isArray(reply.content) ? reply.content : [];
  const [identity] = Array.isArray(sign?.content) ? sign.content : [];
  if (!(identity?.content instanceof Uint8Array)) throw new Error('the reply has no device identity');
  return identity.content;
}
