import { describe, expect, it } from 'vitest';
import type { ChatId, GroupId, Lid, PhoneNumber } from '../../../../router/src/core/chat-id.ts';
import {
  addressColumns,
  channelIdOfChat,
  channelIdsOf,
  pendingTurn,
  personJid,
  replyToOf,
  type StoredTurn,
} from '../../../../router/src/core/messages/chat-identity.ts';

const phone = '5491150000001' as PhoneNumber;
const lid = '123456789012345' as Lid;
const groupId = '120363041234567890' as GroupId;

const stored: StoredTurn = {
  messageId: '7',
  chatId: '1' as ChatId,
  accountId: 'main',
  waMessageId: 'WA1',
  kind: 'text',
  text: 'hello',
  sentAtMs: 1_000,
  chat: { phone, lid },
  replyTo: `${lid}@lid`,
  receivedAtMs: 2_000,
};

describe('the addresses of a chat', () => {
  it('are the number before the LID', () => {
    expect(channelIdsOf({ phone, lid })).toEqual([phone, `${lid}@lid`]);
    expect(channelIdsOf({ phone: null, lid })).toEqual([`${lid}@lid`]);
    expect(channelIdOfChat({ phone, lid })).toBe(phone);
    expect(personJid({ phone, lid })).toBe(`${phone}@s.whatsapp.net`);
    expect(personJid({})).toBeUndefined();
  });

  it('are the group id alone for a group', () => {
    expect(channelIdsOf({ groupId })).toEqual([`${groupId}@g.us`]);
  });

  it('are columns of which the absent ones are null', () => {
    expect(addressColumns({ kind: 'person', lid })).toEqual({ phone: null, lid, groupId: null });
    expect(addressColumns({ kind: 'group', groupId })).toEqual({ phone: null, lid: null, groupId });
  });
});

describe('replyToOf', () => {
  it('prefers the address that the message came from', () => {
    expect(replyToOf({ chat: { kind: 'person', phone, lid }, replyTo: 'x@lid' })).toBe('x@lid');
  });

  it('uses the group, or the number of the person before the LID', () => {
    expect(replyToOf({ chat: { kind: 'group', groupId } })).toBe(`${groupId}@g.us`);
    expect(replyToOf({ chat: { kind: 'person', phone, lid } })).toBe(`${phone}@s.whatsapp.net`);
    expect(replyToOf({ chat: { kind: 'person', lid } })).toBe(`${lid}@lid`);
  });
});

describe('pendingTurn', () => {
  it('takes a missing address of the sender from a 1:1 chat', () => {
    const { message } = pendingTurn({ ...stored, senderLid: lid });
    expect(message).toMatchObject({
      from: `${phone}@s.whatsapp.net`,
      fromLid: `${lid}@lid`,
      channelId: phone,
      isGroup: false,
    });
  });

  it('takes no address of the sender from a group', () => {
    const { message, sender } = pendingTurn({ ...stored, senderLid: lid, chat: { groupId } });
    expect(message).toMatchObject({ from: `${lid}@lid`, channelId: `${groupId}@g.us`, isGroup: true });
    expect(sender).toBe(lid);
  });

  it('leaves out attempts of zero, and an absent edit and file', () => {
    const turn = pendingTurn({ ...stored, attempts: 0, editOf: null });
    expect(turn.earlierAttempts).toBeUndefined();
    expect(turn.message).not.toHaveProperty('editOf');
    expect(turn.message).not.toHaveProperty('media');
    expect(pendingTurn({ ...stored, attempts: 2 }).earlierAttempts).toBe(2);
  });
});
