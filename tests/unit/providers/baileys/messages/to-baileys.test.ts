import { generateWAMessageContent, proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { SendRefusedError } from '../../../../../router/src/core/errors.ts';
import {
  fileToBaileys,
  textToBaileys,
  toBaileys,
  toProto,
} from '../../../../../router/src/providers/baileys/messages/to-baileys.ts';

const reply = {
  accountId: 'main',
  to: '5493777239922@s.whatsapp.net',
  waMessageId: '3EB0AA',
  text: 'see https://example.org',
};

describe('toBaileys', () => {
  it.each(['5493777239922@s.whatsapp.net', '123456789012345@lid', '120363041234567890@g.us'])(
    'sends to %s with the given id, and fetches no link of the text',
    (to) => {
      expect(toBaileys({ ...reply, to })).toEqual({
        jid: to,
        content: { text: reply.text, linkPreview: null },
        options: { messageId: '3EB0AA' },
      });
    },
  );

  it.each(['', 'somebody', 'status@broadcast', '120363000000000001@newsletter'])(
    'refuses %j as an address',
    (to) => {
      expect(() => toBaileys({ ...reply, to })).toThrow(SendRefusedError);
    },
  );

  it('refuses an empty text', () => {
    expect(() => toBaileys({ ...reply, text: '' })).toThrow(SendRefusedError);
  });
});

describe('toProto', () => {
  it('equals the proto of the first send, except for a secret that only votes and edits need', async () => {
    const sent = await generateWAMessageContent(toBaileys(reply).content, {
      upload: () => Promise.reject(new Error('nothing to upload')),
      getUrlInfo: () => Promise.reject(new Error('a link was fetched')),
    });
    const bytes = (message: proto.IMessage) => Buffer.from(proto.Message.encode(message).finish());
    const { messageContextInfo: _secret, ...content } = proto.Message.toObject(proto.Message.create(sent));
    expect(bytes(toProto(reply) ?? {})).toEqual(bytes(content));
  });
});

describe('a message of a chat with disappearing messages', () => {
  const timed = { ...reply, timerSeconds: 86_400 };

  it('carries the timer in its context, beside a quote, in the first send and in a resend', () => {
    const quote = { waMessageId: 'ABC', from: reply.to, text: 'why?' };
    expect(textToBaileys(timed).file).toEqual({
      extendedTextMessage: { text: reply.text, contextInfo: { expiration: 86_400 } },
    });
    expect(textToBaileys({ ...timed, quote }).file.extendedTextMessage?.contextInfo).toMatchObject({
      stanzaId: 'ABC',
      expiration: 86_400,
    });
    expect(toProto(timed)).toEqual(textToBaileys(timed).file);
  });

  it('carries the timer with its file', () => {
    const content = proto.Message.encode({ imageMessage: { caption: 'x', url: 'y' } }).finish();
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 1 };
    const { file } = fileToBaileys({ ...timed, media }, content);
    expect(file.imageMessage).toMatchObject({ caption: 'x', contextInfo: { expiration: 86_400 } });
    expect(toProto({ ...timed, media }, content)).toEqual(file);
  });
});

describe('a message that quotes and mentions', () => {
  const quote = { waMessageId: 'ABC', from: '34600000009@s.whatsapp.net', text: 'why?' };
  const mentions = ['34600000001@s.whatsapp.net', '34600000009@s.whatsapp.net'];

  it('names the people in its context', () => {
    const { file } = textToBaileys({ ...reply, mentions });
    expect(file.extendedTextMessage?.contextInfo).toEqual({ mentionedJid: mentions });
  });

  it('mentions the writer of the quoted message in a group once', () => {
    const { file } = textToBaileys({ ...reply, to: '120363000000000009@g.us', quote, mentions });
    expect(file.extendedTextMessage?.contextInfo).toMatchObject({
      stanzaId: 'ABC',
      participant: quote.from,
      mentionedJid: [quote.from, '34600000001@s.whatsapp.net'],
    });
  });

  it.each(['imageMessage', 'videoMessage', 'audioMessage', 'documentMessage', 'stickerMessage'] as const)(
    'has the context with its file (%s)',
    (field) => {
      const content = proto.Message.encode({ [field]: { url: 'y' } }).finish();
      const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 1 };
      const { file } = fileToBaileys({ ...reply, media, quote, mentions }, content);
      expect(file[field]?.contextInfo).toMatchObject({ stanzaId: 'ABC', mentionedJid: mentions });
    },
  );
});
