import { proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import type { SpecialMessage } from '../../../../../router/src/core/delivery/special-message.ts';
import { specialToBaileys } from '../../../../../router/src/providers/baileys/messages/to-baileys.ts';

const to = '5493777239922@s.whatsapp.net';
const sent = (special: SpecialMessage, more: object = {}) =>
  specialToBaileys({ accountId: 'a', to, waMessageId: '3EB0', text: 'new', ...more }, special);
const poll = {
  kind: 'poll' as const,
  question: 'When?',
  options: ['Mon', 'Tue'],
  selectable: 1,
  secret: Buffer.alloc(32, 7).toString('base64'),
};

describe('specialToBaileys', () => {
  it.each<[SpecialMessage, proto.IMessage]>([
    [
      { kind: 'location', latitude: 1, longitude: 2, name: 'Café', address: 'Main St' },
      { locationMessage: { degreesLatitude: 1, degreesLongitude: 2, name: 'Café', address: 'Main St' } },
    ],
    [
      { kind: 'reaction', emoji: '👍', of: 'x', from: '1@lid', atMs: 5 },
      {
        reactionMessage: { key: { remoteJid: to, fromMe: false, id: 'x' }, text: '👍', senderTimestampMs: 5 },
      },
    ],
    [
      { kind: 'deletion', of: 'x' },
      { protocolMessage: { key: { remoteJid: to, fromMe: true, id: 'x' }, type: 0 } },
    ],
    [
      { kind: 'edit', of: 'x', atMs: 5 },
      {
        protocolMessage: {
          key: { remoteJid: to, fromMe: true, id: 'x' },
          type: 14,
          editedMessage: { extendedTextMessage: { text: 'new' } },
          timestampMs: 5,
        },
      },
    ],
  ])('translates %j, so that it can be encoded', (special, message) => {
    expect(sent(special).message).toEqual(message);
    expect(proto.Message.encode(message).finish().length).toBeGreaterThan(0);
  });

  it('sends a poll with its secret, for one choice and for several', () => {
    const { message, options } = sent(poll);
    expect(message.messageContextInfo?.messageSecret).toEqual(Buffer.alloc(32, 7));
    expect(message.pollCreationMessageV3?.selectableOptionsCount).toBe(1);
    expect(options.additionalNodes).toMatchObject([{ tag: 'meta', attrs: { polltype: 'creation' } }]);
    expect(sent({ ...poll, selectable: 0 }).message.pollCreationMessage?.name).toBe('When?');
  });

  it('sends one contact or a list of them', () => {
    const [ana, bo] = [
      { name: 'Ana', phone: '34600000001' },
      { name: 'Bo', phone: '34600000002' },
    ];
    const contacts = (list: Array<typeof ana>) => sent({ kind: 'contacts', contacts: list as never }).message;
    expect(contacts([ana]).contactMessage?.vcard).toContain('waid=34600000001:+34600000001');
    expect(contacts([ana, bo]).contactsArrayMessage?.contacts).toHaveLength(2);
  });

  it("marks edits and deletions, names the writer in a group, and follows the chat's timer", () => {
    expect(sent({ kind: 'edit', of: 'x', atMs: 1 }).options.additionalAttributes).toEqual({ edit: '1' });
    expect(sent({ kind: 'deletion', of: 'x' }).options.additionalAttributes).toEqual({ edit: '7' });
    const reaction: SpecialMessage = { kind: 'reaction', emoji: '', of: 'x', from: '1@lid', atMs: 1 };
    const inGroup = sent(reaction, { to: '120363@g.us' }).message.reactionMessage?.key;
    expect(inGroup).toMatchObject({ participant: '1@lid', fromMe: false });
    const timed = sent(poll, { timerSeconds: 60 }).message.pollCreationMessageV3;
    expect(timed?.contextInfo?.expiration).toBe(60);
  });
});
