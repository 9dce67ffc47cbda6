import { z } from 'zod';
import { listResponse, wholeNumberQuery } from './fields.ts';

const MAX_PAGE = 500;

const CURSOR = 'Where the page starts: `next` of the page before.';
const LIMIT = `Maximum number of entries, 1 to ${MAX_PAGE}.`;
const limitField = wholeNumberQuery(1, MAX_PAGE);

/** Query parameters of a list whose pages have at most `defaultLimit` entries unless the caller sets a limit. */
export function pageQuery<T extends z.ZodType>(cursor: T, defaultLimit: number) {
  return {
    cursor: cursor.optional().describe(CURSOR),
    limit: limitField.prefault(String(defaultLimit)).describe(LIMIT),
  };
}

/** Query parameters of a list that has all its entries on one page unless the caller sets a limit. */
export const optionalPageQuery = {
  cursor: z.string().min(1).max(200).optional().describe(CURSOR),
  limit: limitField.optional().describe(`${LIMIT} Default: all.`),
};

/** A page of a list; `next` is present when there are more entries. */
export function pageResponse<T extends z.ZodType>(item: T) {
  return listResponse(item).extend({
    next: z
      .string()
      .optional()
      .describe('Send it as `cursor` to get the next page. Absent on the last page.'),
  });
}

/**
 * Body of a page.
 * @param found the entries of the page, and one more if there are more
 */
export function pageOf<T>(found: readonly T[], limit: number, cursorOf: (entry: T) => string) {
  const data = found.slice(0, limit);
  const last = data.at(-1);
  return {
    success: true,
    data,
    count: data.length,
    ...(found.length > limit && last !== undefined && { next: cursorOf(last) }),
  };
}

/** A page of a list that is in memory as a whole. After a cursor that names no entry (any more), the page is empty. */
export function pageOfAll<T>(
  entries: readonly T[],
  { cursor, limit = entries.length }: { cursor?: string; limit?: number },
  cursorOf: (entry: T) => string,
) {
  const index = cursor === undefined ? -1 : entries.findIndex((entry) => cursorOf(entry) === cursor);
  const isGone = cursor !== undefined && index < 0;
  return pageOf(isGone ? [] : entries.slice(index + 1), limit, cursorOf);
}
