import { proto, type WAMessage } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InboundMessage } from '../../../../../router/src/core/messages/inbound-message.ts';
import {
  type FromBaileysContext,
  fromBaileys,
} from '../../../../../router/src/providers/baileys/messages/from-baileys.ts';
import { runs } from '../../../../support/property-runs.ts';

const nowMs = Date.UTC(2026, 5, 1, 12);
const nowSeconds = nowMs / 1000;
const phone = '5493777239922';
const lid = '123456789012345';
const ownPhone = '34600000001';
const ownLid = '999888777666555';
const group = '120363041234567890';
const phoneJid = `${phone}@s.whatsapp.net`;
const lidJid = `${lid}@lid`;

const ctx: FromBaileysContext = {
  accountId: 'main',
  ownPhone,
  ownLid,
  upsertType: 'notify',
  stanzaOrder: 7n,
  nowMs,
  maxMessageAgeMs: 86_400_000,
};

type Fields = Partial<Omit<WAMessage, 'key'>> & { key?: Partial<WAMessage['key']> };

function aMessage({ key, ...fields }: Fields = {}): WAMessage {
  return {
    key: { remoteJid: phoneJid, id: '3EB0AA', fromMe: false, ...key },
    message: { conversation: 'hola' },
    messageTimestamp: nowSeconds,
    ...fields,
  };
}

function read(fields: Fields, context: Partial<FromBaileysContext> = {}): InboundMessage {
  const result = fromBaileys(aMessage(fields), { ...ctx, ...context });
  if (result.kind === 'skip') throw new Error(`skipped: ${result.reason}`);
  return result.message;
}

function skipped(fields: Fields): string {
  const result = fromBaileys(aMessage(fields), ctx);
  return result.kind === 'skip' ? result.reason : 'not skipped';
}

/** A proto after encoding and decoding, so that each case is possible on the wire. */
function overTheWire(message: proto.IMessage): proto.IMessage {
  return proto.Message.decode(proto.Message.encode(proto.Message.create(message)).finish());
}

const quoting = { contextInfo: { stanzaId: '3EB000', quotedMessage: { conversation: 'the question' } } };
const text = { conversation: 'hola' };
const image = { imageMessage: { caption: 'my cat', mimetype: 'image/jpeg' } };

