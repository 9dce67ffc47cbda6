import { describe, expect, it } from 'vitest';
import {
  type MessagePageQuery,
  messagePage,
  SEARCH_SPAN,
} from '../../../../../../router/src/infra/faces/rest/resources/message-pages.ts';
import { aSentMessage, FakeMessageLog } from '../../../../../support/http-api.ts';

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

  it.each([{ channelId: '5493777239922' }, { chatId: '7' }, { from: '5493777239922' }])(
    'searches everything of %j at once',
    async (limitedTo) => {
      const log = logOf();
      await messagePage(log, { ...search, ...limitedTo });
      for (const query of log.queries) expect(query.after).toBeUndefined();
    },
  );
});
