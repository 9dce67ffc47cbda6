import { z } from 'zod';
import { PHRASES, type Said, say } from '../phrases.ts';

/** Whether this is the name of a time zone, such as `Europe/Madrid`. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** A moment as people of a time zone name it. */
interface LocalTime {
  day: 'mon' | 'tue' | 'wed' | 'thu' | 'fri' | 'sat' | 'sun';
  /** Since midnight, 0 to 1439. */
  minute: number;
  /** Since midnight, 0 to 86,399. */
  second: number;
  /** `17:05`. */
  text: string;
}

/** @param timeZone a name that `isTimeZone` accepts */
export function localTimeOf(atMs: number, timeZone: string): LocalTime {
  const format = new Intl.DateTimeFormat('en-GB', {
    ...{ timeZone, weekday: 'short', hourCycle: 'h23' },
    ...{ hour: '2-digit', minute: '2-digit', second: '2-digit' },
  });
  const parts = Object.fromEntries(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const { weekday = '', hour = '', minute = '', second = '' } = parts;
  const minutes = Number(hour) * 60 + Number(minute);
  return {
    day: weekday.toLowerCase() as LocalTime['day'],
    minute: minutes,
    second: minutes * 60 + Number(second),
    text: `${hour}:${minute}`,
  };
}

/** How many messages an account sends, and when it writes first. */
export interface GovernorSettings extends SendRateSettings {
  firstContacts: { perDay: number; warmUpDays: number };
  quietHours?: QuietHours;
}

/** Nobody is written to first from one time of day to another, which may be on the next day: `21:00`. */
interface QuietHours {
  from: string;
  to: string;
  timeZone: string;
}

/** What is known of a message to a person who never wrote to the account. */
export interface FirstContact {
  /** Since wa2ai knows the account. */
  accountAgeMs: number;
  /** How long ago the first contacts of the last 24 hours were sent. */
  earlierMs: number[];
}

/** What the governor decides about a message that answers nobody. `why` is a sentence for the row. */
type GovernorDecision = { kind: 'send' } | { kind: 'wait'; forMs: number; reason: string; why: Said };

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Of `perDay`: the share that a new account has immediately, and the share that one hour may take. */
const SHARE_OF_NEW = 0.5;
const SHARE_OF_HOUR = 0.5;
/** Waits are longer by up to this share, so that messages do not leave at regular times. */
const JITTER = 0.2;

/** The Cloud API of WhatsApp lets a number send 80 messages a second. */
const BUILT_IN: GovernorSettings = {
  firstContacts: { perDay: 200, warmUpDays: 14 },
  messages: { perSecond: 80, burst: 1_000 },
  typing: { charsPerSecond: 0, maxMs: 8_000 },
};

const time = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, PHRASES['field.time-of-evening']);

const fields = {
  firstContacts: z
    .strictObject({
      perDay: z
        .int()
        .min(0)
        .max(100_000)
        .optional()
        .describe('First contacts in 24 hours; half of them in one hour. 0: no limit. Default: 200.'),
      warmUpDays: z
        .int()
        .min(0)
        .max(365)
        .optional()
        .describe(
          'A new account begins with half of `perDay`, and has all of it after so long. Default: 14.',
        ),
    })
    .optional()
    .describe('Messages to people who never wrote to the account.'),
  quietHours: z
    .strictObject({
      from: time,
      to: time,
      timeZone: z.string().max(100).refine(isTimeZone, PHRASES['field.time-zone']),
    })
    .optional()
    .describe(
      'From `from` to `to`, which may be on the next day, nobody is written to who did not write in the last 24 hours. Default: none.',
    ),
  messages: z
    .strictObject({
      perSecond: z
        .number()
        .min(0)
        .max(1_000)
        .optional()
        .describe('All messages of the account, in the long run. 0: no limit. Default: 80.'),
      burst: z
        .int()
        .min(1)
        .max(100_000)
        .optional()
        .describe('Messages that may leave together. Default: 1000.'),
    })
    .optional()
    .describe('The rate of all messages. Answers to people go before other messages.'),
  typing: z
    .strictObject({
      charsPerSecond: z
        .number()
        .min(0)
        .max(1_000)
        .optional()
        .describe(
          '"typing..." is shown before a message as long as a person would type it. 0: off. Default: 0.',
        ),
      maxMs: z.int().min(0).max(25_000).optional().describe('But no longer than this. Default: 8000.'),
    })
    .optional()
    .describe('How long a message is typed before it is sent.'),
};

