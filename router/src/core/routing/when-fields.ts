import { z } from 'zod';
import { PHRASES } from '../phrases.ts';
import { isTimeZone } from '../policies/governor.ts';

/** In the order of a week, as `localTimeOf` names them. */
export const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** What a message is: its file, else its card, else its text. */
export const WHEN_KINDS = [
  'text',
  'image',
  'video',
  'audio',
  'voice',
  'document',
  'sticker',
  'location',
  'contact',
  'poll',
  'event',
  'other',
] as const;
export type WhenKind = (typeof WHEN_KINDS)[number];

/** Languages that a `LanguageDetector` recognizes. */
export const LANGUAGE_CODES: ReadonlySet<string> = new Set(
  'af am ar be bg bn cs da de el en eo es et fa fi fr ga gu he hi hu hy id is it ja kk km kn ko la lt lv mk mn my nl no pl pt rn ro ru sk sr sv ta te th tk tl tr tt uk ur vi vo yi zh'.split(
    ' ',
  ),
);

/** Most tags that a chat has or a rule names. */
export const MAX_TAGS = 20;

/** One tag of a chat, in lower case. */
export const tagField = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^[\p{L}\p{N}][\p{L}\p{N}_-]{0,31}$/u, PHRASES['field.word']);

/** `09:00-18:00` in minutes since midnight: the start is included, the end is not; the end may be on the next day. */
interface Hours {
  fromMinute: number;
  toMinute: number;
}

/** Reads `09:00-18:00`; undefined when it is no such text. `00:00-24:00` is the whole day. */
export function hoursOf(text: string): Hours | undefined {
  const parts = /^([01]\d|2[0-3]):([0-5]\d)-(?:([01]\d|2[0-3]):([0-5]\d)|(24):(00))$/.exec(text);
  if (!parts) return undefined;
  const [fromHour, fromMinutes, toHour, toMinutes] = parts.slice(1).filter((part) => part !== undefined);
  const fromMinute = Number(fromHour) * 60 + Number(fromMinutes);
  const toMinute = Number(toHour) * 60 + Number(toMinutes);
  return fromMinute === toMinute ? undefined : { fromMinute, toMinute };
}

export const whenField = z
  .strictObject({
    days: z
      .array(z.enum(DAYS))
      .min(1)
      .max(7)
      .optional()
      .describe('`mon` to `sun`. With hours that cross midnight, the day on which they begin.'),
    hours: z
      .string()
      .refine((text) => hoursOf(text) !== undefined, PHRASES['field.hours'])
      .optional()
      .describe('`09:00-18:00`; may cross midnight. The end is not included.'),
    timeZone: z
      .string()
      .max(100)
      .refine(isTimeZone, PHRASES['field.time-zone'])
      .optional()
      .describe('Of `days` and `hours`. Default: UTC.'),
    languages: z
      .array(z.string().refine((code) => LANGUAGE_CODES.has(code), PHRASES['field.language']))
      .min(1)
      .max(20)
      .optional()
      .describe('Codes of two letters, such as `es`: the text is in one of them.'),
    kinds: z
      .array(z.enum(WHEN_KINDS))
      .min(1)
      .max(WHEN_KINDS.length)
      .optional()
      .describe(
        'The message is one of them: `text`, `image`, `video`, `audio`, `voice`, `document`, `sticker`, `location`, `contact`, `poll`, `event`, `other`. A picture with a caption counts as `image`.',
      ),
    isGroup: z.boolean().optional().describe('The chat is a group, or is not.'),
    isMentioned: z.boolean().optional().describe('The message mentions the account, or does not.'),
    quotesUs: z.boolean().optional().describe('The message replies to one of the account, or does not.'),
    isFirstContact: z
      .boolean()
      .optional()
      .describe('No message of the chat was answered before this one, or one was.'),
    tags: z
      .array(tagField)
      .min(1)
      .max(MAX_TAGS)
      .optional()
      .describe('The chat has one of these tags (`PUT /api/chats/{id}/tags`).'),
    percent: z
      .number()
      .min(0)
      .max(100)
      .optional()
      .describe('Share of chats, 0 to 100. A chat stays in or out, and a larger share only adds chats.'),
  })
  .describe('Conditions of the route besides `regexFilter`; all that are given must hold.');

/** The conditions of a route; an absent one holds. */
export type When = z.output<typeof whenField>;

export const WHEN: When = { timeZone: 'UTC' };
