/**
 * The only place that makes and parses WhatsApp addresses. A JID is `<user>[_agent][:device]@<server>`.
 * Servers: `s.whatsapp.net` (phone number; `c.us` is its old name), `lid`, `g.us` (group), `broadcast`, `newsletter`.
 */

declare const brand: unique symbol;
/** Digits of an E.164 number, without `+`: `5493777239922`. */
export type PhoneNumber = string & { readonly [brand]: 'phone' };
/** Digits of a LID, WhatsApp's identifier that hides the number. */
export type Lid = string & { readonly [brand]: 'lid' };
/** Id of a group, without `@g.us`; old groups hold a dash. */
export type GroupId = string & { readonly [brand]: 'group' };

export type Address =
  | { kind: 'phone'; phone: PhoneNumber; device: number }
  | { kind: 'lid'; lid: Lid; device: number }
  | { kind: 'group'; groupId: GroupId }
  | { kind: 'status' }
  | { kind: 'broadcast'; id: string }
  | { kind: 'newsletter'; id: string };

const PERSON_USER = /^(\d{5,20})(?:_\d+)?(?::(\d+))?$/;
const GROUP_USER = /^(\d{5,25}(?:-\d{5,20})?)$/;

/** Parses a JID of any server; undefined when it is none. Never throws. */
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
  const person = PERSON_USER.exec(user);
  if (!person) return undefined;
  const digits = person[1] as string;
  const device = Number(person[2] ?? 0);
  if (server === 's.whatsapp.net' || server === 'c.us') {
    return { kind: 'phone', phone: digits as PhoneNumber, device };
  }
  if (server === 'lid' || server === 'hosted.lid') return { kind: 'lid', lid: digits as Lid, device };
  return undefined;
}

/** `5493777239922` → `5493777239922@s.whatsapp.net`. */
export function phoneJid(phone: string): string {
  return `${phone}@s.whatsapp.net`;
}

/** `123456789` → `123456789@lid`. */
export function lidJid(lid: string): string {
  return `${lid}@lid`;
}

/** `1203...` → `1203...@g.us`. */
export function groupJid(groupId: string): string {
  return `${groupId}@g.us`;
}

/** The wildcard of the route table. */
export const ANY_CHANNEL = '*';

/**
 * Brings what an admin writes as a channelId to its stored form: `*`, digits of a phone number, `<digits>@lid` or
 * `<id>@g.us`. Takes a number with or without `+`, spaces, dashes, dots and brackets, any JID of a person or group.
 * Undefined: it is no address of a chat.
 */
export function canonicalChannelId(input: string): string | undefined {
  const text = input.trim();
  if (text === ANY_CHANNEL) return ANY_CHANNEL;
  if (text.includes('@')) {
    const address = parseJid(text.replace(/^\+/, ''));
    return address ? channelIdOf(address) : undefined;
  }
  const digits = text.replace(/^\+/, '').replace(/[\s().-]/g, '');
  if (/^\d{5,15}$/.test(digits)) return digits;
  // A bare group id is longer than any phone number (E.164 has at most 15 digits), or holds the dash of old groups.
  if (/^\d{16,25}$/.test(digits) || GROUP_USER.test(text)) return groupJid(text);
  return undefined;
}

/** Stored channelId of a chat's address; undefined for what is no chat (status, broadcast, newsletter). */
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

/** The JID to send to for a stored channelId; undefined for `*`. */
export function jidOfChannelId(channelId: string): string | undefined {
  if (channelId === ANY_CHANNEL) return undefined;
  return channelId.includes('@') ? channelId : phoneJid(channelId);
}

/** What stands before `@`, as the agent contract's user and session ids use it; device and agent parts dropped. */
export function contractUser(idOrJid: string): string {
  const at = idOrJid.indexOf('@');
  const user = at < 0 ? idOrJid : idOrJid.slice(0, at);
  return user.replace(/[_:].*$/, '').replace(/[^A-Za-z0-9-]/g, '');
}
