/**
 * The only place that makes and parses WhatsApp addresses. A JID is `<user>[_agent][:device]@<server>`.
 * Servers: `s.whatsapp.net` (phone number; `c.us` is its old name, `hosted` a business on Meta's servers), `lid` (and
 * `hosted.lid`), `g.us` (group), `broadcast`, `newsletter`.
 */

type Address =
  | { kind: 'phone'; phone: PhoneNumber; device: number }
  | { kind: 'lid'; lid: Lid; device: number }
  | { kind: 'group'; groupId: GroupId }
  | { kind: 'status' }
  | { kind: 'broadcast'; id: string }
  | { kind: 'newsletter'; id: string };

// E.164 numbers have at most 15 digits; a longer one would read as a group id once its server is dropped.
const PHONE_USER = /^(\d{5,15})(?:_\d{1,5})?(?::(\d{1,5}))?$/;
const LID_USER = /^(\d{1,20})(?:_\d{1,5})?(?::(\d{1,5}))?$/;
const GROUP_USER = /^(\d{5,25}(?:-\d{5,20})?)$/;

/** Parses a JID of any server; undefined when it is not a JID. Never throws. */
export function parseJid(jid: string): Address | undefined {
  const at = jid.lastIndexOf('@');
  if (at < 1) return undefined;
  const user = jid.slice(0, at);
  const server = jid.slice(at + 1);
  if (server === 'g.us') {
    return GROUP_USER.test(user) ? { kind: 'group', groupId: user as GroupId } : undefined;
  }
  if (server === 'broadcast') return user === 'status' ? { kind: 'status' } : { kind: 'broadcast', id: user };
  if (server === 'newsletter') return { kind: 'newsletter', id: user };
  if (server === 's.whatsapp.net' || server === 'c.us' || server === 'hosted') {
    const person = PHONE_USER.exec(user);
    return person
      ? { kind: 'phone', phone: person[1] as PhoneNumber, device: Number(person[2] ?? 0) }
      : undefined;
  }
  if (server === 'lid' || server === 'hosted.lid') {
    const person = LID_USER.exec(user);
    return person ? { kind: 'lid', lid: person[1] as Lid, device: Number(person[2] ?? 0) } : undefined;
  }
  return undefined;
}

/** `5493777239922` → `5493777239922@s.whatsapp.net`. */
export function phoneJid(phone: PhoneNumber): string {
  return `${phone}@s.whatsapp.net`;
}

/** `123456789` → `123456789@lid`. */
export function lidJid(lid: Lid): string {
  return `${lid}@lid`;
}

/** `1203...` → `1203...@g.us`. */
export function groupJid(groupId: GroupId): string {
  return `${groupId}@g.us`;
}

/** WhatsApp's user names, read loosely. */
const USERNAME = /^(?=.*[a-z])[a-z0-9._]{3,35}$/;

/** A user name as it is stored: in lower case, without `@`. Undefined: it is not a user name. */
export function canonicalUsername(written: string): string | undefined {
  const name = written.trim().replace(/^@/, '').toLowerCase();
  return USERNAME.test(name) ? name : undefined;
}

/** Whether a channelId names a person by user name. */
export function isUsername(channelId: string): boolean {
  return channelId.startsWith('@');
}

/** The wildcard of the route table. */
export const ANY_CHANNEL = '*';

/** What address books and word processors put between digits, direction marks included. */
const SEPARATORS = /[\s().\-\u2010-\u2015/\p{Cf}]/gu;

/** The 0 of national calls, which international numbers do not have: `+49 (0) 171 2345678`. */
const TRUNK = /\(0\)/;
/** Country codes behind which no number begins with 0. A number with a 0 there was joined from a national one. */
const TRUNK_ZERO =
  /^(?:1|20|27|3[0-46]|4[013-9]|5[1-8]|6[0-6]|7|8[1246]|9[0-58]|351|353|358|380|420|421|593|595|598|966|971|972)0/;

/** Whether this is the number of a person with the 0 of national calls behind its country code, which no number has. */
export function hasTrunkZero(channelId: string): boolean {
  // Digits of LIDs and of groups are not numbers.
  return !channelId.includes('@') && TRUNK_ZERO.test(channelId);
}

/**
 * Converts a channelId as an admin writes it to its stored form: `*`, digits of a phone number, `<digits>@lid`,
 * `<id>@g.us`. Takes an international number with or without `+` or `00`, with spaces, dashes, dots, slashes and
 * brackets, a bare group id, and any JID of a person or group. Applied to its own result it changes nothing. Undefined:
 * it is not the address of a chat, e.g. a national number with its leading 0, also behind the country code.
 */
export function canonicalChannelId(input: string): string | undefined {
  const text = input.trim();
  if (text === ANY_CHANNEL) return ANY_CHANNEL;
  if (text.includes('@')) {
    const [user, ...server] = text.split('@');
    const jid = `${user?.replace(/\p{Cf}/gu, '').replace(/^\+/, '')}@${server.join('@').toLowerCase()}`;
    const address = parseJid(jid);
    return address ? channelIdOf(address) : undefined;
  }
  const digits = text
    .replace(TRUNK, ' ')
    .replace(SEPARATORS, '')
    .replace(/^(?:\+|00)/, '');
  if (/^[1-9]\d{4,14}$/.test(digits)) return text !== digits && hasTrunkZero(digits) ? undefined : digits;
  // A bare group id is longer than any phone number, and keeps the dash that ids of old groups contain.
  return GROUP_USER.test(text) && digits.length > 15 ? groupJid(text) : undefined;
}

