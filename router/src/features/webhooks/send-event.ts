import { jidOfChannelId } from '../../core/chat-id.ts';
import { type Clock, withLimit } from '../../core/clock.ts';
import {
  type ChatIdentity,
  channelIdOfChat,
  pendingTurn,
  type StoredTurn,
} from '../../core/messages/chat-identity.ts';
import type { ReplyMedia } from '../../core/models.ts';
import { errorOfSaid, type Phrase, say } from '../../core/phrases.ts';
import { type AgentTransport, retryAfterMs } from '../../infra/agents/transport/agent-transport.ts';
import { bodyOf, signatureHeaders } from '../../infra/agents/webhook/webhook-body.ts';
import type { DueDelivery } from './webhook-deliveries.ts';

/** How an attempt failed. */
export interface AttemptFailure {
  /** HTTP status; absent: there was no answer. */
  status?: number;
  error: string;
  phrase?: Phrase;
  /** The wait that the receiver asked for. */
  retryAfterMs?: number;
}

/** Time limit of one attempt. */
const ATTEMPT_LIMIT_MS = 10_000;
/** What a receiver answers says nothing. */
const MAX_ANSWER_BYTES = 64 * 1024;

interface SendEventDeps {
  transport: Pick<AgentTransport, 'fetch'>;
  clock: Clock;
}

/**
 * Sends an event to its receiver, once, signed with the time of this attempt. Any 2xx status counts as delivered. The sentence
 * of a failure contains nothing that the receiver answered.
 * @throws the signal's reason when `stopping` aborts
 */
export async function sendEvent(
  { transport, clock }: SendEventDeps,
  event: EventToSend & { url: string; secret?: string },
  stopping: AbortSignal,
): Promise<{ status: number } | AttemptFailure> {
  const { url, secret } = event;
  if (secret === undefined) {
    return errorOfSaid(say('delivery.secret-unreadable'));
  }
  const body = JSON.stringify(eventBody(event));
  const headers = new Headers({
    'content-type': 'application/json',
    'idempotency-key': event.eventId,
    ...signatureHeaders(secret, body, clock.now()),
  });
  const fetched = await withLimit(clock, ATTEMPT_LIMIT_MS, stopping, (signal) =>
    transport.fetch(url, { method: 'POST', headers, body, signal, maxBytes: MAX_ANSWER_BYTES }),
  );
  stopping.throwIfAborted();
  if (fetched.kind === 'answer') {
    const { status } = fetched;
    if (status >= 200 && status < 300) return { status };
    const waitMs = retryAfterMs(fetched.headers, clock.now());
    return {
      status,
      ...errorOfSaid(
        say(status >= 300 && status < 400 ? 'delivery.redirect' : 'delivery.status', { status }),
      ),
      ...(waitMs !== undefined && { retryAfterMs: waitMs }),
    };
  }
  switch (fetched.fault) {
    // The beginning of a success.
    case 'too-large':
      return { status: 200 };
    case 'aborted':
      return errorOfSaid(say('delivery.silent', { seconds: ATTEMPT_LIMIT_MS / 1_000 }));
    case 'refused':
      return errorOfSaid(say('delivery.not-called', { why: fetched.detail }));
    case 'not-connected':
      return errorOfSaid(say('delivery.not-connected', { why: fetched.detail }));
    default:
      return errorOfSaid(say('delivery.connection-ended', { why: fetched.detail }));
  }
}

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

/**
 * The JSON body of an event. The same event has the same body in every attempt. Absent values are null. `number` and
 * `messageId` are the earlier names of `phone` and `waMessageId`, until the next version.
 */
export function eventBody({ eventId, event, accountId, at, facts }: EventToSend): Record<string, unknown> {
  const common = { eventId, event, accountId, at: at.toISOString() };
  if (event === 'message')
    return { ...common, ...messageFields(accountId, facts as unknown as MessageFacts) };
  if (event === 'account-state') {
    const { state, reason = null, number: phone = null } = facts;
    return { ...common, state, reason, phone, number: phone };
  }
  if (event === 'test') return { ...common, text: 'A test event of wa2ai.' };
  const { chat, ...known } = facts as unknown as OtherFacts;
  const ids = { id: known.id, ...chatOf(chat), isGroup: Boolean(chat.groupId) };
  switch (event) {
    case 'reply': {
      const { waMessageId: messageId, replyToId, text, kind, media, byHand } = known;
      return {
        ...common,
        ...ids,
        waMessageId: messageId,
        messageId,
        replyToId,
        kind,
        text,
        media: fileOf(media),
        byHand,
      };
    }
    case 'delivery': {
      const { waMessageId: messageId, replyToId, state } = known;
      return { ...common, ...ids, waMessageId: messageId, messageId, replyToId, state };
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
  return {
    id,
    ...fields,
    ...chatOf(facts.chat),
    waMessageId: fields.messageId,
    phone: fields.number,
    media: fileOf(media as ReplyMedia | null),
    reason,
  };
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
