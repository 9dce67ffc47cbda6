import { describe, expect, it } from 'vitest';
import { queuedReply, type ReplyRow, withoutNulls } from '../../../../../router/src/infra/db/stores/rows.ts';

describe('withoutNulls', () => {
  it('makes NULL columns undefined and keeps every other value, also the falsy ones', () => {
    const row = withoutNulls({ name: null, text: '', count: 0, isDone: false, id: 0n });
    expect(row).toStrictEqual({ name: undefined, text: '', count: 0, isDone: false, id: 0n });
  });
});

describe('queuedReply', () => {
  const row: ReplyRow = {
    outbox_id: '7',
    message_id: '6',
    chat_id: '5',
    account_id: 'a',
    to_jid: '5493777000111@s.whatsapp.net',
    wa_message_id: '3EB0',
    text: '',
    media: { kind: 'image', mimeType: 'image/png', sizeBytes: 3 },
    timer_seconds: 60,
  };

  it('has the columns of the row', () => {
    expect(queuedReply(row)).toEqual({
      outboxId: '7',
      messageId: '6',
      chatId: '5',
      message: {
        accountId: 'a',
        to: '5493777000111@s.whatsapp.net',
        waMessageId: '3EB0',
        text: '',
        media: { kind: 'image', mimeType: 'image/png', sizeBytes: 3 },
        timerSeconds: 60,
      },
    });
  });

  it('has neither messageId nor media nor timer when the row has none, as for a message sent through the API', () => {
    const reply = queuedReply({ ...row, message_id: null, media: null, timer_seconds: null });
    expect(Object.keys(reply)).toEqual(['outboxId', 'chatId', 'message']);
    expect(Object.keys(reply.message)).not.toContain('media');
    expect(Object.keys(reply.message)).not.toContain('timerSeconds');
  });
});