/**
 * As `canonicalChannelId`, and `@<user name>` for a person: for routes and searches. A person may give the name up and
 * somebody else take it, so lists that allow something do not accept it.
 */
export function canonicalRouteChannelId(input: string): string | undefined {
  if (!isUsername(input.trim())) return canonicalChannelId(input);
  const username = canonicalUsername(input);
  return username && `@${username}`;
}

/**
 * Countries whose mobile numbers are written in two forms, of which WhatsApp knows either: Brazil with and without the 9 behind
 * the area code, Mexico with and without 1, Argentina with and without 9.
 */
const TWO_FORMS: ReadonlyArray<readonly [form: RegExp, other: string]> = [
  [/^(55[1-9]\d)9([6-9]\d{7})$/, '$1$2'],
  [/^(55[1-9]\d)([6-9]\d{7})$/, '$19$2'],
  [/^521(\d{10})$/, '52$1'],
  [/^52(\d{10})$/, '521$1'],
  [/^549([1-9]\d{9})$/, '54$1'],
  [/^54([1-8]\d{9})$/, '549$1'],
];

/**
 * These channelIds, and for each number that has another written form, that form. People and programs that name a person
 * are compared with these: a list that has one form of a number has the person.
 */
export function writtenForms(channelIds: readonly string[]): string[] {
  const others = channelIds.flatMap((channelId) => {
    const form = TWO_FORMS.find(([pattern]) => pattern.test(channelId));
    return form ? [channelId.replace(...form)] : [];
  });
  return others.length === 0 ? [...channelIds] : [...new Set([...channelIds, ...others])];
}

/** Stored channelId of a chat's address; undefined for an address that is not a chat (status, broadcast, newsletter). */
export function channelIdOf(address: Address): string | undefined {
  switch (address.kind) {
    case 'phone':
      return address.phone;
    case 'lid':
      return lidJid(address.lid);
    case 'group':
      return groupJid(address.groupId);
    default:
      return undefined;
  }
}

/** The JID to send to for a stored channelId; undefined for `*` and a user name. */
export function jidOfChannelId(channelId: string): string | undefined {
  if (channelId === ANY_CHANNEL || isUsername(channelId)) return undefined;
  return channelId.includes('@') ? channelId : phoneJid(channelId);
}

/**
 * The part before `@`, as the user and session ids of the agent contract contain it; without the device and agent parts.
 */
export function contractUser(idOrJid: string): string {
  const at = idOrJid.indexOf('@');
  const user = at < 0 ? idOrJid : idOrJid.slice(0, at);
  return (user.split(/[_:]/, 1)[0] as string).replace(/[^A-Za-z0-9-]/g, '');
}

/** The user and the session of a message at its agent: those of the agent contract unless a later session began. */
export function sessionOf({
  session,
  from,
  channelId,
}: {
  session?: { userId: string; id: string };
  from: string;
  channelId: string;
}): {
  userId: string;
  sessionId: string;
} {
  if (session) return { userId: session.userId, sessionId: session.id };
  return { userId: contractUser(from), sessionId: contractSessionId(from, channelId) };
}

/** The agent contract's session of a person in a chat, `{from}_{channelId}`: `5493777239922_5493777239922`. */
export function contractSessionId(from: string, channelId: string): string {
  return `${contractUser(from)}_${contractUser(channelId)}`;
}

const FNV_OFFSET = 0x811c9dc5;
const FNV_PRIME = 0x01000193;

/**
 * Names a stored chat in log lines: eight hexadecimal digits, the same for all its messages, turns and replies, whichever
 * address (number or LID) they have.
 */
export function chatHash(chatId: ChatId): string {
  return fnv1a(`chat ${chatId}`);
}

/**
 * Names the address of a chat in log lines, without showing the number, before its message is stored. The line
 * `message received` has it beside the chat.
 * @param jid without a device
 */
export function jidHash(accountId: string, jid: string): string {
  return fnv1a(`${accountId} ${jid}`);
}

/** Eight hexadecimal digits that differ for most other texts: FNV-1a, 32 bits. */
export function fnv1a(text: string): string {
  let hash = FNV_OFFSET;
  for (const char of text) hash = Math.imul(hash ^ (char.codePointAt(0) ?? 0), FNV_PRIME) >>> 0;
  return hash.toString(16).padStart(8, '0');
}

declare const kind: unique symbol;

/**
 * A string that names one kind of thing: a literal can be used as any kind, but an id of one kind cannot be used as
 * another, so that the compiler finds a LID that is passed as a phone number.
 */
type Id<Kind extends string> = string & { readonly [kind]?: Kind };

/** Digits of an E.164 number, without `+`: `5493777239922`. */
export type PhoneNumber = Id<'phone'>;
/** Digits of a LID, WhatsApp's identifier that hides the number. */
export type Lid = Id<'lid'>;
/** Id of a group, without `@g.us`; ids of old groups contain a dash. */
export type GroupId = Id<'group'>;
/** Id of a stored chat. */
export type ChatId = Id<'chat'>;
/** Name of a node, stable over its restarts. */
export type NodeId = Id<'node'>;
