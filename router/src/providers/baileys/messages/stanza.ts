import { createHash } from 'node:crypto';
import {
  type BinaryNode,
  cleanMessage,
  decodeMessageNode,
  proto,
  unpadRandomMax16,
  type WAMessage,
} from '@whiskeysockets/baileys';
import { z } from 'zod';
import { parseJid } from '../../../core/chat-id.ts';
import type { DamagedEntry, JournalEntry } from '../../../core/ports/journal.ts';

/** The linked account's own addresses, JIDs with or without a device. */
export interface OwnJids {
  id: string;
  lid: string;
}

const ENCRYPTED = new Set(['pkmsg', 'msg', 'skmsg']);

/** The Signal ciphertexts of a `message` stanza: what Baileys will hand to the signal repository, the same objects. */
export function ciphertextsOf(node: BinaryNode): Uint8Array[] {
  if (!Array.isArray(node.content)) return [];
  const found: Uint8Array[] = [];
  for (const child of node.content) {
    if (child.tag !== 'enc' || !ENCRYPTED.has(child.attrs.type ?? '')) continue;
    if (child.content instanceof Uint8Array) found.push(child.content);
  }
  return found;
}

/** Baileys acknowledges it with an error and looks at nothing in it (`handleMessage` in Socket/messages-recv.js). */
export function isRefusedUnread({ content }: BinaryNode): boolean {
  return Array.isArray(content) && content.find(({ tag }) => tag === 'enc')?.attrs.type === 'msmsg';
}

/** Who encrypted a stanza's content, device included. */
export function senderOf(attrs: BinaryNode['attrs']): string {
  return attrs.participant ?? attrs.from ?? '';
}

/** The same stanza delivered again has the same hash. */
export function ciphertextHash(sender: string, ciphertext: Uint8Array): string {
  return createHash('sha256').update(sender).update('\0').update(ciphertext).digest('hex');
}

/** The message that Baileys will make of a stanza, still without content; undefined for what it will refuse. */
export function envelopeOf(attrs: BinaryNode['attrs'], own: OwnJids): WAMessage | undefined {
  try {
    return decodeMessageNode({ tag: 'message', attrs }, own.id, own.lid).fullMessage;
  } catch {
    return undefined;
  }
}

/**
 * The message that Baileys makes of an envelope and the decrypted parts of its stanza (Utils/decode-wa-message.js):
 * padding off, the wrapper of own devices off, parts merged, keys in its upserts' form. Takes over `envelope`.
 * @throws when a part is no Message, or the message's key is malformed
 */
export function fillEnvelope(
  envelope: WAMessage,
  plaintexts: readonly Uint8Array[],
  own: OwnJids,
): WAMessage {
  for (const plaintext of plaintexts) {
    const decoded = proto.Message.decode(unpadRandomMax16(plaintext));
    const content = decoded.deviceSentMessage?.message ?? decoded;
    envelope.message = envelope.message ? Object.assign(envelope.message, content) : content;
  }
  cleanMessage(envelope, own.id, own.lid);
  return envelope;
}

/** Names a message within an account: chat, writer and WhatsApp id, in the form of Baileys' upserts. */
export function messageKeyOf(message: WAMessage): string {
  const { remoteJid, participant, id } = message.key;
  return `${bareJid(remoteJid)} ${bareJid(participant)} ${id ?? ''}`;
}

function bareJid(jid: string | null | undefined): string {
  return jid ? jid.replace(/[:_][^@]*(?=@)/, '') : '';
}

/** A stanza of the same chat that reached the socket earlier and was not decrypted yet. */
export interface Earlier {
  /** As `messageKeyOf`. */
  key: string;
  order: bigint;
}

/** A decrypted part that brings its author's group key, and nothing that the author wrote; false when it is malformed. */
export function isKeyAlone(plaintext: Uint8Array): boolean {
  try {
    const decoded = proto.Message.decode(unpadRandomMax16(plaintext));
    const fields = new Set(Object.keys(decoded.deviceSentMessage?.message ?? decoded));
    const hasKey = fields.delete('senderKeyDistributionMessage');
    fields.delete('messageContextInfo');
    return hasKey && fields.size === 0;
  } catch {
    return false;
  }
}

