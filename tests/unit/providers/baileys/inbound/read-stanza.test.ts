import { type BinaryNode, proto, type WAMessage, writeRandomPadMax16 } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import {
  chatAddressesOf,
  chatJidOf,
  describe as describeStanza,
  journalEntryOf,
  keysOf,
  messageKeyOf,
  ordinaryStanza,
  readJournalEntry,
  readStanza,
  undecryptableRecord,
} from '../../../../../router/src/providers/baileys/inbound/read-stanza.ts';

const OWN = { id: '34600000001:1@s.whatsapp.net', lid: '100000000000001:1@lid' };
const ANA = '34600000002@s.whatsapp.net';
const ANA_LID = '900000000000002@lid';
const GROUP = '120363000000000001@g.us';

const enc = (type: string, text = 'x'): BinaryNode => ({
  tag: 'enc',
  attrs: { type },
  content: Buffer.from(text),
});
const stanza = (attrs: BinaryNode['attrs'], content: BinaryNode['content'] = [enc('msg')]): BinaryNode => ({
  tag: 'message',
  attrs: { id: 'A', t: '1700000000', ...attrs },
  content,
});
const chatOf = (attrs: BinaryNode['attrs']) => attrs.recipient ?? attrs.from ?? '';
const read = (node: BinaryNode) => ordinaryStanza(node, OWN, chatOf);

describe('an ordinary stanza', () => {
  it('of the account does not make a pair of the recipient and the account', () => {
    const attrs = { from: OWN.id, recipient: ANA, sender_lid: OWN.lid };
    expect(read(stanza(attrs))).toMatchObject({ pair: { lid: OWN.lid }, recipientPair: undefined });
    const named = read(stanza({ ...attrs, peer_recipient_lid: ANA_LID }));
    expect(named?.recipientPair).toEqual({ pn: ANA, lid: ANA_LID });
  });

  it('of a person has the addresses of its attributes', () => {
    const found = read(stanza({ from: '34600000002:3@s.whatsapp.net', sender_lid: '900000000000002:3@lid' }));
    expect(found).toMatchObject({
      id: 'A',
      key: `${ANA}  A`,
      author: '34600000002:3@s.whatsapp.net',
      receipt: { to: '34600000002:3@s.whatsapp.net', participant: undefined, isOwn: false },
      pair: { pn: '34600000002:3@s.whatsapp.net', lid: '900000000000002:3@lid' },
      isOffline: false,
    });
  });

  it('of a group has its member as author', () => {
    const found = read(
      stanza({ from: GROUP, participant: ANA_LID, offline: '1' }, [enc('pkmsg'), enc('skmsg')]),
    );
    expect(found).toMatchObject({
      key: `${GROUP} ${ANA_LID} A`,
      receipt: { to: GROUP, participant: ANA_LID, isOwn: false },
      isOffline: true,
      hasPreKey: true,
    });
  });

  it('of the own phone has the receipt that WhatsApp expects', () => {
    const byNumber = read(stanza({ from: '34600000001@s.whatsapp.net', recipient: ANA }));
    expect(byNumber?.receipt).toEqual({ to: ANA, participant: undefined, isOwn: true });
    const byLid = read(stanza({ from: '100000000000001@lid', recipient: ANA_LID }));
    expect(byLid?.receipt).toEqual({ to: ANA_LID, participant: '100000000000001@lid', isOwn: true });
  });

  it.each<[string, BinaryNode]>([
    ['a peer message of the own phone', stanza({ from: '34600000001@s.whatsapp.net', category: 'peer' })],
    ['a status', stanza({ from: 'status@broadcast', participant: ANA }, [enc('skmsg')])],
    [
      'a newsletter',
      stanza({ from: '120363000000000001@newsletter' }, [
        { tag: 'plaintext', attrs: {}, content: Buffer.from('x') },
      ]),
    ],
    ['a bot message', stanza({ from: ANA }, [enc('msmsg')])],
    ['one without ciphertext', stanza({ from: ANA }, [{ tag: 'unavailable', attrs: {} }])],
    ['a group ciphertext of a person', stanza({ from: ANA }, [enc('skmsg')])],
    ['one without content', { tag: 'message', attrs: { id: 'A', from: ANA } }],
    ['one without a sender', stanza({})],
    ['one with a recipient that is not from the account', stanza({ from: ANA, recipient: ANA_LID })],
    ['a group message without a writer', stanza({ from: GROUP }, [enc('skmsg')])],
  ])('is not %s', (_, node) => {
    expect(read(node)).toBeUndefined();
  });

  it('is not to be read when nobody encrypted a part of it', () => {
    const plaintext = { tag: 'plaintext', attrs: {}, content: Buffer.from('x') };
    for (const content of [
      [plaintext],
      [enc('msg'), plaintext],
      [plaintext, { tag: 'unavailable', attrs: {} }],
    ])
      expect(read(stanza({ from: ANA }, content))).toMatchObject({ isPlaintext: true, key: `${ANA}  A` });
    expect(read(stanza({ from: ANA }))?.isPlaintext).toBe(false);
  });

  it('has the same hash when it is redelivered, and another one for another ciphertext or author', () => {
    const hash = (node: BinaryNode) => read(node)?.hash;
    const first = hash(stanza({ from: ANA }));
    expect(hash(stanza({ from: ANA, offline: '1', id: 'B' }))).toBe(first);
    expect(hash(stanza({ from: ANA }, [enc('msg', 'y')]))).not.toBe(first);
    expect(hash(stanza({ from: '34600000003@s.whatsapp.net' }))).not.toBe(first);
    const parts = hash(stanza({ from: ANA }, [enc('msg', 'ab'), enc('msg', 'c')]));
    expect(hash(stanza({ from: ANA }, [enc('msg', 'a'), enc('msg', 'bc')]))).not.toBe(parts);
  });

  it('lists the keys that its decryption reads', () => {
    const direct = read(stanza({ from: ANA, sender_lid: ANA_LID }, [enc('pkmsg')]));
    expect(direct && keysOf(direct).map(({ category, keyId }) => `${category} ${keyId}`)).toEqual([
      'lid-mapping 34600000002',
      'session 34600000002.0',
      'identity-key 34600000002.0',
      'lid-mapping 900000000000002_reverse',
      'session 900000000000002_1.0',
      'identity-key 900000000000002_1.0',
    ]);
    const group = read(stanza({ from: GROUP, participant: '900000000000002:5@lid' }, [enc('skmsg')]));
    expect(group && keysOf(group).map(({ category, keyId }) => `${category} ${keyId}`)).toEqual([
      'lid-mapping 900000000000002_reverse',
      'session 900000000000002_1.5',
      `sender-key ${GROUP}::900000000000002_1::5`,
    ]);
  });
});

