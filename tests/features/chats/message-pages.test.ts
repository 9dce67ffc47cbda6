import { describe, expect, it } from 'vitest';
import {
  type MessagePageQuery,
  messagePage,
  SEARCH_SPAN,
} from '../../../router/src/features/chats/messages-api.ts';
import { aSentMessage, FakeMessageLog } from '../../doubles/fake-message-log.ts';

/** A log with messages sent of these ids, newest first. */
function logOf(...ids: bigint[]): FakeMessageLog {
  const log = new FakeMessageLog();
  log.sentRows = ids.map((id) => aSentMessage({ id: String(id) }));
  return log;
}

const search: MessagePageQuery = { direction: 'all', text: 'hello', limit: 2 };
const idsOf = ({ data }: Awaited<ReturnType<typeof messagePage>>) => data.map(({ id }) => id);

describe('messagePage', () => {
  it('searches all chats in spans and continues behind an empty one', async () => {
    const newest = SEARCH_SPAN * 2n + 10n;
    const log = logOf(newest, 5n, 3n);
    const first = await messagePage(log, search);
    expect(idsOf(first)).toEqual([String(newest)]);
    expect(first.next).toBe(String(SEARCH_SPAN + 12n));
    const second = await messagePage(log, { ...search, cursor: first.next });
    expect(idsOf(second)).toEqual([]);
    expect(second.next).toBe('13');
    const third = await messagePage(log, { ...search, cursor: second.next });
    expect(idsOf(third)).toEqual(['5', '3']);
    expect(third).not.toHaveProperty('next');
  });

  it('continues within a span that has more than a page', async () => {
    const first = await messagePage(logOf(9n, 8n, 7n), search);
    expect(idsOf(first)).toEqual(['9', '8']);
    expect(first.next).toBe('8');
  });

  it('finds nothing where there are no messages', async () => {
    expect(await messagePage(logOf(), search)).toEqual({ success: true, data: [], count: 0 });
  });

  it.each([{ channelId: '5493777239922' }, { chatId: '7' }])(
    'searches a part of the messages of %j and continues behind it',
    async (limitedTo) => {
      const log = logOf(90n, 40n, 5n);
      log.searchEndId = '40';
      const first = await messagePage(log, { ...search, ...limitedTo });
      expect(idsOf(first)).toEqual(['90']);
      expect(first.next).toBe('41');
      log.searchEndId = undefined;
      const last = await messagePage(log, { ...search, ...limitedTo, cursor: first.next });
      expect(idsOf(last)).toEqual(['40', '5']);
      expect(last).not.toHaveProperty('next');
    },
  );

  it('searches the messages of one person in all chats in spans', async () => {
    const log = new FakeMessageLog();
    log.sentRows = [aSentMessage({ id: String(SEARCH_SPAN * 2n) })];
    const page = await messagePage(log, { ...search, from: '5493777239922' });
    expect(page.next).toBe(String(SEARCH_SPAN + 2n));
  });

  it('lists without a search at once, however many messages there are', async () => {
    const log = logOf(SEARCH_SPAN * 3n, 2n);
    log.searchEndId = '7';
    const page = await messagePage(log, { direction: 'all', chatId: '7', limit: 5 });
    expect(idsOf(page)).toEqual([String(SEARCH_SPAN * 3n), '2']);
    expect(page).not.toHaveProperty('next');
  });
});
