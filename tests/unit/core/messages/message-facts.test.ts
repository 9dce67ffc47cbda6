import { describe, expect, it } from 'vitest';
import { factsOf } from '../../../../router/src/core/messages/message-facts.ts';
import type { IncomingMessage } from '../../../../router/src/core/models.ts';

const message: IncomingMessage = {
  id: '3EB0AA',
  from: '4915112345678@s.whatsapp.net',
  channelId: '4915112345678',
  text: 'ok',
  timestamp: new Date('2026-01-02T03:04:05.000Z'),
};
const bare = { messageId: '3EB0AA', time: '2026-01-02T03:04:05.000Z', kind: 'text', chat: 'person' };

describe('factsOf', () => {
  it('has only what is known', () => {
    expect(factsOf(message)).toEqual({ ...bare, number: '4915112345678', language: 'de' });
    expect(factsOf({ ...message, from: '71@lid' })).toEqual({ ...bare, lid: '71@lid' });
  });

  it('has the group, the quoted person, mentions, the edit, the file and the card', () => {
    const card = { kind: 'location' as const, latitude: 1, longitude: 2 };
    const facts = factsOf({
      ...message,
      text: 'hello, what is this?',
      kind: 'image',
      isGroup: true,
      subject: 'Tennis',
      fromLid: '71@lid',
      pushName: 'Ana',
      quotedText: 'yes',
      quotedFrom: { id: '72@lid', name: 'Bo' },
      mentions: [{ id: '73@lid', tag: '@73' }],
      editOf: '3EB0BB',
      media: { kind: 'image', mimeType: 'image/jpeg', sizeBytes: 9 },
      card,
    });
    expect(facts).toEqual({
      ...bare,
      kind: 'image',
      chat: 'group',
      subject: 'Tennis',
      name: 'Ana',
      number: '4915112345678',
      lid: '71@lid',
      language: 'en',
      quoted: { text: 'yes', id: '72@lid', name: 'Bo' },
      mentions: [{ id: '73@lid', tag: '@73' }],
      editOf: '3EB0BB',
      file: { kind: 'image', mimeType: 'image/jpeg', sizeBytes: 9 },
      card,
    });
  });
});
