import { describe, expect, it } from 'vitest';
import type { Chat } from '../../../../../console/src/conversation/chat-types.ts';
import {
  withChat,
  withFreshOthers,
  withFreshPage,
  withNextPage,
} from '../../../../../console/src/pages/chats/chat-list-state.ts';

function chat(id: string, minute: number, unanswered = 0): Chat {
  const activeAt = new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  return { id, accountId: 'default', channelId: id, isGroup: false, activeAt, unanswered, failed: 0 };
}

const ids = (list: readonly Chat[]) => list.map(({ id }) => id);

describe('withFreshPage', () => {
  const list = [chat('5', 50), chat('4', 40), chat('3', 30), chat('2', 20), chat('1', 10)];

  it('moves a chat with news to the top, and keeps what follows the page', () => {
    expect(ids(withFreshPage(list, [chat('2', 60, 1), chat('5', 50)], true))).toEqual([
      '2',
      '5',
      '4',
      '3',
      '1',
    ]);
  });

  it('drops what belongs onto the page and does not match any more', () => {
    expect(ids(withFreshPage(list, [chat('5', 50), chat('3', 30)], true))).toEqual(['5', '3', '2', '1']);
  });

  it('is the page when there is nothing after it', () => {
    expect(ids(withFreshPage(list, [chat('9', 5)], false))).toEqual(['9']);
    expect(withFreshPage(list, [], false)).toEqual([]);
  });

  it('orders chats of the same time by id', () => {
    const same = [chat('10', 50), chat('9', 50), chat('8', 50)];
    expect(ids(withFreshPage(same, [chat('10', 50), chat('9', 50)], true))).toEqual(['10', '9', '8']);
    expect(ids(withFreshPage([chat('11', 50), ...same], [chat('10', 50)], true))).toEqual(['10', '9', '8']);
  });
});

describe('chats that wait for the operator', () => {
  const waiting = (id: string, minute: number): Chat => ({ ...chat(id, minute), needs: ['draft'] });
  const list = [waiting('3', 30), waiting('1', 10), chat('5', 50), chat('4', 40), chat('2', 20)];

  it('stay before the others', () => {
    expect(ids(withFreshPage(list, [waiting('3', 30)], true))).toEqual(['3', '1', '5', '4', '2']);
    expect(ids(withFreshPage(list, [waiting('4', 60), waiting('3', 30)], true))).toEqual([...'43152']);
  });

  it('leave the others in their order, each chat once', () => {
    const page = [chat('1', 60), chat('5', 50)];
    expect(ids(withFreshOthers(list, page, true))).toEqual(['3', '1', '5', '4', '2']);
  });
});

it('withNextPage adds each chat once', () => {
  expect(ids(withNextPage([chat('2', 2), chat('1', 1)], [chat('1', 1), chat('0', 0)]))).toEqual([
    '2',
    '1',
    '0',
  ]);
});

it('withChat replaces a chat that is in the list, and adds none', () => {
  const list = withChat([chat('2', 2), chat('1', 1)], chat('1', 1, 3));
  expect(list.map(({ unanswered }) => unanswered)).toEqual([0, 3]);
  expect(ids(withChat(list, chat('7', 7)))).toEqual(['2', '1']);
});