describe('the user name of an author', () => {
  const named = async (attrs: BinaryNode['attrs']) => {
    const text = proto.Message.encode({ conversation: 'hi' }).finish();
    const repository = {
      lidMapping: { getLIDForPN: async () => null },
      decryptMessage: async () => Buffer.concat([text, Buffer.from([1])]),
    } as unknown as Parameters<typeof readStanza>[2];
    const reading = await readStanza(stanza(attrs), OWN, repository);
    return reading.kind === 'message' ? reading.message.key.remoteJidUsername : reading.kind;
  };

  it.each(['sender_username', 'username', 'from_username'])('is read from %s', async (attribute) => {
    expect(await named({ from: ANA_LID, [attribute]: 'ana' })).toBe('ana');
  });

  it('is not that of the account in its own messages', async () => {
    const own = { from: OWN.id, recipient: ANA_LID, sender_username: 'shop' };
    expect(await named(own)).toBeUndefined();
    expect(await named({ ...own, recipient_username: 'ana' })).toBe('ana');
  });
});

describe('the secret of a message that the owner sent from the phone', () => {
  const inner = { conversation: 'hi' };
  const read = async (from: string, content: proto.IMessage) => {
    const bytes = Buffer.concat([proto.Message.encode(content).finish(), Buffer.from([1])]);
    const repository = {
      lidMapping: { getLIDForPN: async () => null },
      decryptMessage: async () => bytes,
    } as unknown as Parameters<typeof readStanza>[2];
    const node = stanza(from === OWN.id ? { from, recipient: ANA } : { from });
    const reading = await readStanza(node, OWN, repository);
    const message = reading.kind === 'message' ? reading.message.message : undefined;
    return message?.messageContextInfo?.messageSecret?.[0];
  };
  const context = (byte: number) => ({ messageContextInfo: { messageSecret: Buffer.alloc(32, byte) } });

  it('is read in the message and beside it', async () => {
    const deviceSentMessage = { destinationJid: ANA, message: inner };
    const both = { deviceSentMessage: { destinationJid: ANA, message: { ...inner, ...context(1) } } };
    expect(await read(OWN.id, both)).toBe(1);
    expect(await read(OWN.id, { ...both, ...context(2) })).toBe(1);
    expect(await read(OWN.id, { deviceSentMessage, ...context(2) })).toBe(2);
    expect(await read(OWN.id, { deviceSentMessage })).toBeUndefined();
    expect(await read(ANA, { deviceSentMessage, ...context(2) })).toBeUndefined();
  });
});

describe('the chat of a stanza', () => {
  it.each([
    [
      { from: ANA, sender_lid: ANA_LID },
      { jid: ANA, phone: '34600000002', lid: '900000000000002' },
    ],
    [
      { from: '900000000000002:7@lid', sender_pn: ANA },
      { jid: ANA_LID, lid: '900000000000002', phone: '34600000002' },
    ],
    [{ from: GROUP, participant: ANA, participant_lid: ANA_LID }, { jid: GROUP }],
    [
      { from: OWN.id, recipient: ANA, peer_recipient_lid: ANA_LID },
      { jid: ANA, phone: '34600000002', lid: '900000000000002' },
    ],
  ])('has the addresses in %j', (attrs, expected) => {
    expect(chatAddressesOf(attrs as BinaryNode['attrs'])).toEqual(expected);
  });
});