/** Settings as an admin writes them, for all accounts and, in `accounts`, for single ones. */
export const governorFields = z.strictObject({
  ...fields,
  accounts: z
    .record(z.string().min(1).max(100), z.strictObject(fields))
    .optional()
    .describe('The same fields for one account, by its id; they replace those of all accounts.'),
});

/** The settings of an account: its own, else those of all accounts, else the built-in ones. Unreadable ones count as none. */
export function governorOf(stored: unknown, accountId?: string): GovernorSettings {
  const { data = {} } = governorFields.safeParse(stored ?? {});
  const accounts = new Map(Object.entries(data.accounts ?? {}));
  const own = accountId === undefined ? undefined : accounts.get(accountId);
  const quietHours = own?.quietHours ?? data.quietHours;
  return {
    firstContacts: { ...BUILT_IN.firstContacts, ...data.firstContacts, ...own?.firstContacts },
    messages: { ...BUILT_IN.messages, ...data.messages, ...own?.messages },
    typing: { ...BUILT_IN.typing, ...data.typing, ...own?.typing },
    ...(quietHours && { quietHours }),
  };
}

/** As `governorOf` for one account; what is stored is parsed again only when it is another object. */
export function lastGovernorOf(accountId: string): (stored: unknown) => GovernorSettings {
  let last: { stored: unknown; settings: GovernorSettings } | undefined;
  return (stored) => {
    if (last?.stored !== stored || !last) last = { stored, settings: governorOf(stored, accountId) };
    return last.settings;
  };
}

/** First contacts that an account of this age may send in 24 hours, where there is a limit. Pure. */
export function allowedPerDay(
  { firstContacts: { perDay, warmUpDays } }: Pick<GovernorSettings, 'firstContacts'>,
  accountAgeMs: number,
): number {
  const warm = warmUpDays === 0 ? 1 : Math.min(1, Math.max(0, accountAgeMs) / (warmUpDays * DAY_MS));
  return Math.max(1, Math.round(perDay * (SHARE_OF_NEW + (1 - SHARE_OF_NEW) * warm)));
}

/** First contacts that an account may send, and has sent; undefined: there is no limit. Pure. */
export function contactBudget(
  { accountAgeMs, earlierMs }: FirstContact,
  settings: Pick<GovernorSettings, 'firstContacts'>,
): { perDay: number; perHour: number; inDay: number; inHour: number } | undefined {
  if (settings.firstContacts.perDay === 0) return undefined;
  const perDay = allowedPerDay(settings, accountAgeMs);
  const younger = (windowMs: number) => earlierMs.filter((ms) => ms < windowMs).length;
  const perHour = Math.ceil(perDay * SHARE_OF_HOUR);
  return { perDay, perHour, inDay: younger(DAY_MS), inHour: younger(HOUR_MS) };
}

/** Whether a message to a person who did not write in the last 24 hours is sent now. Pure. @param random as below */
export function decideQuietHours(
  { quietHours }: Pick<GovernorSettings, 'quietHours'>,
  nowMs: number,
  random: number,
): GovernorDecision {
  const forMs = quietHours ? quietLeftMs(quietHours, nowMs) : 0;
  if (forMs === 0) return { kind: 'send' };
  const why = say('governor.quiet-hours');
  return waitLonger(forMs, random, 'quiet-hours', why);
}

