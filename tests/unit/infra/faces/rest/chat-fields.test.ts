import { expect, it } from 'vitest';
import { chatHash } from '../../../../../router/src/core/chat-hash.ts';
import { chatFields } from '../../../../../router/src/infra/faces/rest/chat-fields.ts';

it('has the hash that the turns of the chat have', () => {
  const chat = chatHash('default', '5493777239922@s.whatsapp.net');
  expect(chatFields('default', '5493777239922')).toEqual({ accountId: 'default', chat });
});

it('has no chat for the wildcard', () => {
  expect(chatFields('default', '*')).toEqual({ accountId: 'default' });
});