describe('the text of a message', () => {
  it.each<[string, proto.IMessage, string]>([
    ['plain', text, 'hola'],
    ['extended', { extendedTextMessage: { text: 'see https://example.org' } }, 'see https://example.org'],
    [
      'disappearing',
      { ephemeralMessage: { message: { extendedTextMessage: { text: 'soon gone' } } } },
      'soon gone',
    ],
    ['view-once picture', { viewOnceMessage: { message: image } }, 'my cat'],
    ['view-once picture, second form', { viewOnceMessageV2: { message: image } }, 'my cat'],
    ['view-once, extension', { viewOnceMessageV2Extension: { message: image } }, 'my cat'],
    [
      'disappearing view-once',
      { ephemeralMessage: { message: { viewOnceMessageV2: { message: image } } } },
      'my cat',
    ],
    ['picture with a caption', image, 'my cat'],
    ['video with a caption', { videoMessage: { caption: 'my dog' } }, 'my dog'],
    [
      'document with a caption',
      { documentMessage: { caption: 'the bill', fileName: 'bill.pdf' } },
      'the bill',
    ],
    [
      'document in its own wrapper',
      { documentWithCaptionMessage: { message: { documentMessage: { caption: 'the bill' } } } },
      'the bill',
    ],
    ['group mention', { groupMentionedMessage: { message: text } }, 'hola'],
    ['sent from another device', { deviceSentMessage: { destinationJid: phoneJid, message: text } }, 'hola'],
    [
      'pressed button',
      { buttonsResponseMessage: { selectedButtonId: 'b1', selectedDisplayText: 'Yes' } },
      'Yes',
    ],
    ['button without a label', { buttonsResponseMessage: { selectedButtonId: 'b1' } }, 'b1'],
    [
      'chosen list row',
      { listResponseMessage: { title: 'Pizza', singleSelectReply: { selectedRowId: 'r' } } },
      'Pizza',
    ],
    [
      'template reply',
      { templateButtonReplyMessage: { selectedId: 'x', selectedDisplayText: 'Stop' } },
      'Stop',
    ],
    ['interactive reply', { interactiveResponseMessage: { body: { text: 'Booked' } } }, 'Booked'],
    [
      'answered form',
      {
        interactiveResponseMessage: {
          body: { text: 'Sent' },
          nativeFlowResponseMessage: {
            name: 'flow',
            paramsJson: '{"flow_token":"t","name":"Ann","day":"Mon","extras":["a","b"],"none":null}',
          },
        },
      },
      'Sent\nname: Ann\nday: Mon\nextras: a, b',
    ],
    [
      'business template',
      { templateMessage: { hydratedTemplate: { hydratedContentText: 'Offer' } } },
      'Offer',
    ],
    ['business buttons', { buttonsMessage: { contentText: 'Choose' } }, 'Choose'],
    ['business list', { listMessage: { title: 'Menu', description: 'Our menu' } }, 'Our menu'],
    ['business interactive', { interactiveMessage: { body: { text: 'Tap' } } }, 'Tap'],
    ['live location with a caption', { liveLocationMessage: { caption: 'on my way' } }, 'on my way'],
    ['comment', { commentMessage: { message: text } }, 'hola'],
    [
      'text beside a sender key',
      { conversation: 'hola', senderKeyDistributionMessage: { groupId: 'g' } },
      'hola',
    ],
  ])('is read: %s', (_form, message, expected) => {
    expect(read({ message: overTheWire(message) })).toMatchObject({ kind: 'text', text: expected });
    expect(read({ message: overTheWire(message) }).ignoredReason).toBeUndefined();
    // Messages of the journal are plain objects.
    expect(read({ message })).toMatchObject({ kind: 'text', text: expected });
  });

  it.each<[string, proto.IMessage]>([
    [
      'an edit',
      { protocolMessage: { type: 14, key: { id: 'OLD' }, editedMessage: { conversation: 'better' } } },
    ],
    [
      'an edit in its wrapper',
      {
        editedMessage: {
          message: {
            protocolMessage: {
              type: 14,
              key: { id: 'OLD' },
              editedMessage: { extendedTextMessage: { text: 'better' } },
            },
          },
        },
      },
    ],
    [
      'an edited caption',
      {
        protocolMessage: {
          type: 14,
          key: { id: 'OLD' },
          editedMessage: { imageMessage: { caption: 'better' } },
        },
      },
    ],
  ])('is the new one, under its own id and with the id of the original: %s', (_form, message) => {
    expect(read({ message: overTheWire(message) })).toMatchObject({
      waMessageId: '3EB0AA',
      editOf: 'OLD',
      kind: 'text',
      text: 'better',
    });
  });

  it.each<[string, proto.IMessage]>([
    ['text', { extendedTextMessage: { text: 'x', ...quoting } }],
    ['captioned picture', { imageMessage: { caption: 'x', ...quoting } }],
    [
      'disappearing text',
      { ephemeralMessage: { message: { extendedTextMessage: { text: 'x', ...quoting } } } },
    ],
    ['voice note', { audioMessage: { ptt: true, ...quoting } }],
    ['button', { buttonsResponseMessage: { selectedDisplayText: 'x', ...quoting } }],
  ])('includes the quoted text: %s', (_form, message) => {
    expect(read({ message: overTheWire(message) }).quotedText).toBe('the question');
  });

  it.each<[proto.IMessage, string | undefined]>([
    [{ extendedTextMessage: { text: 'long' } }, 'long'],
    [{ imageMessage: { caption: 'a caption' } }, 'a caption'],
    [{ ephemeralMessage: { message: { conversation: 'wrapped' } } }, 'wrapped'],
    [{ documentMessage: { fileName: 'bill.pdf' } }, 'bill.pdf'],
    [{ pollCreationMessage: { name: 'Pizza?' } }, 'Pizza?'],
    [{ audioMessage: {} }, undefined],
  ])('includes the quoted content: %j', (quotedMessage, expected) => {
    const message = overTheWire({ extendedTextMessage: { text: 'x', contextInfo: { quotedMessage } } });
    expect(read({ message }).quotedText).toBe(expected);
  });

  it('names the people whom the text mentions, each once, by the address in the text', () => {
    const mentionedJid = ['34600000003:2@s.whatsapp.net', '49@lid', '49@lid', '120363000000000001@g.us', 'x'];
    const message = overTheWire({
      extendedTextMessage: { text: '@34600000003 @49', contextInfo: { mentionedJid } },
    });
    expect(read({ message }).mentions).toEqual([
      { phone: '34600000003', tag: '@34600000003' },
      { lid: '49', tag: '@49' },
    ]);
  });

  it('keeps at most 100 mentions', () => {
    const mentionedJid = Array.from({ length: 300 }, (_, n) => `${34_600_000_000 + n}@s.whatsapp.net`);
    const message = overTheWire({ extendedTextMessage: { text: 'all', contextInfo: { mentionedJid } } });
    expect(read({ message }).mentions).toHaveLength(100);
  });

  it('contains no character that PostgreSQL refuses', () => {
    const message = { conversation: 'a\u0000b\uD83Dc\u{1F600}' };
    expect(read({ message, pushName: 'A\u0000na\uDC00' })).toMatchObject({
      text: 'ab\uFFFDc\u{1F600}',
      sender: { pushName: 'Ana\uFFFD' },
    });
  });

  it('is cut off at four times the limit of a phone', () => {
    expect(read({ message: { conversation: 'x'.repeat(262_144 + 5) } }).text).toHaveLength(262_144);
  });
});

