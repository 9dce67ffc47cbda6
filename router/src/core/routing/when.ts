import { fnv1a } from '../chat-id.ts';
import { channelIdsOf } from '../messages/chat-identity.ts';
import type { InboundMessage, ToUs } from '../messages/inbound-message.ts';
import type { IncomingMessage } from '../models.ts';
import { type Said, say } from '../phrases.ts';
import type { ConversationSettings } from '../policies/conversation-fields.ts';
import { localTimeOf } from '../policies/governor.ts';
import type { ChatStore, RouteFacts } from '../ports/chat-store.ts';
import type { LanguageDetector } from '../ports/converters.ts';
import { DAYS, hoursOf, WHEN, WHEN_KINDS, type When, type WhenKind } from './when-fields.ts';

/** What conditions ask of a message and its chat. */
interface WhenFacts {
  /** When the message was received, epoch milliseconds. */
  atMs: number;
  kind: WhenKind;
  isGroup: boolean;
  toUs?: ToUs;
  /** Of the text; absent: it is not known. */
  language?: string;
  isFirstContact: boolean;
  tags: readonly string[];
  /** Absent: the chat is not stored yet. */
  chatId?: string;
}

/** Whether one condition holds; `sentence` is ready to show to an admin and contains no message text. */
export interface Condition extends Said {
  condition: Exclude<keyof When, 'timeZone'>;
  holds: boolean;
}

/**
 * Evaluates the conditions of a route, in the order of their names in `When`; the route fits when all hold. Pure: the same
 * values give the same result on any node at any time.
 */
export function evaluateWhen(when: When, routeId: string, facts: WhenFacts): Condition[] {
  const { days, languages, kinds, isGroup, isMentioned, quotesUs, isFirstContact, tags, percent } = when;
  const { toUs } = facts;
  const hours = when.hours === undefined ? undefined : hoursOf(when.hours);
  const zone = when.timeZone ?? 'UTC';
  const local = days || hours ? localTimeOf(facts.atMs, zone) : undefined;
  const found: Array<Condition | undefined> = [
    days && local && onDay(days, local, hours, zone),
    hours &&
      local && {
        condition: 'hours',
        holds: isWithin(local.minute, hours),
        ...say('when.hours', { time: local.text, zone, hours: when.hours ?? '' }),
      },
    languages && inLanguage(languages, facts.language),
    kinds && {
      condition: 'kinds',
      holds: kinds.includes(facts.kind),
      ...say('when.kinds', { kind: facts.kind, kinds: kinds.join(', ') }),
    },
    isOrNot('isGroup', isGroup, facts.isGroup, say('when.group'), say('when.no-group')),
    isOrNot(
      'isMentioned',
      isMentioned,
      toUs === 'mention' || toUs === 'both',
      say('when.mentioned'),
      say('when.not-mentioned'),
    ),
    isOrNot(
      'quotesUs',
      quotesUs,
      toUs === 'quote' || toUs === 'both',
      say('when.quotes-us'),
      say('when.does-not-quote-us'),
    ),
    isOrNot(
      'isFirstContact',
      isFirstContact,
      facts.isFirstContact,
      say('when.first-contact'),
      say('when.no-first-contact'),
    ),
    tags && withTag(tags, facts.tags),
    percent === undefined ? undefined : inShare(percent, routeId, facts.chatId),
  ];
  return found.filter((each) => each !== undefined);
}

/** Where a chat is among all chats for one route: 0 up to 100. Evenly spread, and the same for ever. */
export function shareOf(routeId: string, chatId: string): number {
  let hash = Number.parseInt(fnv1a(`${routeId} ${chatId}`), 16);
  // The final step of MurmurHash3: similar ids are far from each other.
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32) * 100;
}

/** The kind of a message as `kinds` names it: its file before its caption, its card before its description. */
export function whenKindOf({
  kind = 'text',
  media,
  viewOnce,
  card,
}: Partial<Pick<IncomingMessage, 'kind' | 'media' | 'viewOnce' | 'card'>>): WhenKind {
  const found = media?.kind ?? viewOnce ?? (card?.kind === 'event' ? 'event' : kind);
  return WHEN_KINDS.find((known) => known === found) ?? 'other';
}

type LocalTime = ReturnType<typeof localTimeOf>;

/** After midnight, hours that began the day before belong to that day. */
function onDay(
  days: NonNullable<When['days']>,
  { day, minute }: LocalTime,
  hours: ReturnType<typeof hoursOf>,
  zone: string,
): Condition {
  const isAfterMidnight = hours !== undefined && hours.toMinute < hours.fromMinute && minute < hours.toMinute;
  const counted = isAfterMidnight ? (DAYS[(DAYS.indexOf(day) + 6) % 7] ?? day) : day;
  const wanted = days.join(', ');
  return {
    condition: 'days',
    holds: days.includes(counted),
    ...(isAfterMidnight
      ? say('when.days-of-hours', { day: counted, zone, days: wanted })
      : say('when.days', { day: counted, zone, days: wanted })),
  };
}

function isWithin(
  minute: number,
  { fromMinute, toMinute }: NonNullable<ReturnType<typeof hoursOf>>,
): boolean {
  if (fromMinute < toMinute) return minute >= fromMinute && minute < toMinute;
  return minute >= fromMinute || minute < toMinute;
}