const plaintext = (content: proto.IMessage) => writeRandomPadMax16(proto.Message.encode(content).finish());

describe('a journal row', () => {
  const roundTrip = async (
    node: BinaryNode,
    contents: proto.IMessage[],
    behind = [] as Array<{ key: string; order: bigint }>,
  ) => {
    const found = read(node);
    if (!found) throw new Error('an ordinary stanza');
    const entry = journalEntryOf(found, 7n, contents.map(plaintext), behind);
    return { found, entry, back: await readJournalEntry(entry, OWN, chatOf) };
  };

  it('returns the message with its order', async () => {
    const behind = [{ key: 'earlier', order: 6n }];
    const { found, back } = await roundTrip(
      stanza({ from: ANA, notify: 'Ana' }),
      [{ conversation: 'hello' }],
      behind,
    );
    expect(back).toMatchObject({
      stanza: { key: found.key, hash: found.hash, chat: ANA, attrs: { notify: 'Ana' } },
      order: 7n,
      behind,
      message: { message: { conversation: 'hello' }, pushName: 'Ana', key: { id: 'A', remoteJid: ANA } },
    });
  });

  it('merges several parts, and recognizes a business by its certificate', async () => {
    const details = proto.VerifiedNameCertificate.Details.encode({ verifiedName: 'Ana Ltd' }).finish();
    const certificate = proto.VerifiedNameCertificate.encode({ details }).finish();
    const parts = [
      enc('pkmsg'),
      enc('skmsg'),
      { tag: 'verified_name', attrs: {}, content: Buffer.from(certificate) },
    ];
    const key = { senderKeyDistributionMessage: { groupId: GROUP } };
    const { back } = await roundTrip(stanza({ from: GROUP, participant: ANA }, parts), [
      key,
      { conversation: 'hello' },
    ]);
    const message = 'message' in back ? back.message : undefined;
    expect(message?.message).toMatchObject({
      conversation: 'hello',
      senderKeyDistributionMessage: { groupId: GROUP },
    });
    expect(message?.verifiedBizName).toBe('Ana Ltd');
  });

  it('unwraps a message of the own phone', async () => {
    const wrapped = { deviceSentMessage: { destinationJid: ANA, message: { conversation: 'hello' } } };
    const { back } = await roundTrip(stanza({ from: '34600000001@s.whatsapp.net', recipient: ANA }), [
      wrapped,
    ]);
    expect(back).toMatchObject({ message: { message: { conversation: 'hello' }, key: { fromMe: true } } });
  });

  it.each([
    ['noise', '{"attrs":', undefined],
    ['another form', '{"attrs":{"id":5}}', undefined],
    ['attributes of no message', '{"attrs":{"id":"A"}}', undefined],
    ['a plaintext that is none', JSON.stringify({ attrs: { id: 'A', from: ANA } }), ANA],
  ])('that contains %s is reported as damaged, with its chat when it is known', async (_, stored, chat) => {
    const entry = { ciphertextHash: 'h', stanzaOrder: 1n, waMessageId: 'A', plaintext: Buffer.from('noise') };
    const back = await readJournalEntry({ ...entry, stanza: Buffer.from(stored) }, OWN, chatOf);
    expect('unreadable' in back && back.stanza?.chat).toBe(chat);
  });

  it('with readable attributes only is reported as damaged', async () => {
    const row = { ciphertextHash: 'h', stanzaOrder: 1n, waMessageId: 'A', isDamaged: true as const };
    const stored = Buffer.from(JSON.stringify({ attrs: { id: 'A', from: ANA } }));
    expect(await readJournalEntry({ ...row, stanza: stored }, OWN, chatOf)).toMatchObject({
      stanza: { chat: ANA },
    });
    expect(await readJournalEntry(row, OWN, chatOf)).toEqual({ unreadable: row, stanza: undefined });
  });
});

describe('a message that is given up', () => {
  it('is recorded with its own id as undecryptable', () => {
    const record = undecryptableRecord({ id: 'A', from: ANA, t: '1700000000' }, OWN);
    expect(record).toMatchObject({
      key: { id: 'A:undecryptable', remoteJid: ANA },
      messageStubType: proto.WebMessageInfo.StubType.CIPHERTEXT,
    });
    expect(undecryptableRecord({ id: 'A' }, OWN)).toBeUndefined();
    expect(describeStanza(stanza({}), OWN, chatOf)).toBeUndefined();
  });
});

it('identifies a message by chat, author and id, for any device', () => {
  const key = { remoteJid: GROUP, participant: '900000000000002:7@lid', id: 'A' };
  expect(messageKeyOf({ key } as WAMessage)).toBe(`${GROUP} ${ANA_LID} A`);
});

it('tells an own message from one of the chat partner with the same id', () => {
  const key = { remoteJid: ANA, id: 'A' };
  const own = messageKeyOf({ key: { ...key, fromMe: true } } as WAMessage);
  expect(own).not.toBe(messageKeyOf({ key: { ...key, fromMe: false } } as WAMessage));
  expect(chatJidOf(own)).toBe(ANA);
});
