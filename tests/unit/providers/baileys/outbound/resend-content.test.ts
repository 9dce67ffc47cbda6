import { proto } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { jidHash } from '../../../../../router/src/core/chat-id.ts';
import type { OutgoingMessage } from '../../../../../router/src/core/models.ts';
import { ResendContent } from '../../../../../router/src/providers/baileys/outbound/sender.ts';
import { type LoggedLine, recordingLog } from '../../../../support/quiet-log.ts';

const ANA = '34600000002@s.whatsapp.net';
const ANA_LID = '900000000000002@lid';
const BEA = '34600000003@s.whatsapp.net';
const GROUP = '120363000000000001@g.us';

function setup(sent: Partial<OutgoingMessage> & { content?: Uint8Array } = {}) {
  const { content, ...given } = sent;
  const message: OutgoingMessage = {
    accountId: 'main',
    to: ANA,
    text: 'my secret',
    waMessageId: 'A',
    ...given,
  };
  const log: LoggedLine[] = [];
  let refused = 0;
  const people = new Map([
    [ANA_LID, 'ana'],
    [ANA, 'ana'],
    [BEA, 'bea'],
  ]);
  const resend = new ResendContent({
    findSentMessage: async (id) => (id === 'A' ? { message, ...(content && { content }) } : undefined),
    isSamePerson: async (one, other) =>
      people.get(one) !== undefined && people.get(one) === people.get(other),
    membersOf: async () => [ANA_LID],
    onRefused: () => {
      refused += 1;
    },
    log: recordingLog(log),
  });
  return { resend, log, refused: () => refused };
}

describe('ResendContent', () => {
  it('returns the content for the person it was sent to, by number and by LID', async () => {
    const { resend } = setup();
    const text = { extendedTextMessage: { text: 'my secret' } };
    expect(await resend.find({ id: 'A', remoteJid: ANA })).toEqual(text);
    expect(await resend.find({ id: 'A', remoteJid: ANA_LID })).toEqual(text);
  });

  it('returns nothing for another person with the id, counts it and logs it', async () => {
    const { resend, log, refused } = setup();
    expect(await resend.find({ id: 'A', remoteJid: BEA })).toBeUndefined();
    expect(await resend.find({ id: 'A', remoteJid: GROUP, participant: BEA })).toBeUndefined();
    expect(refused()).toBe(2);
    const about = { waMessageId: 'A', jidHash: jidHash('main', ANA) };
    expect(log.map(({ message, fields }) => [message, fields])).toEqual([
      ['resend refused, not requested by the chat of the message', about],
      ['resend refused, not requested by the chat of the message', about],
    ]);
  });

  it('returns a group message for members only', async () => {
    const { resend } = setup({ to: GROUP });
    expect(await resend.find({ id: 'A', remoteJid: GROUP, participant: ANA })).toBeDefined();
    expect(await resend.find({ id: 'A', remoteJid: GROUP, participant: BEA })).toBeUndefined();
    expect(await resend.find({ id: 'A', remoteJid: GROUP })).toBeUndefined();
    expect(await resend.find({ id: 'A', remoteJid: ANA })).toBeUndefined();
    const other = '120363000000000002@g.us';
    expect(await resend.find({ id: 'A', remoteJid: other, participant: ANA })).toBeUndefined();
  });

  it('returns the uploaded file, and nothing without an upload', async () => {
    const media = { kind: 'image' as const, mimeType: 'image/png', sizeBytes: 3 };
    const imageMessage = { mimetype: 'image/png', directPath: '/v/file.enc', mediaKey: Buffer.alloc(32, 7) };
    const content = proto.Message.encode({ imageMessage }).finish();
    expect(await setup({ media, content }).resend.find({ id: 'A', remoteJid: ANA })).toMatchObject({
      imageMessage: { directPath: '/v/file.enc', mediaKey: Buffer.alloc(32, 7) },
    });
    expect(await setup({ media }).resend.find({ id: 'A', remoteJid: ANA })).toBeUndefined();
  });

  it.each(['B', undefined, null])('returns nothing for an unknown id: %s', async (id) => {
    expect(await setup().resend.find({ id, remoteJid: ANA })).toBeUndefined();
  });
});
