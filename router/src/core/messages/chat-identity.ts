import {
  type ChatId,
  type GroupId,
  groupJid,
  type Lid,
  lidJid,
  type PhoneNumber,
  phoneJid,
} from '../chat-id.ts';
import type { IncomingMessage, MediaInfo, MediaKind, Mention, MessageKind } from '../models.ts';
import { storedState } from '../policies/chat-state.ts';
import type { Access } from '../policies/conversation-fields.ts';
import type { PendingTurn } from '../turns/turn.ts';
import type {
  ChatAddress,
  InboundDetails,
  InboundMessage,
  MentionedAddress,
  ToUs,
} from './inbound-message.ts';

/** Every address known of one chat: a person (phone, LID or both) or a group. */
export interface ChatIdentity {
  phone?: PhoneNumber | null;
  lid?: Lid | null;
  groupId?: GroupId | null;
  /** Of a person, without `@`. */
  username?: string | null;
}

/** An address as the database's functions take it; null is absent. */
interface AddressColumns {
  phone: PhoneNumber | null;
  lid: Lid | null;
  groupId: GroupId | null;
}

/** The columns of a chat's address. How a number and a LID become one chat is in `chat_of` (prisma/functions/chats.sql). */
export function addressColumns(chat: ChatAddress): AddressColumns {
  if (chat.kind === 'group') return { phone: null, lid: null, groupId: chat.groupId };
  return { phone: chat.phone ?? null, lid: chat.lid ?? null, groupId: null };
}

/** Canonical channelIds of a chat, preferred first: the number before the LID before the user name. */
export function channelIdsOf({ phone, lid, groupId, username }: ChatIdentity): string[] {
  if (groupId) return [groupJid(groupId)];
  return [...(phone ? [phone] : []), ...(lid ? [lidJid(lid)] : []), ...(username ? [`@${username}`] : [])];
}

/** The preferred channelId; empty only for a chat without any address, which the schema forbids. */
export function channelIdOfChat(chat: ChatIdentity): string {
  return channelIdsOf(chat)[0] ?? '';
}

/** The JID that a reply goes to: the one the message came from, else the number before the LID. */
export function replyToOf(message: Pick<InboundMessage, 'chat' | 'replyTo'>): string {
  if (message.replyTo) return message.replyTo;
  if (message.chat.kind === 'group') return groupJid(message.chat.groupId);
  return personJid(message.chat) ?? '';
}

/** A person as a JID, the number before the LID; undefined when nothing is known. */
export function personJid(person: { phone?: PhoneNumber | null; lid?: Lid | null }): string | undefined {
  if (person.phone) return phoneJid(person.phone);
  return person.lid ? lidJid(person.lid) : undefined;
}

/** A mention as it is stored. */
type StoredMention = MentionedAddress & { name?: string };

/** Details as they are stored. */
export type StoredDetails = Omit<InboundDetails, 'quoted'> & {
  quoted?: InboundDetails['quoted'] & { name?: string };
};

/** An unanswered message with its chat, as it is stored; null is absent. */
export interface StoredTurn {
  messageId: string;
  chatId: ChatId;
  accountId: string;
  waMessageId: string;
  senderPhone?: PhoneNumber | null;
  senderLid?: Lid | null;
  pushName?: string | null;
  kind: string;
  text: string;
  quotedText?: string | null;
  editOf?: string | null;
  mentions?: StoredMention[] | null;
  details?: StoredDetails | null;
  media?: MediaInfo | null;
  viewOnce?: MediaKind | null;
  sentAtMs: number;
  chat: ChatIdentity;
  replyTo: string;
  attempts?: number;
  mayHaveRun?: boolean;
  suspicion?: number;
  edits?: number;
  /** WhatsApp's id of the edit that came after an agent may have had the former text. */
  editId?: string | null;
  mergedInto?: string | null;
  receivedAtMs: number;
  repliedAtMs?: number | null;
  isPaused?: boolean;
  isApproving?: boolean;
  isInLoop?: boolean;
  toUs?: ToUs | null;
  access?: Access | null;
  chatState?: unknown;
}

function mentionOf({ tag, name, ...person }: StoredMention): Mention {
  return { id: personJid(person) ?? '', tag, ...(name !== undefined && { name }) };
}

function detailsOf({
  card,
  quoted,
  subject,
  isTranscript,
  noTranscript,
}: StoredDetails): Partial<IncomingMessage> {
  const id = quoted && personJid(quoted);
  return {
    ...(card && { card }),
    ...(id && { quotedFrom: { id, ...(quoted.name !== undefined && { name: quoted.name }) } }),
    ...(subject && { subject }),
    ...(isTranscript && { isTranscript }),
    ...(noTranscript && { noTranscript }),
  };
}

/**
 * A stored message as its turn needs it. In a 1:1 chat the sender is the chat's person, so an address that was learned
 * after the message was stored counts too.
 */
export function pendingTurn(row: StoredTurn): PendingTurn {
  const isGroup = Boolean(row.chat.groupId);
  const phone = row.senderPhone ?? (isGroup ? undefined : row.chat.phone);
  const lid = row.senderLid ?? (isGroup ? undefined : row.chat.lid);
  const channelIds = channelIdsOf(row.chat);
  const message: IncomingMessage = {
    id: row.editId ?? row.waMessageId,
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
    ...editedBy(row),
    ...(row.mentions && { mentions: row.mentions.map(mentionOf) }),
    ...(row.media && { media: row.media }),
    ...(row.viewOnce && { viewOnce: row.viewOnce }),
    ...(row.details && detailsOf(row.details)),
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
    mayHaveRun: row.mayHaveRun || undefined,
    ...(row.suspicion && { suspicion: row.suspicion }),
    ...((row.editOf || row.editId) && { bubbleId: row.editOf || row.waMessageId }),
    ...(row.edits && { edits: row.edits }),
    ...(row.mergedInto && { mergedInto: row.mergedInto }),
    isPaused: row.isPaused || undefined,
    ...(row.isApproving && { isApproving: true }),
    ...(row.isInLoop && { isInLoop: true }),
    ...(row.toUs && { toUs: row.toUs }),
    ...(row.access && { access: row.access }),
    ...(row.chatState != null && { chatState: storedState(row.chatState) }),
    sender: row.senderLid ?? row.senderPhone ?? '',
    receivedAtMs,
    repliedAtMs: repliedAtMs ?? undefined,
  };
}

/** An agent that may have the former text of a message gets the edit as another message. */
function editedBy({ editId, editOf, waMessageId }: StoredTurn): Pick<IncomingMessage, 'editOf'> {
  if (editOf) return { editOf };
  return editId ? { editOf: waMessageId } : {};
}