describe('the kind of a message', () => {
  it.each<[InboundMessage['kind'], proto.IMessage]>([
    ['image', { imageMessage: {} }],
    ['image', { viewOnceMessageV2: { message: { imageMessage: {} } } }],
    ['video', { videoMessage: {} }],
    ['video', { ptvMessage: {} }],
    ['audio', { audioMessage: { ptt: true } }],
    ['document', { documentMessage: { fileName: 'bill.pdf' } }],
    ['sticker', { stickerMessage: {} }],
    ['sticker', { lottieStickerMessage: { message: { stickerMessage: {} } } }],
    ['location', { locationMessage: { degreesLatitude: 1, name: 'Home' } }],
    ['location', { liveLocationMessage: {} }],
    ['contact', { contactMessage: { displayName: 'Ana' } }],
    ['contact', { contactsArrayMessage: { contacts: [] } }],
    ['poll', { pollCreationMessage: { name: 'Pizza?' } }],
    ['poll', { pollCreationMessageV3: { name: 'Pizza?' } }],
    ['poll', { pollCreationMessageV4: { message: { pollCreationMessage: { name: 'Pizza?' } } } }],
    ['other', { eventMessage: { name: 'Party' } }],
    ['other', { groupInviteMessage: {} }],
    ['other', { productMessage: {} }],
    ['other', { interactiveResponseMessage: { nativeFlowResponseMessage: { name: 'flow' } } }],
  ])('is %s, without text and not ignored: %j', (kind, message) => {
    const inbound = read({ message: overTheWire(message) });
    expect(inbound).toMatchObject({ kind, text: '' });
    expect(inbound.ignoredReason).toBeUndefined();
  });

  it.each<[string, InboundMessage['kind'], proto.IMessage]>([
    ['reaction', 'reaction', { reactionMessage: { text: '👍', key: { id: 'X' } } }],
    ['reaction', 'reaction', { encReactionMessage: {} }],
    ['poll-vote', 'poll', { pollUpdateMessage: {} }],
    ['deleted', 'other', { protocolMessage: { type: 0, key: { id: 'X' } } }],
    ['pin', 'other', { pinInChatMessage: { key: { id: 'X' } } }],
    ['pin', 'other', { keepInChatMessage: { key: { id: 'X' } } }],
    ['call', 'other', { callLogMesssage: {} }],
    ['album', 'other', { albumMessage: { expectedImageCount: 3 } }],
    ['status-mention', 'other', { statusMentionMessage: { message: { protocolMessage: { type: 25 } } } }],
    ['encrypted-edit', 'other', { secretEncryptedMessage: {} }],
    ['timer-changed', 'other', { protocolMessage: { type: 3, ephemeralExpiration: 86_400 } }],
    ['empty-text', 'text', { extendedTextMessage: { text: ' ' } }],
    ['undecryptable', 'undecryptable', { placeholderMessage: { type: 0 } }],
  ])('is stored with the reason %s as %s: %j', (ignoredReason, kind, message) => {
    expect(read({ message: overTheWire(message) })).toMatchObject({ kind, ignoredReason });
  });

  it('keeps the emoji of a reaction', () => {
    expect(read({ message: { reactionMessage: { text: '👍' } } }).text).toBe('👍');
    expect(read({ message: { reactionMessage: { text: '', key: { id: 'X' } } } })).toMatchObject({
      text: '',
      reactsTo: 'X',
    });
  });

  it('is other for an unknown kind of a newer WhatsApp', () => {
    const message = { holographicMessage: { size: 3 } } as proto.IMessage;
    const inbound = read({ message });
    expect(inbound).toMatchObject({ kind: 'other', text: '' });
    expect(inbound.ignoredReason).toBeUndefined();
  });

  it('is a group event, with people as numbers where they are known', () => {
    const people = [{ id: lidJid, phoneNumber: phoneJid }, { id: `${ownLid}@lid` }, { id: '77@lid' }];
    const key = { remoteJid: `${group}@g.us`, participant: '55@lid' };
    const messageStubParameters = people.map((person) => JSON.stringify(person));
    expect(read({ key, message: undefined, messageStubType: 27, messageStubParameters })).toMatchObject({
      chat: { kind: 'group', groupId: group },
      sender: { lid: '55' },
      text: `added +${phone}, this account, member 77`,
      ignoredReason: 'group-event',
    });
  });

  it.each<[string, Fields]>([
    ['no-content', { message: undefined }],
    ['no-content', { message: {} }],
    ['no-content', { message: { senderKeyDistributionMessage: { groupId: 'g' }, messageContextInfo: {} } }],
    ['no-content', { message: { messageHistoryNotice: {} } }],
    ['protocol-5', { message: { protocolMessage: { type: 5, historySyncNotification: {} } } }],
    ['protocol-6', { message: { protocolMessage: { type: 6, appStateSyncKeyShare: {} } } }],
    ['chat-event', { message: undefined, messageStubType: 26 }],
    ['peer', { category: 'peer' }],
    ['bad-id', { key: { id: '' } }],
    ['bad-id', { key: { id: 'X'.repeat(300) } }],
  ])('is skipped as %s when it is a protocol message', (reason, fields) => {
    expect(skipped(fields)).toBe(reason);
  });

  it('is undecryptable for a stanza whose text could not be decrypted, also when its sender key could', () => {
    const stub = { messageStubType: 2, messageStubParameters: ['Bad MAC'] };
    for (const message of [undefined, { senderKeyDistributionMessage: { groupId: 'g' } }]) {
      expect(read({ message, ...stub })).toMatchObject({
        kind: 'undecryptable',
        text: '',
        ignoredReason: 'undecryptable',
      });
    }
    expect(read({ message: text, ...stub })).toMatchObject({ kind: 'text', text: 'hola' });
  });

  it('is other for view-once media that WhatsApp keeps from linked devices', () => {
    expect(read({ message: undefined, key: { isViewOnce: true } })).toMatchObject({
      kind: 'other',
      text: '',
    });
  });
});

