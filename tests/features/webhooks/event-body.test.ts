import { describe, expect, it } from 'vitest';
import { type EventToSend, eventBody } from '../../../router/src/features/webhooks/send-event.ts';

const at = new Date('2026-11-23T12:00:00.000Z');
const common = { eventId: 'e1', accountId: 'default', at: at.toISOString() };
const chat = { phone: '5493777239922', lid: null, groupId: null };
const bodyOf = (event: EventToSend['event'], facts: Record<string, unknown>) =>
  eventBody({ eventId: 'e1', accountId: 'default', at, event, facts });

/** A message as the trigger stores it. */
const message = {
  id: '4711',
  waMessageId: '3EB0A1',
  senderPhone: '5493777239922',
  senderLid: '7',
  pushName: 'Ana',
  kind: 'text',
  text: 'hello',
  quotedText: null,
  editOf: null,
  mentions: null,
  details: null,
  media: null,
  viewOnce: null,
  reason: null,
  sentAtMs: Date.UTC(2026, 10, 23, 11, 59),
  chat,
};

describe('the body of an event', () => {
  it('has the fields of a webhook agent for a message, without those that only an agent needs', () => {
    expect(bodyOf('message', message)).toEqual({
      ...common,
      event: 'message',
      id: '4711',
      waMessageId: '3EB0A1',
      messageId: '3EB0A1',
      chatInput: 'hello',
      sessionId: '5493777239922_5493777239922',
      channelId: '5493777239922',
      username: null,
      from: '5493777239922@s.whatsapp.net',
      name: 'Ana',
      text: 'hello',
      phone: '5493777239922',
      number: '5493777239922',
      lid: '7@lid',
      isGroup: false,
      subject: null,
      language: 'en',
      kind: 'text',
      quotedText: null,
      quotedFrom: null,
      mentions: [],
      editOf: null,
      card: null,
      isTranscript: false,
      media: null,
      timestamp: '2026-11-23T11:59:00.000Z',
      reason: null,
    });
  });

  it('says of a group message who wrote it, what it quotes and whom it mentions', () => {
    const body = bodyOf('message', {
      ...message,
      chat: { phone: null, lid: null, groupId: '123456789' },
      mentions: [{ phone: '34600000000', tag: '34600000000', name: 'Bo' }],
      quotedText: 'before',
      details: { subject: 'Friends', quoted: { phone: '34600000000', name: 'Bo' } },
      media: { kind: 'image', mimeType: 'image/png', sizeBytes: 9 },
      reason: 'owner-message',
    });
    expect(body).toMatchObject({
      channelId: '123456789@g.us',
      from: '5493777239922@s.whatsapp.net',
      isGroup: true,
      subject: 'Friends',
      quotedText: 'before',
      quotedFrom: { id: '34600000000@s.whatsapp.net', name: 'Bo' },
      mentions: [{ id: '34600000000@s.whatsapp.net', tag: '34600000000', name: 'Bo' }],
      media: { kind: 'image', mimeType: 'image/png', fileName: null, sizeBytes: 9 },
      reason: 'owner-message',
    });
    expect(JSON.stringify(body)).not.toContain('replyToken');
  });

  it('names the chat when the writer is unknown', () => {
    const unknown = {
      ...message,
      senderPhone: null,
      senderLid: null,
      chat: { phone: null, lid: '7', groupId: null, username: 'ana.b' },
    };
    expect(bodyOf('message', unknown)).toMatchObject({
      ...{ from: '7@lid', channelId: '7@lid', username: 'ana.b', phone: null, number: null },
    });
  });

  const sent = { id: '4712', waMessageId: '3EB0B2', replyToId: '4711', chat };
  const ids = {
    id: '4712',
    channelId: '5493777239922',
    username: null,
    isGroup: false,
    waMessageId: '3EB0B2',
    messageId: '3EB0B2',
    replyToId: '4711',
  };

  it('has the text of a reply', () => {
    expect(bodyOf('reply', { ...sent, kind: 'text', text: 'hi', media: null, byHand: false })).toEqual({
      ...{ ...common, ...ids },
      event: 'reply',
      kind: 'text',
      text: 'hi',
      media: null,
      byHand: false,
    });
  });

  it('has the state of a delivery, without the text', () => {
    expect(bodyOf('delivery', { ...sent, state: 'read' })).toEqual({
      ...{ ...common, ...ids },
      event: 'delivery',
      state: 'read',
    });
  });

  it('says what was given up and why', () => {
    const dead = {
      deadLetterId: '12',
      direction: 'incoming',
      reason: 'AGENT_TIMEOUT',
      error: 'Late.',
      attempts: 3,
    };
    expect(bodyOf('dead-letter', { id: '4711', chat, ...dead })).toEqual({
      ...common,
      event: 'dead-letter',
      id: '4711',
      channelId: '5493777239922',
      username: null,
      isGroup: false,
      ...dead,
    });
  });

  it('says the state of an account', () => {
    expect(bodyOf('account-state', { state: 'open', reason: null, number: '34600000000' })).toEqual({
      ...common,
      event: 'account-state',
      state: 'open',
      reason: null,
      phone: '34600000000',
      number: '34600000000',
    });
  });

  it('says that it is a test', () => {
    expect(bodyOf('test', {})).toEqual({ ...common, event: 'test', text: 'A test event of wa2ai.' });
  });
});
