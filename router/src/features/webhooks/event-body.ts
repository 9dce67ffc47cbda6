import { jidOfChannelId } from '../../core/chat-id.ts';
import {
  type ChatIdentity,
  channelIdOfChat,
  pendingTurn,
  type StoredTurn,
} from '../../core/messages/chat-identity.ts';
import type { ReplyMedia } from '../../core/models.ts';
import { bodyOf } from '../../infra/agents/webhook/webhook-body.ts';
import type { DueDelivery } from './webhook-deliveries.ts';

/** What an event is made of; its facts are those that prisma/functions/webhooks.sql stores. */
export type EventToSend = Pick<DueDelivery, 'eventId' | 'accountId' | 'at' | 'facts'> & {
  event: DueDelivery['event'] | 'test';
};

/** Facts of a message, as far as they are not columns that a turn has too. */
type MessageFacts = Omit<StoredTurn, 'messageId' | 'chatId' | 'accountId' | 'replyTo' | 'receivedAtMs'> & {
  id: string;
  reason: string | null;
};

/** Facts of a message to a person, of its delivery, and of a dead letter. */
interface OtherFacts {
  id: string;
  waMessageId: string;
  replyToId: string | null;
  chat: ChatIdentity;
  text: string;
  kind: string;
  media: ReplyMedia | null;
  byHand: boolean;
  state: string;
  deadLetterId: string;
  direction: string;
  reason: string;
  error: string;
  attempts: number;
}

/** The JSON body of an event. The same event has the same body in every attempt. Absent values are null. */
export function eventBody({ eventId, event, accountId, at, facts }: EventToSend): Record<string, unknown> {
  const common = { eventId, event, accountId, at: at.toISOString() };
  if (event === 'message')
    return { ...common, ...messageFields(accountId, facts as unknown as MessageFacts) };
  if (event === 'account-state') {
    const { state, reason = null, number = null } = facts;
    return { ...common, state, reason, number };
  }
  if (event === 'test') return { ...common, text: 'A test event of wa2ai.' };
  const { chat, ...known } = facts as unknown as OtherFacts;
  const ids = { id: known.id, ...chatOf(chat), isGroup: Boolean(chat.groupId) };
  switch (event) {
    case 'reply': {
      const { waMessageId: messageId, replyToId, text, kind, media, byHand } = known;
      return { ...common, ...ids, messageId, replyToId, kind, text, media: fileOf(media), byHand };
    }
    case 'delivery': {
      const { waMessageId: messageId, replyToId, state } = known;
      return { ...common, ...ids, messageId, replyToId, state };
    }
    default: {
      const { deadLetterId, direction, reason, error, attempts } = known;
      return { ...common, ...ids, deadLetterId, direction, reason, error, attempts };
    }
  }
}

/** The fields that a webhook agent gets, without what only an agent needs. */
function messageFields(accountId: string, { id, reason, ...facts }: MessageFacts): Record<string, unknown> {
  const replyTo = jidOfChannelId(channelIdOfChat(facts.chat)) ?? '';
  const row = { ...facts, accountId, replyTo, messageId: id, chatId: '', receivedAtMs: 0 };
  const { message } = pendingTurn(row as unknown as StoredTurn);
  const body = bodyOf(undefined, { message }) as Record<string, unknown>;
  const { event: _, replyToken: __, context: ___, media, ...fields } = body;
  return { id, ...fields, ...chatOf(facts.chat), media: fileOf(media as ReplyMedia | null), reason };
}

function chatOf(chat: ChatIdentity): Record<string, unknown> {
  return { channelId: channelIdOfChat(chat), username: chat.username ?? null };
}

/** What a file is, without its bytes. */
function fileOf(media: ReplyMedia | null): Record<string, unknown> | null {
  if (!media) return null;
  const { kind, mimeType, fileName = null, sizeBytes = null } = media;
  return { kind, mimeType, fileName, sizeBytes };
}