describe('the timer of a chat', () => {
  it('is that of a message of the person or of the account, and of no other', () => {
    const message = { extendedTextMessage: { text: 'x', contextInfo: { expiration: 604_800 } } };
    expect(read({ message }).timerSeconds).toBe(604_800);
    expect(read({ message, key: { fromMe: true } })).toMatchObject({
      ignoredReason: 'own-message',
      timerSeconds: 604_800,
    });
    expect(read({ message }, { upsertType: 'history' }).timerSeconds).toBeUndefined();
  });
});

describe('the author and the chat', () => {
  const person = { phone, lid };

  it.each<[string, Partial<WAMessage['key']>]>([
    ['a number and a LID beside it', { remoteJid: phoneJid, remoteJidAlt: lidJid }],
    ['a LID and a number beside it', { remoteJid: lidJid, remoteJidAlt: phoneJid }],
    ['devices in both', { remoteJid: `${lid}:3@lid`, remoteJidAlt: `${phone}:3@s.whatsapp.net` }],
    ['the old server name', { remoteJid: `${phone}@c.us`, remoteJidAlt: lidJid }],
  ])('include both addresses of one person: %s', (_form, key) => {
    expect(read({ key, pushName: 'Ana' })).toMatchObject({
      chat: { kind: 'person', ...person },
      sender: { ...person, pushName: 'Ana' },
    });
  });

  it('include the user name of a person without a number, who is shown by it until a message says another name', () => {
    const key = { remoteJid: lidJid, remoteJidUsername: 'Ana.B' };
    const chat = { kind: 'person', lid, username: 'ana.b' };
    expect(read({ key })).toMatchObject({ chat, sender: { lid, pushName: '@ana.b' } });
    expect(read({ key, pushName: 'Ana' })).toMatchObject({ chat, sender: { lid, pushName: 'Ana' } });
    const odd = read({ key: { remoteJid: lidJid, remoteJidUsername: 'not a name\u0000' } });
    expect(odd.chat).toEqual({ kind: 'person', lid });
    expect(odd.sender).toEqual({ lid });
    const own = read({ key: { ...key, fromMe: true } });
    expect(own.chat).toEqual(chat);
    expect(own.sender.pushName).toBeUndefined();
    const group = { remoteJid: '120363000000000001@g.us', participant: lidJid, participantUsername: 'ana.b' };
    expect(read({ key: group }).sender).toEqual({ lid, pushName: '@ana.b' });
  });

  it('use the address that the message came from, without its device', () => {
    const from = (remoteJid: string, remoteJidAlt: string) =>
      read({ key: { remoteJid, remoteJidAlt } }).replyTo;
    expect(from(`${lid}:3@lid`, phoneJid)).toBe(lidJid);
    expect(from(`${phone}:3@s.whatsapp.net`, lidJid)).toBe(phoneJid);
  });

  it('include the stored number of a LID that came alone', () => {
    const known = { pnForLid: (asked: string) => (asked === lid ? phone : undefined) };
    expect(read({ key: { remoteJid: lidJid } }, known).chat).toEqual({ kind: 'person', ...person });
    const asJid = { pnForLid: () => `${phone}:4@s.whatsapp.net` };
    expect(read({ key: { remoteJid: lidJid } }, asJid).chat).toEqual({ kind: 'person', ...person });
    for (const unknown of [undefined, '', 'nonsense', 'status@broadcast']) {
      const chat = read({ key: { remoteJid: lidJid } }, { pnForLid: () => unknown }).chat;
      expect(chat).toEqual({ kind: 'person', lid });
    }
  });

  it('prefer the number of the stanza to the stored one', () => {
    const stale = { pnForLid: () => '5490000000000' };
    expect(read({ key: { remoteJid: lidJid, remoteJidAlt: phoneJid } }, stale).chat).toMatchObject({ phone });
  });

  it('distinguish the author from the group', () => {
    for (const key of [
      { participant: lidJid, participantAlt: phoneJid },
      { participant: phoneJid, participantAlt: lidJid },
    ]) {
      const inbound = read({ key: { remoteJid: `${group}@g.us`, ...key } });
      expect(inbound.chat).toEqual({ kind: 'group', groupId: group });
      expect(inbound.sender).toEqual(person);
      expect(inbound.ignoredReason).toBeUndefined();
    }
  });

  it('include the author of a group message in the form of older versions', () => {
    const inbound = read({ key: { remoteJid: `${group}@g.us` }, participant: phoneJid });
    expect(inbound.sender).toEqual({ phone });
  });

  it('never mix the chat partner with the own account', () => {
    // A message sent from the own phone: the second address is the sender's, which is oneself.
    for (const alt of [`${ownPhone}@s.whatsapp.net`, `${ownLid}@lid`, `${ownLid}:5@lid`]) {
      const inbound = read({
        key: { remoteJid: alt.endsWith('lid') ? phoneJid : lidJid, remoteJidAlt: alt, fromMe: true },
      });
      expect(Object.values(inbound.chat)).not.toContain(ownPhone);
      expect(Object.values(inbound.chat)).not.toContain(ownLid);
      expect(inbound.sender).toEqual({ phone: ownPhone, lid: ownLid });
    }
    const unknownOwn = { ownPhone: undefined, ownLid: undefined };
    const key = { remoteJid: lidJid, remoteJidAlt: `${ownPhone}@s.whatsapp.net`, fromMe: true };
    expect(read({ key }, unknownOwn).chat).toEqual({ kind: 'person', lid });
  });

  it('keep the second address of the chat partner in an own message', () => {
    const key = { remoteJid: lidJid, remoteJidAlt: phoneJid, fromMe: true };
    expect(read({ key }).chat).toEqual({ kind: 'person', ...person });
  });

  it.each<[string, string, Partial<WAMessage['key']>]>([
    ['newsletter', 'a channel', { remoteJid: '120363000000000001@newsletter' }],
    ['unknown-address', 'Meta AI', { remoteJid: '13135550002@bot' }],
    ['unknown-address', 'announcements of WhatsApp', { remoteJid: '0@s.whatsapp.net' }],
    ['unknown-address', 'no address', { remoteJid: undefined }],
    ['no-sender', 'a group message without a writer', { remoteJid: `${group}@g.us` }],
  ])('are skipped as %s outside chats: %s', (reason, _what, key) => {
    expect(skipped({ key })).toBe(reason);
  });
});

