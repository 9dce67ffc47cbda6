import { groupJid, lidJid, phoneJid } from '../chat-id.ts';
import type { IncomingMessage, MediaInfo, MessageKind } from '../models.ts';
import type { ChatAddress, InboundMessage, PendingTurn } from '../ports/inbox.ts';

/** Every address known of one chat; bare digits, exactly one of person (phone, lid) or group. */
export interface ChatIdentity {
  phone?: string | null;
  lid?: string | null;
  groupId?: string | null;
}

/** What the database's functions take for an address; null is absent. */
export interface AddressColumns {
  phone: string | null;
  lid: string | null;
  groupId: string | null;
}

/** The columns of a chat's address. How a number and a LID become one chat is `chat_of` in the first migration. */
export function addressColumns(chat: ChatAddress): AddressColumns {
  if (chat.kind === 'group') return { phone: null, lid: null, groupId: chat.groupId };
  return { phone: chat.phone ?? null, lid: chat.lid ?? null, groupId: null };
}

/** Canonical channelIds of a chat, preferred first: the number before the LID. */
export function channelIdsOf({ phone, lid, groupId }: ChatIdentity): string[] {
  if (groupId) return [groupJid(groupId)];
  return [...(phone ? [phone] : []), ...(lid ? [lidJid(lid)] : [])];
}

/** The preferred channelId; empty only for a chat without any address, which the schema forbids. */
export function channelIdOfChat(chat: ChatIdentity): string {
  return channelIdsOf(chat)[0] ?? '';
}

/** The JID that answers a message: where it was heard from, else the number before the LID. */
export function replyToOf(message: Pick<InboundMessage, 'chat' | 'replyTo'>): string {
  if (message.replyTo) return message.replyTo;
  if (message.chat.kind === 'group') return groupJid(message.chat.groupId);
  return personJid(message.chat) ?? '';
}

/** A person as a JID, the number before the LID; undefined when nothing is known. */
export function personJid(person: { phone?: string | null; lid?: string | null }): string | undefined {
  if (person.phone) return phoneJid(person.phone);
  return person.lid ? lidJid(person.lid) : undefined;
}

/** An unanswered message with its chat, as either adapter holds it. */
export interface StoredTurn {
  messageId: string;
  chatId: string;
  accountId: string;
  waMessageId: string;
  senderPhone?: string | null;
  senderLid?: string | null;
  pushName?: string | null;
  kind: string;
  text: string;
  quotedText?: string | null;
  editOf?: string | null;
  media?: MediaInfo;
  sentAtMs: number;
  chat: ChatIdentity;
  replyTo: string;
  attempts?: number;
  receivedAtMs: number;
  repliedAtMs?: number;
  hasMore: boolean;
}

/**
 * A stored message as its turn needs it. In a 1:1 chat the writer is the chat's person, so an address that was learnt
 * after the message came in counts too.
 */
export function pendingTurn(row: StoredTurn): PendingTurn {
  const isGroup = Boolean(row.chat.groupId);
  const phone = row.senderPhone ?? (isGroup ? undefined : row.chat.phone);
  const lid = row.senderLid ?? (isGroup ? undefined : row.chat.lid);
  const channelIds = channelIdsOf(row.chat);
  const message: IncomingMessage = {
    id: row.waMessageId,
    from: personJid({ phone, lid }) ?? row.replyTo,
    channelId: channelIds[0] ?? '',
    text: row.text,
    timestamp: new Date(row.sentAtMs),
    accountId: row.accountId,
    isGroup,
    fromLid: lid ? lidJid(lid) : undefined,
    pushName: row.pushName ?? undefined,
    kind: row.kind as MessageKind,
    quotedText: row.quotedText ?? undefined,
    ...(row.editOf && { editOf: row.editOf }),
    ...(row.media && { media: row.media }),
  };
  const { messageId, chatId, accountId, replyTo, receivedAtMs, repliedAtMs } = row;
  return {
    messageId,
    chatId,
    accountId,
    message,
    channelIds,
    replyTo,
    earlierAttempts: row.attempts || undefined,
    sender: row.senderLid ?? row.senderPhone ?? '',
    hasMore: row.hasMore || undefined,
    receivedAtMs,
    repliedAtMs,
  };
}
