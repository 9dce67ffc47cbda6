import {
  type BinaryNode,
  getBinaryNodeChild,
  jidDecode,
  jidEncode,
  S_WHATSAPP_NET,
} from '@whiskeysockets/baileys';

/** The server's own address, as clients write it in `to` and expect it in `from`. */
export const SERVER = S_WHATSAPP_NET;

/** Makes a binary node; attributes that are `undefined` are left out. */
export function node(
  tag: string,
  attrs: Record<string, string | undefined> = {},
  content?: BinaryNode['content'],
): BinaryNode {
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(attrs)) if (value !== undefined) kept[key] = value;
  return content === undefined ? { tag, attrs: kept } : { tag, attrs: kept, content };
}

/** The child nodes, or none. */
export function children(of: BinaryNode | undefined): BinaryNode[] {
  return Array.isArray(of?.content) ? of.content : [];
}

/** The bytes of a node's content (text becomes UTF-8), or `undefined`. */
export function bytesOf(of: BinaryNode | undefined): Buffer | undefined {
  if (of?.content instanceof Uint8Array) return Buffer.from(of.content);
  return typeof of?.content === 'string' ? Buffer.from(of.content) : undefined;
}

/** The bytes of the first child of that tag, or `undefined`. */
export function childBytes(of: BinaryNode | undefined, tag: string): Buffer | undefined {
  return of && bytesOf(getBinaryNodeChild(of, tag));
}

/** A big-endian unsigned integer of any width up to 6 bytes; `undefined` stays. */
export function uintOf(bytes: Uint8Array | undefined): number | undefined {
  return bytes && [...bytes].reduce((sum, byte) => sum * 256 + byte, 0);
}

/** `34600:7@s.whatsapp.net` -> `34600@s.whatsapp.net`. */
export function userJid(jid: string): string {
  const decoded = jidDecode(jid);
  return decoded ? jidEncode(decoded.user, decoded.server) : jid;
}

/** The device number of a JID; 0, the phone, when it has none. */
export function deviceOf(jid: string): number {
  return jidDecode(jid)?.device ?? 0;
}

/** The JID of one device of a user; device 0 is written without a number. */
export function deviceJid(user: string, device: number): string {
  const decoded = jidDecode(user);
  return decoded ? jidEncode(decoded.user, decoded.server, device) : user;
}

export const isGroupJid = (jid: string): boolean => jid.endsWith('@g.us');
export const isLidJid = (jid: string): boolean => jid.endsWith('@lid');

/** Seconds since 1970, as stanzas carry them. */
export function seconds(ms: number): string {
  return Math.floor(ms / 1000).toString();
}
