import { expect, it } from 'vitest';
import { chatHash } from '../../../../router/src/core/chat-id.ts';
import { replyFields } from '../../../../router/src/core/delivery/send-reply.ts';

const message = { accountId: 'main', to: 'a@lid', waMessageId: 'WA1', text: 'hi' };

it('names the message that a reply answers', () => {
  expect(replyFields({ outboxId: '8', messageId: '7', chatId: '3', message })).toEqual({
    outboxId: '8',
    messageId: '7',
    waMessageId: 'WA1',
    chat: chatHash('3'),
  });
});

it('names a message of an admin by its own id, under which the API shows it', () => {
  expect(replyFields({ outboxId: '8', chatId: '3', message })).toMatchObject({ messageId: '8' });
});