describe('the reason to ignore a message', () => {
  const old = nowSeconds - 86_401;

  it.each<[string, Fields, Partial<FromBaileysContext>?]>([
    ['own-message', { key: { fromMe: true } }],
    ['own-message', { key: { remoteJid: `${group}@g.us`, participant: `${ownLid}:2@lid` } }],
    ['own-message', { key: { remoteJid: `${group}@g.us`, fromMe: true } }],
    ['status-broadcast', { key: { remoteJid: 'status@broadcast', participant: phoneJid } }],
    ['broadcast-list', { key: { remoteJid: '161234567@broadcast', participant: phoneJid } }],
    ['history', {}, { upsertType: 'history' }],
    ['history', { key: { fromMe: true }, messageTimestamp: old }, { upsertType: 'history' }],
    ['too-old', { messageTimestamp: old }],
    ['too-old', { messageTimestamp: old, message: { reactionMessage: { text: '👍' } } }],
    ['own-message', { messageTimestamp: old, key: { fromMe: true } }],
  ])('is %s: %j', (reason, fields, context) => {
    expect(read(fields, context).ignoredReason).toBe(reason);
  });

  it.each<[string, boolean, Fields, Partial<FromBaileysContext>?]>([
    ['a text', true, { key: { fromMe: true } }],
    ['a text in a group', true, { key: { remoteJid: `${group}@g.us`, fromMe: true } }],
    ['a text of others', false, {}],
    ['a note to self', false, { key: { remoteJid: `${ownPhone}@s.whatsapp.net`, fromMe: true } }],
    ['a reaction', false, { key: { fromMe: true }, message: { reactionMessage: { text: '👍' } } }],
    ['an old text', false, { key: { fromMe: true }, messageTimestamp: old }],
    ['a text of the history', false, { key: { fromMe: true } }, { upsertType: 'history' }],
  ])('names %s as written by the owner: %s', (_what, isFromOwner, fields, context) => {
    expect(read(fields, context).isFromOwner ?? false).toBe(isFromOwner);
  });

  it.each<[string, Fields]>([
    ['number', { key: { remoteJid: `${ownPhone}@s.whatsapp.net`, fromMe: true } }],
    ['LID', { key: { remoteJid: `${ownLid}@lid`, fromMe: true } }],
    ['number without fromMe', { key: { remoteJid: `${ownPhone}@s.whatsapp.net` } }],
  ])('is left to core for the self-chat, recognized by %s', (_, fields) => {
    const message = read(fields);
    expect(message.isSelfChat).toBe(true);
    expect(message.ignoredReason).toBeUndefined();
    expect(read({ key: { fromMe: true } }).isSelfChat).toBeUndefined();
  });

  it('is absent for a message from the offline queue', () => {
    expect(read({}, { upsertType: 'append' }).ignoredReason).toBeUndefined();
    expect(
      read({ messageTimestamp: nowSeconds - 86_400 }, { upsertType: 'append' }).ignoredReason,
    ).toBeUndefined();
  });

  it('is status-broadcast for a status update, stored with both addresses of its author', () => {
    const key = { remoteJid: 'status@broadcast', remoteJidAlt: lidJid, participant: phoneJid };
    expect(read({ key })).toMatchObject({
      chat: { kind: 'person', phone, lid },
      sender: { phone, lid },
      ignoredReason: 'status-broadcast',
    });
  });
});