/**
 * Whether a first contact is sent now. In any 24 hours at most `allowedPerDay` are sent, in any hour at most half of it.
 * Pure.
 * @param random from 0 to 1, for the jitter of the wait
 */
export function decideFirstContact(
  contact: FirstContact,
  settings: Pick<GovernorSettings, 'firstContacts' | 'quietHours'>,
  nowMs: number,
  random: number,
): GovernorDecision {
  const quiet = decideQuietHours(settings, nowMs, random);
  if (quiet.kind === 'wait') return quiet;
  const budget = contactBudget(contact, settings);
  if (!budget) return { kind: 'send' };
  const { perDay, perHour } = budget;
  const ages = contact.earlierMs.map((ms) => Math.max(0, ms)).sort((a, b) => a - b);
  const waitMs = Math.max(leftMs(ages, perDay, DAY_MS), leftMs(ages, perHour, HOUR_MS));
  if (waitMs <= 0) return { kind: 'send' };
  const why = say('governor.first-contacts', { perHour, perDay });
  return waitLonger(waitMs, random, 'first-contacts', why);
}

/** A wait that is longer by the jitter. */
function waitLonger(forMs: number, random: number, reason: string, why: Said): GovernorDecision {
  return { kind: 'wait', forMs: Math.ceil(forMs * (1 + JITTER * random)), reason, why };
}

/** How long until fewer than `most` of the contacts are younger than `windowMs`. @param ages youngest first */
function leftMs(ages: readonly number[], most: number, windowMs: number): number {
  const age = ages[most - 1];
  return age === undefined ? 0 : windowMs - age;
}

/** How long the quiet hours still last; 0 outside of them. */
export function quietLeftMs({ from, to, timeZone }: QuietHours, nowMs: number): number {
  const { second: nowS } = localTimeOf(nowMs, timeZone);
  const [fromS, toS] = [secondsOf(from), secondsOf(to)];
  const sinceS = (nowS - fromS + 86_400) % 86_400;
  const lengthS = (toS - fromS + 86_400) % 86_400;
  return sinceS < lengthS ? (lengthS - sinceS) * 1_000 : 0;
}

function secondsOf(time: string): number {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return (hours * 60 + minutes) * 60;
}

/** How many messages of an account leave, and how long "typing..." is shown before each. */
interface SendRateSettings {
  messages: { perSecond: number; burst: number };
  typing: { charsPerSecond: number; maxMs: number };
}

/** A token bucket: what it had at a time of a clock that never goes back. */
interface Bucket {
  tokens: number;
  atMs: number;
}

/** What a sum of parts of a token may lack. */
const ROUNDING = 1e-6;

/** Full, whatever its size. */
export const FULL_BUCKET: Bucket = { tokens: Number.POSITIVE_INFINITY, atMs: 0 };

/**
 * Takes a token for one message. In any time at most `burst` and `perSecond` for each second of it are taken. Pure.
 * @returns `waitMs` 0: taken; else how long until there is one, and nothing was taken
 */
export function takeToken(
  { tokens, atMs }: Bucket,
  { perSecond, burst }: SendRateSettings['messages'],
  nowMs: number,
): { bucket: Bucket; waitMs: number } {
  if (perSecond === 0) return { bucket: FULL_BUCKET, waitMs: 0 };
  const filled = Math.min(burst, tokens + (Math.max(0, nowMs - atMs) / 1_000) * perSecond);
  if (filled > 1 - ROUNDING) return { bucket: { tokens: Math.max(0, filled - 1), atMs: nowMs }, waitMs: 0 };
  return { bucket: { tokens: filled, atMs: nowMs }, waitMs: Math.ceil(((1 - filled) / perSecond) * 1_000) };
}

/** How long a person would type the text, in milliseconds; 0: nothing is shown. Pure. */
export function typingMsOf(text: string, { charsPerSecond, maxMs }: SendRateSettings['typing']): number {
  return charsPerSecond === 0 ? 0 : Math.min(maxMs, Math.round((text.length / charsPerSecond) * 1_000));
}