function inLanguage(languages: readonly string[], language: string | undefined): Condition {
  const wanted = languages.join(', ');
  return {
    condition: 'languages',
    holds: language !== undefined && languages.includes(language),
    ...(language === undefined
      ? say('when.language-unknown', { languages: wanted })
      : say('when.language', { language, languages: wanted })),
  };
}

function withTag(wanted: readonly string[], tags: readonly string[]): Condition {
  const found = wanted.filter((tag) => tags.includes(tag));
  return {
    condition: 'tags',
    holds: found.length > 0,
    ...(found.length > 0
      ? say('when.tag', { tag: found.join(', ') })
      : say('when.no-tag', { tags: wanted.join(', ') })),
  };
}

function inShare(percent: number, routeId: string, chatId: string | undefined): Condition {
  if (chatId === undefined) {
    const sentence = say('when.percent-unknown', { percent });
    return { condition: 'percent', holds: percent === 100, ...sentence };
  }
  const holds = shareOf(routeId, chatId) < percent;
  return {
    condition: 'percent',
    holds,
    ...(holds ? say('when.percent', { percent }) : say('when.not-percent', { percent })),
  };
}

function isOrNot(
  condition: Condition['condition'],
  wanted: boolean | undefined,
  is: boolean,
  yes: Said,
  no: Said,
): Condition | undefined {
  if (wanted === undefined) return undefined;
  return { condition, holds: is === wanted, ...(is ? yes : no) };
}

/** A message as far as the choice of its route depends on it. */
export interface MessageToRoute {
  accountId: string;
  /** All canonical addresses of its chat. */
  channelIds: string[];
  message: Pick<IncomingMessage, 'text'> &
    Partial<Pick<IncomingMessage, 'kind' | 'media' | 'viewOnce' | 'card'>>;
  /** How it is addressed to the account. */
  toUs?: ToUs;
  /** Epoch milliseconds. */
  receivedAtMs: number;
  /** Absent, as is `messageId`: it is not stored. */
  chatId?: string;
  messageId?: string;
  /** Instead of what is stored of the chat. */
  given?: Partial<Pick<WhenFacts, 'tags' | 'isFirstContact'>>;
}

/** A message of the inbox. */
export type StoredMessageToRoute = MessageToRoute & { chatId: string; messageId: string };

/** The message as far as the choice of its route depends on it, before it is stored. */
export function messageToRoute(message: InboundMessage): MessageToRoute {
  const { accountId, chat, text, kind, media, viewOnce, details, toUs, sentAtMs } = message;
  return {
    accountId,
    channelIds: channelIdsOf(chat.kind === 'group' ? { groupId: chat.groupId } : chat),
    message: {
      ...{ text, kind },
      ...(media && { media }),
      ...(viewOnce && { viewOnce }),
      ...(details?.card && { card: details.card }),
    },
    ...(toUs && { toUs }),
    receivedAtMs: sentAtMs,
  };
}

export interface WhenFactsDeps {
  chatStore: Pick<ChatStore, 'routeFacts'>;
  languages: LanguageDetector;
}

/** The conditions of a route: its own, else those of all routes, field by field. Undefined: there are none. */
export function whenOf(
  own: Pick<ConversationSettings, 'when'>,
  defaults: Pick<ConversationSettings, 'when'>,
): When | undefined {
  return own.when || defaults.when ? { ...WHEN, ...defaults.when, ...own.when } : undefined;
}

/** What conditions ask of one message. A thing is read once, when the first condition asks for it. */
export class WhenFactsOf {
  readonly #deps: WhenFactsDeps;
  readonly #message: MessageToRoute;
  #language: Promise<string | undefined> | undefined;
  #stored: Promise<RouteFacts | undefined> | undefined;

  constructor(deps: WhenFactsDeps, message: MessageToRoute) {
    this.#deps = deps;
    this.#message = message;
  }

  /** @throws {StorageUnavailableError} the chat could not be read */
  async for(when: When): Promise<WhenFacts> {
    const { channelIds, message, toUs, receivedAtMs, given = {} } = this.#message;
    const stored = this.#asksStore(when) ? await this.#readChat() : undefined;
    const chatId = this.#message.chatId ?? stored?.chatId;
    const language = when.languages && (await this.#readLanguage());
    return {
      atMs: receivedAtMs,
      kind: whenKindOf(message),
      isGroup: channelIds.some((channelId) => channelId.endsWith('@g.us')),
      isFirstContact: given.isFirstContact ?? stored?.isFirstContact ?? true,
      tags: given.tags ?? stored?.tags ?? [],
      ...(toUs && { toUs }),
      ...(language !== undefined && { language }),
      ...(chatId !== undefined && { chatId }),
    };
  }

  #asksStore({ tags, isFirstContact, percent }: When): boolean {
    const { given = {}, chatId } = this.#message;
    return (
      (tags !== undefined && given.tags === undefined) ||
      (isFirstContact !== undefined && given.isFirstContact === undefined) ||
      (percent !== undefined && chatId === undefined)
    );
  }

  #readChat(): Promise<RouteFacts | undefined> {
    const { accountId, channelIds, messageId } = this.#message;
    this.#stored ??= this.#deps.chatStore.routeFacts(accountId, channelIds, messageId);
    return this.#stored;
  }

  #readLanguage(): Promise<string | undefined> {
    this.#language ??= this.#deps.languages.languageOf(this.#message.message.text);
    return this.#language;
  }
}
