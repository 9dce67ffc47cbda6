import { createHash } from 'node:crypto';
import {
  type BinaryNode,
  cleanMessage,
  decodeMessageNode,
  decryptMessageNode,
  isJidGroup,
  isLidUser,
  isPnUser,
  jidDecode,
  type LIDMapping,
  MISSING_KEYS_ERROR_TEXT,
  proto,
  type SignalRepositoryWithLIDStore,
  unpadRandomMax16,
  type WAMessage,
} from '@whiskeysockets/baileys';
import { z } from 'zod';
import { parseJid } from '../../../core/chat-id.ts';
import type { DamagedEntry, JournalEntry } from '../../../core/ports/inbox.ts';
import type { KeyName } from '../../../core/ports/key-store.ts';
import { senderKeyName } from '../signal/signal-repository.ts';
import type { Earlier, InboundStanza } from './inbound-events.ts';

/** The linked account's own addresses, JIDs with or without a device. */
export interface OwnJids {
  id: string;
  lid: string;
}

type Attrs = BinaryNode['attrs'];

/** Baileys logs nothing here: the caller logs the result. */
const SILENT = {
  level: 'silent',
  child: () => SILENT,
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

const CIPHERTEXTS = new Set(['pkmsg', 'msg', 'skmsg']);
/** Estimated memory of a waiting stanza or a decrypted message in addition to its bytes. */
const OVERHEAD_BYTES = 2_500;
/** WhatsApp's own ids have 16 to 32 characters; senders may choose longer ones. */
const MAX_ID_CHARS = 256;

/** The stanza of an ordinary message: Signal ciphertexts of a person or a group member. */
export interface OrdinaryStanza extends InboundStanza {
  readonly attrs: Attrs;
  /** Its content is removed when it is not needed any more. */
  node: BinaryNode;
  readonly id: string;
  /** The JID of the device that made the ciphertexts. */
  readonly author: string;
  readonly receipt: { to: string; participant: string | undefined; isOwn: boolean };
  /** The number and the LID of the author, if the stanza names both. */
  readonly pair: LIDMapping | undefined;
  /** The number and the LID of the chat partner, if a message of the account names both. */
  readonly recipientPair: LIDMapping | undefined;
  readonly hasPreKey: boolean;
  /** It has a part that nobody encrypted, so anybody may have written it: it must not be read. */
  readonly isPlaintext: boolean;
}

/**
 * Reads a stanza that wa2ai handles itself. Baileys handles all others: peer messages of the own phone, status updates,
 * newsletters, `unavailable`, `msmsg`, and malformed stanzas.
 * @param chatOf gives the name of a stanza's chat
 * @returns undefined for a stanza that Baileys' own listener must handle
 */
export function ordinaryStanza(
  node: BinaryNode,
  own: OwnJids,
  chatOf: (attrs: Attrs) => string,
): OrdinaryStanza | undefined {
  const { attrs, content } = node;
  if (!Array.isArray(content) || attrs.category === 'peer') return undefined;
  const isGroup = isJidGroup(attrs.from) === true;
  if (!isGroup && !isPnUser(attrs.from) && !isLidUser(attrs.from)) return undefined;
  const hash = createHash('sha256').update(attrs.participant ?? attrs.from ?? '');
  let bytes = bytesOf(attrs);
  let parts = 0;
  let hasPreKey = false;
  const isPlaintext = hasPlaintext(node);
  if (isPlaintext) hash.update('\0').update(attrs.id ?? '');
  for (const { tag, attrs: part, content: ciphertext } of content) {
    if (isPlaintext) continue;
    if (tag === 'unavailable') return undefined;
    if (tag !== 'enc') continue;
    const { type = '' } = part;
    if (!CIPHERTEXTS.has(type) || !(ciphertext instanceof Uint8Array)) return undefined;
    if (type === 'skmsg' && !isGroup) return undefined;
    hash.update('\0').update(ciphertext);
    bytes += ciphertext.byteLength;
    parts += 1;
    hasPreKey ||= type === 'pkmsg';
  }
  if (parts === 0 && !isPlaintext) return undefined;
  const stanza = describe(node, own, chatOf);
  return stanza && { ...stanza, bytes, hasPreKey, isPlaintext, hash: hash.digest('hex') };
}

/** Reads the attributes of a message stanza; undefined for a malformed one. */
export function describe(
  node: BinaryNode,
  own: OwnJids,
  chatOf: (attrs: Attrs) => string,
): OrdinaryStanza | undefined {
  const { attrs } = node;
  let decoded: ReturnType<typeof decodeMessageNode>;
  try {
    decoded = decodeMessageNode({ tag: 'message', attrs }, own.id, own.lid);
  } catch {
    return undefined;
  }
  const { fullMessage, author } = decoded;
  const { key } = fullMessage;
  const { remoteJid, remoteJidAlt, participant } = key;
  if (!remoteJid || !key.id) return undefined;
  const isLid = isLidUser(remoteJid) || isLidUser(remoteJidAlt ?? undefined);
  return {
    node,
    attrs,
    id: key.id,
    key: messageKeyOf(fullMessage),
    chat: chatOf(attrs),
    hash: '',
    bytes: bytesOf(attrs),
    isOffline: attrs.offline !== undefined,
    author,
    // Baileys' handleMessage (messages-recv.js): where an own message's receipt goes depends on its addressing.
    receipt: {
      to: remoteJid,
      participant: (key.fromMe && isLid ? author : participant) ?? undefined,
      isOwn: key.fromMe === true,
    },
    pair: pairOf(author, [attrs.participant_pn, attrs.participant_lid, attrs.sender_pn, attrs.sender_lid]),
    recipientPair: attrs.recipient
      ? pairOf(attrs.recipient, [
          attrs.peer_recipient_pn,
          attrs.peer_recipient_lid,
          attrs.recipient_pn,
          attrs.recipient_lid,
        ])
      : undefined,
    hasPreKey: false,
    isPlaintext: false,
  };
}

/** Whether a stanza has a part that is not encrypted, as messages of newsletters do. */
export function hasPlaintext({ content }: BinaryNode): boolean {
  return Array.isArray(content) && content.some(({ tag }) => tag === 'plaintext');
}

/** Baileys gives one address of either person as the other address of the chat, so the attributes are read here. */
function pairOf(jid: string, alternates: ReadonlyArray<string | undefined>): LIDMapping | undefined {
  if (isPnUser(jid)) {
    const lid = alternates.find((alternate) => isLidUser(alternate));
    return lid ? { lid, pn: jid } : undefined;
  }
  const pn = isLidUser(jid) ? alternates.find((alternate) => isPnUser(alternate)) : undefined;
  return pn ? { lid: jid, pn } : undefined;
}

/**
 * The key of a message within an account: chat, sender and WhatsApp id, in the form of Baileys' upserts. Senders choose
 * ids, so an own message and one of the chat partner may have the same.
 */
export function messageKeyOf({ key }: WAMessage): string {
  const sender = key.fromMe ? 'own' : bareJid(key.participant);
  const id = key.id ?? '';
  // Thousands of keys are in memory.
  const short = id.length <= MAX_ID_CHARS ? id : createHash('sha256').update(id).digest('hex');
  return `${bareJid(key.remoteJid)} ${sender} ${short}`;
}

function bytesOf(attrs: Attrs): number {
  return Object.values(attrs).reduce((sum, value) => sum + 2 * (value?.length ?? 0), OVERHEAD_BYTES);
}

/** The chat's JID, without a device, in a message key. */
export function chatJidOf(messageKey: string): string {
  return messageKey.slice(0, messageKey.indexOf(' '));
}

function bareJid(jid: string | null | undefined): string {
  if (!jid) return '';
  const at = jid.indexOf('@');
  return at < 0 ? jid : `${jid.slice(0, at).split(/[:_]/, 1)[0]}${jid.slice(at)}`;
}

/** The chat's JID, and the number and LID that a stanza names for the chat of a person. */
export function chatAddressesOf(attrs: Attrs): { jid: string; phone?: string; lid?: string } {
  const found: { jid: string; phone?: string; lid?: string } = {
    jid: bareJid(attrs.recipient ?? attrs.from),
  };
  const alternates = attrs.recipient
    ? [attrs.recipient_pn, attrs.recipient_lid, attrs.peer_recipient_pn, attrs.peer_recipient_lid]
    : [attrs.sender_pn, attrs.sender_lid, attrs.participant_pn, attrs.participant_lid];
  if (found.jid.endsWith('@g.us')) return found;
  for (const jid of [found.jid, ...alternates]) {
    const address = jid ? parseJid(jid) : undefined;
    if (address?.kind === 'phone') found.phone ??= address.phone;
    if (address?.kind === 'lid') found.lid ??= address.lid;
  }
  return found;
}

/** The keys that the decryption of the stanza reads. */
export function keysOf({ attrs, author, pair, hasPreKey }: OrdinaryStanza): KeyName[] {
  const names: KeyName[] = [];
  const device = jidDecode(author)?.device ?? 0;
  for (const jid of pair ? [pair.pn, pair.lid] : [author]) {
    const person = jidDecode(jid);
    if (!person) continue;
    const isLid = person.server === 'lid';
    const address = `${person.user}${isLid ? '_1' : ''}.${device}`;
    names.push({ category: 'lid-mapping', keyId: isLid ? `${person.user}_reverse` : person.user });
    names.push({ category: 'session', keyId: address });
    if (hasPreKey) names.push({ category: 'identity-key', keyId: address });
    if (attrs.from && isJidGroup(attrs.from)) {
      names.push({ category: 'sender-key', keyId: senderKeyName(attrs.from, address) });
    }
  }
  return names;
}

type StanzaReading =
  | { kind: 'message'; message: WAMessage }
  /** It contained its author's group key and no message. */
  | { kind: 'key-only' }
  /** Its message keys were used before, so it was read before. */
  | { kind: 'spent' }
  | { kind: 'failed' };

/**
 * Decrypts a stanza with the given repository. Unwrapping, group keys and business names are Baileys'
 * (Utils/decode-wa-message.js).
 */
export async function readStanza(
  node: BinaryNode,
  own: OwnJids,
  repository: SignalRepositoryWithLIDStore,
): Promise<StanzaReading> {
  const plaintexts: Uint8Array[] = [];
  const noting: SignalRepositoryWithLIDStore = {
    ...repository,
    decryptMessage: async (options) => {
      const plaintext = await repository.decryptMessage(options);
      plaintexts.push(plaintext);
      return plaintext;
    },
  };
  const { fullMessage: message, decrypt } = decryptMessageNode(node, own.id, own.lid, noting, SILENT);
  await decrypt();
  const isFailed = message.messageStubType === proto.WebMessageInfo.StubType.CIPHERTEXT;
  const fields = Object.keys(message.message ?? {}).filter((name) => name !== 'messageContextInfo');
  const isKeyOnly = fields.length > 0 && fields.every((name) => name === 'senderKeyDistributionMessage');
  if (!message.message || (isFailed && isKeyOnly)) {
    const isSpent = message.messageStubParameters?.[0] === MISSING_KEYS_ERROR_TEXT;
    return { kind: isSpent ? 'spent' : 'failed' };
  }
  if (isKeyOnly) return { kind: 'key-only' };
  // A part that could not be decrypted does not matter when another part has the message.
  message.messageStubType = undefined;
  message.messageStubParameters = undefined;
  cleanMessage(message, own.id, own.lid);
  nameAuthor(message, node.attrs);
  if (message.key.fromMe) addOuterSecret(message.message, plaintexts);
  return { kind: 'message', message };
}

/**
 * A message that the account sent from another device is inside of a `deviceSentMessage`. Its secret may be in the
 * `messageContextInfo` beside that, which Baileys drops; Baileys itself writes it into both. Workaround:
 * refs/baileys-workarounds.md.
 */
function addOuterSecret(message: proto.IMessage, plaintexts: readonly Uint8Array[]): void {
  if (message.messageContextInfo?.messageSecret?.length) return;
  for (const plaintext of plaintexts) {
    let whole: proto.Message;
    try {
      whole = proto.Message.decode(unpadRandomMax16(plaintext));
    } catch {
      // Baileys could not read this part either, and has the message from another one.
      continue;
    }
    const messageSecret = whole.messageContextInfo?.messageSecret;
    if (!whole.deviceSentMessage || !messageSecret?.length) continue;
    message.messageContextInfo = { ...message.messageContextInfo, messageSecret };
    return;
  }
}

/**
 * Which attribute has the user name of a 1:1 stanza is an assumption (refs/baileys-workarounds.md); Baileys reads that of group
 * members and of recipients.
 */
function nameAuthor({ key }: WAMessage, attrs: Attrs): void {
  if (key.fromMe || isJidGroup(attrs.from)) return;
  key.remoteJidUsername ??= attrs.sender_username ?? attrs.username ?? attrs.from_username;
}

/** The journal row of a stanza that was read: its plaintexts and its attributes, without the ciphertexts. */
export function journalEntryOf(
  { attrs, hash, id, node }: OrdinaryStanza,
  order: bigint,
  plaintexts: readonly Uint8Array[],
  behind: readonly Earlier[],
): JournalEntry {
  const certificate = Array.isArray(node.content)
    ? node.content.find(({ tag, content }) => tag === 'verified_name' && content instanceof Uint8Array)
    : undefined;
  const stored: StoredStanza = { attrs };
  if (plaintexts.length > 1) stored.lengths = plaintexts.map(({ byteLength }) => byteLength);
  if (behind.length > 0) stored.behind = behind.map((earlier) => [earlier.key, earlier.order.toString()]);
  if (certificate) stored.verifiedName = Buffer.from(certificate.content as Uint8Array).toString('base64');
  return {
    ciphertextHash: hash,
    stanzaOrder: order,
    waMessageId: id,
    plaintext: plaintexts.length === 1 && plaintexts[0] ? plaintexts[0] : Buffer.concat(plaintexts),
    stanza: Buffer.from(JSON.stringify(stored)),
  };
}

const storedStanza = z.object({
  attrs: z.record(z.string(), z.string()),
  lengths: z.array(z.number()).optional(),
  behind: z.array(z.tuple([z.string(), z.string().regex(/^\d{1,18}$/)])).optional(),
  verifiedName: z.string().optional(),
});

type StoredStanza = z.output<typeof storedStanza>;

/** A journal row: its message, the stanza of a message that core is done with, or an unreadable row with its attributes if these can be read. */
type JournalledMessage =
  | { stanza: OrdinaryStanza; order: bigint; message: WAMessage; behind: Earlier[] }
  | { done: OrdinaryStanza }
  | { unreadable: JournalEntry | DamagedEntry; stanza: OrdinaryStanza | undefined };

/** Reads a journal row, with the result that `readStanza` had for its stanza. */
export async function readJournalEntry(
  entry: JournalEntry | DamagedEntry,
  own: OwnJids,
  chatOf: (attrs: Attrs) => string,
): Promise<JournalledMessage> {
  const stored = entry.stanza && decodeStored(entry.stanza);
  const node = { tag: 'message', attrs: stored?.attrs ?? {} };
  const described = stored && describe(node, own, chatOf);
  if (!stored || !described || 'isDamaged' in entry) return { unreadable: entry, stanza: described };
  const stanza = { ...described, hash: entry.ciphertextHash };
  if (entry.isDone) return { done: stanza };
  const parts: BinaryNode[] = plaintextsOf(entry.plaintext, stored.lengths).map((content) => ({
    tag: 'enc',
    attrs: { type: 'msg' },
    content,
  }));
  if (stored.verifiedName) {
    parts.push({ tag: 'verified_name', attrs: {}, content: Buffer.from(stored.verifiedName, 'base64') });
  }
  const reading = await readStanza({ ...node, content: parts }, own, PLAINTEXTS);
  if (reading.kind !== 'message') return { unreadable: entry, stanza };
  const behind = (stored.behind ?? []).map(([key, order]) => ({ key, order: BigInt(order) }));
  return { stanza, order: entry.stanzaOrder, message: reading.message, behind };
}

/** A Signal repository for parts that are plaintexts already. Workaround: refs/baileys-workarounds.md. */
const PLAINTEXTS = {
  lidMapping: { getLIDForPN: async () => null, storeLIDPNMappings: async () => undefined },
  migrateSession: async () => undefined,
  decryptMessage: async ({ ciphertext }: { ciphertext: Uint8Array }) => ciphertext,
  processSenderKeyDistributionMessage: async () => undefined,
} as unknown as SignalRepositoryWithLIDStore;

function plaintextsOf(plaintext: Uint8Array, lengths: readonly number[] | undefined): Uint8Array[] {
  if (!lengths) return [plaintext];
  let start = 0;
  return lengths.map((length) => {
    start += length;
    return plaintext.subarray(start - length, start);
  });
}

/** @returns undefined for bytes that `journalEntryOf` did not make */
function decodeStored(bytes: Uint8Array): StoredStanza | undefined {
  try {
    return storedStanza.parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    return undefined;
  }
}

/** The estimated memory of a message, in bytes. */
export function messageBytes(plaintexts: readonly Uint8Array[]): number {
  return plaintexts.reduce((sum, { byteLength }) => sum + byteLength, OVERHEAD_BYTES);
}

/**
 * The record of a message that was given up, in the form of a message that Baileys could not decrypt; undefined for
 * malformed attributes. Its id differs from the message's id, so that a text that arrives later is a new message.
 */
export function undecryptableRecord(attrs: Attrs, own: OwnJids): WAMessage | undefined {
  let message: WAMessage;
  try {
    message = decodeMessageNode({ tag: 'message', attrs }, own.id, own.lid).fullMessage;
  } catch {
    return undefined;
  }
  cleanMessage(message, own.id, own.lid);
  message.messageStubType = proto.WebMessageInfo.StubType.CIPHERTEXT;
  message.key.id = `${attrs.id}:undecryptable`;
  return message;
}