describe('the time of a message', () => {
  const high = { low: nowSeconds | 0, high: 0, unsigned: true };

  it.each<[string, unknown]>([
    ['a number', nowSeconds],
    ['a Long', proto.WebMessageInfo.fromObject({ messageTimestamp: nowSeconds }).messageTimestamp],
    ['the halves of a Long that was stored', high],
    ['a string', String(nowSeconds)],
    ['a bigint', BigInt(nowSeconds)],
  ])('is read from %s', (_form, messageTimestamp) => {
    const context = { nowMs: nowMs + 5_000 };
    expect(read({ messageTimestamp: messageTimestamp as number }, context).sentAtMs).toBe(nowMs);
  });

  it('accepts a Long past 2038', () => {
    const seconds = 2 ** 31 + 10;
    const context = { nowMs: (seconds + 1) * 1000 };
    expect(read({ messageTimestamp: { low: seconds | 0, high: 0 } as never }, context).sentAtMs).toBe(
      seconds * 1000,
    );
  });

  it('can be ahead of the local clock', () => {
    const inbound = read({ messageTimestamp: nowSeconds + 3_600 });
    expect(inbound).toMatchObject({ sentAtMs: nowMs + 3_600_000 });
    expect(inbound.ignoredReason).toBeUndefined();
  });

  it.each([undefined, null, 0, -5, Number.NaN, 1e15, 'yesterday', {}, { low: 'x' }])(
    'is now when the stanza has no valid one: %j',
    (messageTimestamp) => {
      const inbound = read({ messageTimestamp: messageTimestamp as number });
      expect(inbound.sentAtMs).toBe(nowMs);
      expect(inbound.ignoredReason).toBeUndefined();
    },
  );
});

