import { generateWAMessageContent, proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { SendRefusedError } from '../../../../../router/src/core/errors.ts';
import { toBaileys, toProto } from '../../../../../router/src/providers/baileys/messages/to-baileys.ts';

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
