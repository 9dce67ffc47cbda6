import { expect, it } from 'vitest';
import { decideAccess } from '../../../../router/src/core/messages/owner-commands.ts';
import { RELEASED_CHATS, releasedChat } from '../../../support/released-chat.ts';

it.each(RELEASED_CHATS)('starts %s', async (_, returned, found, workers) => {
  const deps = releasedChat(returned);
  expect(await decideAccess(deps, '7', 'approved')).toBe(found);
  expect(deps.served).toEqual(workers);
  expect(deps.given).toEqual([['7', 'approved', 'n1', undefined]]);
});