describe('any proto', () => {
  const contentKeys = Object.keys(proto.Message.prototype).filter((key) =>
    /message|conversation|call/i.test(key),
  );
  const junk = fc.anything({ withBigInt: true, withNullPrototype: true, maxDepth: 2 });
  const jid = fc.oneof(
    { weight: 1, arbitrary: junk },
    {
      weight: 6,
      arbitrary: fc.constantFrom(
        phoneJid,
        lidJid,
        phoneJid,
        lidJid,
        `${group}@g.us`,
        'status@broadcast',
        '@',
      ),
    },
  );
  const { content } = fc.letrec((tie) => ({
    content: fc.dictionary(fc.constantFrom(...contentKeys), fc.oneof({ maxDepth: 4 }, junk, tie('node')), {
      maxKeys: 3,
    }),
    node: fc.dictionary(
      fc.constantFrom(
        'message',
        'text',
        'caption',
        'contextInfo',
        'quotedMessage',
        'editedMessage',
        'type',
        'key',
        'id',
      ),
      fc.oneof({ maxDepth: 4 }, fc.constantFrom(0, 3, 14, 'x'), junk, tie('content')),
      { maxKeys: 4 },
    ),
  }));
  const anyMessage = fc.record(
    {
      key: fc.oneof(
        {
          weight: 9,
          arbitrary: fc.record(
            {
              remoteJid: jid,
              remoteJidAlt: jid,
              participant: jid,
              participantAlt: jid,
              fromMe: junk,
              id: fc.oneof(
                { weight: 1, arbitrary: junk },
                { weight: 9, arbitrary: fc.string({ minLength: 1 }) },
              ),
            },
            { requiredKeys: ['id', 'remoteJid'] },
          ),
        },
        { weight: 1, arbitrary: junk },
      ),
      message: fc.oneof({ weight: 4, arbitrary: content }, { weight: 1, arbitrary: junk }),
      messageTimestamp: junk,
      messageStubType: fc.oneof(fc.constantFrom(0, 2, 21, 27), junk),
      messageStubParameters: fc.oneof(fc.array(fc.oneof(jid, junk)), junk),
      pushName: junk,
      participant: jid,
      category: fc.option(fc.constant('peer')),
    },
    { requiredKeys: ['key'] },
  );
  const isStorable = (value: string) => !value.includes('\0') && !/\p{Surrogate}/u.test(value);

  it('never causes an exception, and results only in storable values', () => {
    let messages = 0;
    fc.assert(
      fc.property(anyMessage, fc.constantFrom('notify', 'append', 'history'), (m, upsertType) => {
        const result = fromBaileys(m as WAMessage, { ...ctx, upsertType });
        if (result.kind === 'skip') {
          expect(result.reason).toMatch(/^[a-z]+(-[a-z0-9]+)*$/);
          return;
        }
        messages += 1;
        const { message } = result;
        expect(message.waMessageId.length).toBeGreaterThan(0);
        expect(message.sentAtMs).toBeGreaterThan(0);
        expect(Number.isInteger(message.sentAtMs)).toBe(true);
        for (const value of [
          message.text,
          message.quotedText ?? '',
          message.editOf ?? '',
          message.waMessageId,
        ]) {
          expect(isStorable(value)).toBe(true);
        }
        expect(message.sender.phone ?? message.sender.lid).toMatch(/^\d+$/);
        if (message.chat.kind === 'person') expect(message.chat.phone ?? message.chat.lid).toMatch(/^\d+$/);
      }),
      runs(1_500),
    );
    expect(messages).toBeGreaterThan(100);
  });

  it('is accepted for any bytes that decode as a message', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        let message: proto.IMessage;
        try {
          message = proto.Message.decode(bytes);
        } catch {
          return;
        }
        expect(['message', 'skip']).toContain(fromBaileys(aMessage({ message }), ctx).kind);
      }),
      runs(1_000),
    );
  });

  it('is accepted when it contains itself', () => {
    const loop: proto.IMessage = {};
    loop.ephemeralMessage = { message: loop };
    expect(read({ message: loop }).kind).toBe('other');
  });
});

