import { z } from 'zod';
import { NAME_PATTERN, NAME_SENTENCE } from '../../config/config.ts';
import { phoneNumber } from '../../config/config-fields.ts';
import {
  ANY_CHANNEL,
  canonicalChannelId,
  canonicalRouteChannelId,
  hasTrunkZero,
} from '../../core/chat-id.ts';
import { issueOf, PHRASES, say } from '../../core/phrases.ts';
import { phraseField } from './problem.ts';

/** Fields that several resources share, each with its message for a wrong value. */

export const accountIdField = z
  .string()
  .regex(NAME_PATTERN, NAME_SENTENCE)
  .describe("WhatsApp account. Default: the service's own (WA2AI_ACCOUNT_ID).");

/** A chat or the wildcard, converted to its stored form. */
export const channelIdField = channelId(PHRASES['field.chat-or-all'], canonicalRouteChannelId).describe(
  "The chat: a phone number with country code (`5493777239922`, `+54 9 3777 239922` or a JID), a LID (`…@lid`), a user name (`@ana`), a group (`…@g.us`), or `*` for every chat without its own route. Stored in one form. A person's number, LID and user name are the same chat.",
);

const oneChat = PHRASES['field.chat'];

/** A chat, converted to its stored form. The wildcard is refused. */
export const chatField = channelId(oneChat, canonicalChannelId).refine(
  (chat) => chat !== ANY_CHANNEL,
  oneChat,
);

const searchedChat = PHRASES['field.chat-or-user-name'];

/** A chat to search for, converted to its stored form; a person also by user name. */
export const searchedChatField = channelId(searchedChat, canonicalRouteChannelId).refine(
  (chat) => chat !== ANY_CHANNEL,
  searchedChat,
);

function channelId(problem: string, canonicalOf: (input: string) => string | undefined) {
  return z.string().transform((value, context) => {
    const canonical = canonicalOf(value);
    if (canonical !== undefined && !hasTrunkZero(canonical)) return canonical;
    context.addIssue(problem);
    return z.NEVER;
  });
}

/** A phone number as people write it → its digits. */
export const phoneField = phoneNumber.describe('Phone number with country code.');

/** A person, converted to the form in which messages are searched: a number or a LID JID. */
export const personField = chatField.refine(
  (channelId) => !channelId.endsWith('@g.us'),
  PHRASES['field.person'],
);

/** A time in a query string. */
export const timeQuery = z.iso
  .datetime({ offset: true, error: PHRASES['field.time-2026'] })
  .transform((text) => new Date(text));

/** `true` or `false` in a query string. */
export const claimQuery = z.enum(['true', 'false']).transform((text) => text === 'true');

/** A whole number in a query string. */
export function wholeNumberQuery(min: number, max: number) {
  return z
    .string()
    .refine(
      (text) => /^\d{1,9}$/.test(text) && Number(text) >= min && Number(text) <= max,
      issueOf(say('field.whole-number', { min, max })),
    )
    .transform(Number);
}

/** Id of a stored row: a positive 64-bit number in digits. */
export function isRowId(text: string): boolean {
  return /^[1-9]\d{0,18}$/.test(text) && BigInt(text) < 2n ** 63n;
}

export const rowIdField = z.string().refine(isRowId, PHRASES['field.row-id']);

/** A time as every response writes it; `shown` makes it of a date, or of milliseconds since 1970. */
export const timeView = z.iso.datetime().describe('UTC, ISO 8601.') as z.ZodType<
  string,
  Date | number | string
>;

/** What has the fields of a view. `shown` does not change it, and writes a bigint as text. */
type Row<T> = T extends Date
  ? T
  : T extends object
    ? { readonly [Name in keyof T]: Row<T[Name]> }
    : string extends T
      ? T | bigint
      : T;

/**
 * A row as its view shows it. Fields that the view does not have, such as secrets, are left out, as are undefined ones. Values
 * are not checked: a row that another version stored can be seen too.
 */
export function shown<View extends z.ZodType>(view: View, row: Row<z.input<View>>): z.output<View> {
  return shownValue(view, row) as z.output<View>;
}

function shownValue(view: z.core.$ZodType, value: unknown): unknown {
  if (value === undefined || value === null) return value;
  const { def } = (view as z.core.$ZodTypes)._zod;
  switch (def.type) {
    case 'optional':
    case 'nullable':
      return shownValue(def.innerType, value);
    case 'array':
      return (value as unknown[]).map((each) => shownValue(def.element, each));
    case 'object':
      return shownObject(def, value as Record<string, unknown>);
    case 'string':
      if (typeof value === 'bigint') return String(value);
      return isTime(def) && typeof value !== 'string'
        ? new Date(value as Date | number).toISOString()
        : value;
    case 'record':
      return Object.fromEntries(
        Object.entries(value).map(([name, each]) => [name, shownValue(def.valueType, each)]),
      );
    case 'unknown':
      return value;
    default:
      if (typeof value === 'object') throw new TypeError(`the view of a row cannot have: ${def.type}`);
      return value;
  }
}

function isTime(def: z.core.$ZodStringDef | z.core.$ZodStringFormatDef): boolean {
  return 'format' in def && def.format === 'datetime';
}

function shownObject({ shape, catchall }: z.core.$ZodObjectDef, row: Record<string, unknown>) {
  const fields: Record<string, unknown> = catchall ? { ...row } : {};
  for (const [name, view] of Object.entries(shape)) {
    const value = shownValue(view, row[name]);
    if (value !== undefined) fields[name] = value;
  }
  return fields;
}

const COUNT = 'Number of entries in this response.';

/** `{success, data}`. */
export function dataResponse<T extends z.ZodType>(data: T) {
  return z.object({ success: z.literal(true), data });
}

/** A likely problem of what was stored. */
export const warningView = z
  .object({
    code: z.string().describe('Stable and machine-readable: `SECRETS_DROPPED`, `AGENT_UNREACHABLE` ...'),
    field: z.string().optional().describe('The field it is about.'),
    message: z.string(),
    phrase: phraseField,
  })
  .meta({ id: 'Warning' });

/** Likely problems of a request. */
export const warningsField = z
  .array(warningView)
  .optional()
  .describe(
    'Likely problems of what was stored: an agent that cannot be reached, an earlier name of a field ...',
  );

/** `{success, message, data}`, and `warnings` when there are some. */
export function changedResponse<T extends z.ZodType>(data: T) {
  return z.object({ success: z.literal(true), message: z.string(), data, warnings: warningsField });
}

/** `{success, data, count}`. */
export function listResponse<T extends z.ZodType>(item: T) {
  return z.object({ success: z.literal(true), data: z.array(item), count: z.int().describe(COUNT) });
}

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