/** Attributes alone: ciphertexts are of no use any more. The rest comes back from `stanzasOf`. */
export function encodeStanza({ attrs, parts, behind }: StanzaToStore): Uint8Array {
  const stored: StoredStanza = { attrs };
  if (parts > 1) stored.parts = parts;
  if (behind.length > 0) stored.behind = behind.map(({ key, order }) => [key, order.toString()]);
  return Buffer.from(JSON.stringify(stored));
}

interface StanzaToStore {
  attrs: BinaryNode['attrs'];
  /** Its ciphertexts, each of which is journalled by itself. */
  parts: number;
  /** What was still to be decrypted before it. */
  behind: readonly Earlier[];
}

const storedStanza = z.object({
  attrs: z.record(z.string(), z.string()),
  parts: z.number().optional(),
  behind: z.array(z.tuple([z.string(), z.string().regex(/^\d{1,18}$/)])).optional(),
});

type StoredStanza = z.output<typeof storedStanza>;

/** A journalled message, its parts together. */
export interface JournalledStanza {
  attrs: BinaryNode['attrs'];
  order: bigint;
  entries: JournalEntry[];
  /** How many entries the whole of it has. */
  parts: number;
  /** What was still to be decrypted before it. */
  behind: Earlier[];
}

/** A journal entry of which something cannot be read, with its stanza's attributes if those can. */
export interface UnreadableEntry {
  unreadable: JournalEntry | DamagedEntry;
  attrs: BinaryNode['attrs'] | undefined;
}

/** The messages of journal entries in stanza order; the parts of one stanza are together. */
export function stanzasOf(entries: ReadonlyArray<JournalEntry | DamagedEntry>): {
  stanzas: JournalledStanza[];
  unreadable: UnreadableEntry[];
} {
  const stanzas = new Map<bigint, JournalledStanza>();
  const unreadable: UnreadableEntry[] = [];
  for (const entry of entries) {
    const stored = entry.stanza && decodeStanza(entry.stanza);
    if (!stored || 'isDamaged' in entry) {
      unreadable.push({ unreadable: entry, attrs: stored?.attrs });
      continue;
    }
    const known = stanzas.get(entry.stanzaOrder);
    if (known) {
      known.entries.push(entry);
      continue;
    }
    const { attrs, parts = 1, behind = [] } = stored;
    stanzas.set(entry.stanzaOrder, {
      attrs,
      order: entry.stanzaOrder,
      entries: [entry],
      parts,
      behind: behind.map(([key, order]) => ({ key, order: BigInt(order) })),
    });
  }
  return { stanzas: [...stanzas.values()], unreadable };
}

/** @returns undefined for bytes that `encodeStanza` never made */
function decodeStanza(bytes: Uint8Array): StoredStanza | undefined {
  try {
    return storedStanza.parse(JSON.parse(Buffer.from(bytes).toString()));
  } catch {
    return undefined;
  }
}

/**
 * Lanes of chats: messages that must come out in order share one. A person's number and LID are one lane once a stanza
 * named both.
 */
export function addressesOf(attrs: BinaryNode['attrs']): { chat: string; phone?: string; lid?: string } {
  const chat = bareJid(attrs.recipient ?? attrs.from);
  const alternates = attrs.recipient
    ? [attrs.recipient_pn, attrs.recipient_lid, attrs.peer_recipient_pn, attrs.peer_recipient_lid]
    : [attrs.sender_pn, attrs.sender_lid, attrs.participant_pn, attrs.participant_lid];
  const found: { chat: string; phone?: string; lid?: string } = { chat };
  for (const jid of chat.endsWith('@g.us') ? [chat] : [chat, ...alternates]) {
    const address = jid ? parseJid(jid) : undefined;
    if (address?.kind === 'phone') found.phone ??= address.phone;
    if (address?.kind === 'lid') found.lid ??= address.lid;
  }
  return found;
}
