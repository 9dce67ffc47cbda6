import { expect, it } from 'vitest';
import { resumeChat } from '../../../../router/src/core/messages/owner-commands.ts';
import { RELEASED_CHATS, releasedChat } from '../../../support/released-chat.ts';

it.each(RELEASED_CHATS)('starts %s', async (_, returned, found, workers) => {
  const deps = releasedChat(returned);
  expect(await resumeChat(deps, '7', true)).toBe(found);
  expect(deps.served).toEqual(workers);
  expect(await resumeChat(deps, '7', false)).toBe(found);
  expect(deps.served).toEqual(workers);
  expect(deps.given).toEqual([
    ['7', { node: 'n1' }, undefined],
    ['7', undefined, undefined],
  ]);
});
