import { randomBytes } from 'node:crypto';
import { proto } from '@whiskeysockets/baileys';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readReference } from '../../../../../router/src/providers/baileys/media/media.ts';
import { readContent } from '../../../../../router/src/providers/baileys/messages/message-content.ts';

describe('readContent', () => {
  it.each([
    ['a text', { conversation: 'hello' }, 'hello'],
    ['an extended text', { extendedTextMessage: { text: 'hello' } }, 'hello'],
    ['a button', { buttonsResponseMessage: { selectedButtonId: 'b1', selectedDisplayText: 'Yes' } }, 'Yes'],
    ['a list row', { listResponseMessage: { singleSelectReply: { selectedRowId: 'r1' } } }, 'r1'],
    ['a caption', { imageMessage: { caption: 'look' } }, 'look'],
  ])('reads %s', (_, message, text) => {
    expect(readContent(message)).toMatchObject({ kind: 'text', text });
  });

  it.each([
    ['text', 'extendedTextMessage', 'text'],
    ['caption', 'imageMessage', 'caption'],
  ])('reads the people whom a %s mentions', (_, key, words) => {
    const contextInfo = { mentionedJid: ['34600000003@s.whatsapp.net', 7, '49@lid'] };
    const message = { ephemeralMessage: { message: { [key]: { [words]: '@34600000003', contextInfo } } } };
    const mentioned = ['34600000003@s.whatsapp.net', '49@lid'];
    expect(readContent(message)).toMatchObject({ text: '@34600000003', mentioned });
  });

  it('describes the file of a message', () => {
    const audioMessage = { ptt: true, mimetype: 'audio/ogg', fileLength: { low: 5, high: 0 } };
    expect(readContent({ audioMessage })).toMatchObject({
      kind: 'audio',
      media: { kind: 'voice', mimeType: 'audio/ogg', sizeBytes: 5, reference: '' },
    });
  });

  it('returns a result for any value', () => {
    const keys = fc.constantFrom(
      'conversation',
      'imageMessage',
      'protocolMessage',
      'contextInfo',
      'text',
      'key',
      'type',
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 6 },
        fc.anything(),
        fc.dictionary(keys, tie('node')) as fc.Arbitrary<unknown>,
      ),
    })).node;
    fc.assert(
      fc.property(value, (message) => {
        const content = readContent(message);
        return 'skip' in content ? typeof content.skip === 'string' : typeof content.text === 'string';
      }),
    );
  });
});

describe('the description of a file', () => {
  const path = '/v/t62.7118-24/file.enc?ccb=11-4&oh=01_Q5';
  const mediaKey = randomBytes(32);
  const file = {
    mediaKey,
    fileSha256: randomBytes(32),
    fileEncSha256: randomBytes(32),
    fileLength: 1_000,
    directPath: path,
  };
  const sent = (message: proto.IMessage) =>
    readContent(proto.Message.decode(proto.Message.encode(proto.Message.create(message)).finish()));

  it.each<[proto.IMessage, Record<string, unknown>]>([
    [
      { imageMessage: { ...file, mimetype: 'image/png', caption: 'look' } },
      { kind: 'text', text: 'look', media: { kind: 'image', mimeType: 'image/png', sizeBytes: 1_000 } },
    ],
    [
      { audioMessage: { ...file, ptt: true } },
      { kind: 'audio', media: { kind: 'voice', mimeType: 'audio/ogg' } },
    ],
    [
      { audioMessage: { ...file, mimetype: 'audio/mp4' } },
      { media: { kind: 'audio', mimeType: 'audio/mp4' } },
    ],
    [{ videoMessage: file }, { kind: 'video', media: { kind: 'video', mimeType: 'video/mp4' } }],
    [{ ptvMessage: file }, { media: { kind: 'video' } }],
    [{ stickerMessage: file }, { media: { kind: 'sticker', mimeType: 'image/webp' } }],
    [
      {
        documentWithCaptionMessage: {
          message: {
            documentMessage: { ...file, fileName: 'a.pdf', caption: 'read', mimetype: 'application/pdf' },
          },
        },
      },
      { text: 'read', media: { kind: 'document', mimeType: 'application/pdf', fileName: 'a.pdf' } },
    ],
  ])('contains kind, type, name, size and reference: %#', (message, expected) => {
    const content = sent(message);
    expect(content).toMatchObject(expected);
    const reference = 'media' in content ? content.media?.reference : undefined;
    expect(readReference(reference ?? '')).toMatchObject({ path, mediaKey });
  });

  it.each<[proto.IMessage, object]>([
    [
      { viewOnceMessageV2: { message: { imageMessage: { ...file, caption: 'look' } } } },
      { text: 'look', viewOnce: 'image' },
    ],
    [
      { viewOnceMessageV2Extension: { message: { audioMessage: { ...file, ptt: true } } } },
      { viewOnce: 'voice' },
    ],
    [{ videoMessage: { ...file, viewOnce: true } }, { kind: 'video', viewOnce: 'video' }],
  ])('is only its kind when it can be seen once: %#', (message, expected) => {
    const content = sent(message);
    expect(content).toMatchObject(expected);
    expect(content).not.toHaveProperty('media');
  });

  it('has no reference when the message has none', () => {
    expect(sent({ imageMessage: { caption: 'x' } })).toMatchObject({
      media: { kind: 'image', reference: '' },
    });
  });

  it.each([-1, 1.5, 'many', {}, { low: 'x' }, Number.NaN, true])(
    'has no size for the length %j',
    (fileLength) => {
      const content = readContent({ imageMessage: { ...file, fileLength } });
      expect('media' in content && content.media).not.toHaveProperty('sizeBytes');
    },
  );
});

describe('the timer of the chat', () => {
  const week = { contextInfo: { expiration: 604_800 } };

  it.each<[string, proto.IMessage, number | undefined]>([
    ['a text with a timer', { extendedTextMessage: { text: 'x', ...week } }, 604_800],
    ['a picture with a timer', { ephemeralMessage: { message: { imageMessage: week } } }, 604_800],
    ['a text without one', { conversation: 'x' }, 0],
    ['a card without one', { locationMessage: {} }, 0],
    ['the setting, on', { protocolMessage: { type: 3, ephemeralExpiration: 86_400 } }, 86_400],
    ['the setting, off', { protocolMessage: { type: 3 } }, 0],
    ['the envelope alone', { ephemeralMessage: { message: { conversation: 'x' } } }, undefined],
    ['a reaction', { reactionMessage: { text: '!' } }, undefined],
    ['an unknown kind', { groupInviteMessage: {} }, undefined],
    [
      'an edit',
      { protocolMessage: { type: 14, key: { id: 'X' }, editedMessage: { conversation: 'x' } } },
      undefined,
    ],
    ['a timer that is no number', { extendedTextMessage: { text: 'x', contextInfo: { expiration: -1 } } }, 0],
  ])('is read from %s', (_, message, timerSeconds) => {
    const content = readContent(message);
    expect('timerSeconds' in content ? content.timerSeconds : undefined).toBe(timerSeconds);
  });
});
