import { decryptPollVote, type WAMessage } from '@whiskeysockets/baileys';
import { describe, expect, it } from 'vitest';
import { openVote, pollIdOf } from '../../../../../router/src/providers/baileys/messages/from-baileys.ts';
import { pollVote } from '../../../../whatsapp-emulator/message-content.ts';

const [own, ownLid] = ['34600000000@s.whatsapp.net', '70@lid'];
const [ana, anaLid] = ['34600000001@s.whatsapp.net', '71@lid'];
const secret = Buffer.alloc(32, 7);
const poll = {
  kind: 'poll' as const,
  question: 'When?',
  options: ['Mon', 'Tue', 'Wed'],
  selectable: 0,
  secret: secret.toString('base64'),
};
const bubble = { id: '3EB0P', message: { messageContextInfo: { messageSecret: secret } }, chat: own };

const vote = (options: string[], jids: { creator: string; voter: string }, key: object = {}) =>
  ({
    key: { id: 'v', remoteJid: ana, remoteJidAlt: anaLid, ...key },
    message: pollVote(bubble, options, jids),
  }) as WAMessage;
const open = (message: WAMessage) =>
  openVote(message, '3EB0P', poll, ['70:3@lid', '34600000000:3@s.whatsapp.net']);

describe('openVote', () => {
  it.each([
    ['numbers', { creator: own, voter: ana }],
    ['LIDs', { creator: ownLid, voter: anaLid }],
    ['a LID and a number', { creator: ownLid, voter: ana }],
  ])('opens a vote for %s', (_, jids) => {
    expect(open(vote(['Wed', 'Mon'], jids))).toEqual({
      pollId: '3EB0P',
      question: 'When?',
      options: ['Mon', 'Wed'],
    });
  });

  it('uses the key that Baileys derives', () => {
    const given = vote(['Mon'], { creator: own, voter: anaLid }).message?.pollUpdateMessage?.vote ?? {};
    const context = { pollCreatorJid: own, pollMsgId: '3EB0P', pollEncKey: secret, voterJid: anaLid };
    expect(decryptPollVote(given, context).selectedOptions).toHaveLength(1);
  });

  it('opens the vote of a member of a group', () => {
    const key = {
      remoteJid: '120363@g.us',
      remoteJidAlt: undefined,
      participant: anaLid,
      participantAlt: ana,
    };
    expect(open(vote(['Tue'], { creator: ownLid, voter: anaLid }, key))?.options).toEqual(['Tue']);
  });

  it('has no options when the vote was taken back, and knows none that the poll does not have', () => {
    expect(open(vote([], { creator: own, voter: ana }))?.options).toEqual([]);
    expect(open(vote(['Sun'], { creator: own, voter: ana }))?.options).toEqual([]);
  });

  it('does not open the vote of another person or poll', () => {
    expect(open(vote(['Mon'], { creator: own, voter: '99@lid' }))).toBeUndefined();
    const other = { ...poll, secret: Buffer.alloc(32, 8).toString('base64') };
    expect(openVote(vote(['Mon'], { creator: own, voter: ana }), '3EB0P', other, [own])).toBeUndefined();
    expect(open({ key: {}, message: { conversation: 'x' } } as WAMessage)).toBeUndefined();
  });
});

describe('pollIdOf', () => {
  it('names the poll of a vote, and nothing for other messages', () => {
    expect(pollIdOf(vote(['Mon'], { creator: own, voter: ana }))).toBe('3EB0P');
    expect(pollIdOf({ key: {}, message: { conversation: 'x' } } as WAMessage)).toBeUndefined();
    expect(pollIdOf({ key: {} } as WAMessage)).toBeUndefined();
  });
});