describe('details of a message', () => {
  const place = { locationMessage: { degreesLatitude: 1, degreesLongitude: 2 } };
  const card = { kind: 'location', latitude: 1, longitude: 2 };

  it('are its card, the writer of the quoted message, and the name of the group', () => {
    expect(read({ message: overTheWire(place) }).details).toEqual({ card });
    const reply = {
      extendedTextMessage: { text: 'yes', contextInfo: { ...quoting.contextInfo, participant: lidJid } },
    };
    const key = { remoteJid: `${group}@g.us`, participant: phoneJid };
    const subjectOf = (jid: string) => (jid === `${group}@g.us` ? 'Tennis' : undefined);
    expect(read({ key, message: overTheWire(reply) }, { subjectOf }).details).toEqual({
      quoted: { lid },
      subject: 'Tennis',
    });
  });

  it('are absent when there are none', () => {
    expect(read({}).details).toBeUndefined();
    expect(read({}, { subjectOf: () => expect.unreachable() }).details).toBeUndefined();
  });
});

describe('a vote in a poll of the account', () => {
  const message = overTheWire({ pollUpdateMessage: { pollCreationMessageKey: { id: '3EB0P' } } });
  const answer = (options: string[]) => ({ pollAnswer: { pollId: '3EB0P', question: 'When?', options } });

  it('is a message with the chosen options, which replies to the account', () => {
    expect(read({ message }, answer(['Mon', 'Tue']))).toMatchObject({
      kind: 'poll',
      text: 'Mon, Tue',
      quotedText: 'When?',
      toUs: 'quote',
      details: { card: { kind: 'choice', id: '3EB0P', title: 'Mon, Tue' } },
    });
    expect(read({ message }, answer(['Mon']))).not.toHaveProperty('ignoredReason');
  });

  it('is only stored when it was taken back or cannot be opened', () => {
    expect(read({ message }, answer([])).ignoredReason).toBe('poll-vote');
    expect(read({ message }).ignoredReason).toBe('poll-vote');
  });
});
