import type { Phrase } from '../translation/en.ts';

/** The parts of the API's responses that the pages about chats use. Times are ISO 8601. */

export interface Chat {
  id: string;
  accountId: string;
  channelId: string;
  isGroup: boolean;
  phone?: string;
  username?: string;
  name?: string;
  activeAt: string;
  unanswered: number;
  failed: number;
  needs?: Array<'draft' | 'stranger' | 'question' | 'failed' | 'unanswered'>;
  isLocked?: true;
  lastMessage?: { direction: 'incoming' | 'outgoing'; text: string; kind: string; at: string; state: string };
  pause?: {
    mode: 'listen-only' | 'approve' | 'auto-reply-loop';
    since: string;
    until?: string;
    reason?: string;
    phrase?: Phrase;
  };
  access?: 'pending' | 'approved' | 'refused';
  tags?: string[];
  notes?: string;
}

export interface MessageFile {
  kind: string;
  mimeType: string;
  fileName?: string;
  sizeBytes?: number;
}

/** What a message has besides text and file, as its sender wrote it. */
export type Card =
  | {
      kind: 'location';
      latitude: number;
      longitude: number;
      name?: string;
      address?: string;
      isLive?: true;
    }
  | { kind: 'contacts'; contacts: Array<{ name: string; phones?: string[]; phone?: string }> }
  | { kind: 'poll'; question: string; options: string[]; selectable: number }
  | {
      kind: 'event';
      name: string;
      description?: string;
      place?: string;
      startsAt?: string;
      isCanceled?: true;
    }
  | { kind: 'link'; url: string; title?: string; description?: string }
  | { kind: 'choice'; id: string; title?: string };

interface AnyMessage {
  id: string;
  accountId: string;
  channelId: string;
  chatId: string;
  waMessageId: string;
  text: string;
  state: string;
  reason?: string;
  error?: string;
  phrase?: Phrase;
  attempts: number;
  media?: MessageFile;
  hasFile?: true;
}

export interface Received extends AnyMessage {
  direction: 'incoming';
  from: string;
  pushName?: string;
  kind: string;
  quotedText?: string;
  editOf?: string;
  about?: string;
  card?: Card;
  edits?: number;
  viewOnce?: string;
  routeId?: string;
  agentMs?: number;
  trace?: unknown;
  sentAt?: string;
  receivedAt: string;
  finishedAt?: string;
  replies?: Sent[];
}

export interface Sent extends AnyMessage {
  direction: 'outgoing';
  messageId?: string;
  deadLetterId?: string;
  byHand?: true;
  isNotice?: true;
  special?: Card | { kind: 'reaction' | 'edit' | 'deletion'; of: string; emoji?: string };
  quote?: { text: string };
  queuedAt: string;
  delayedUntil?: string;
  sentAt?: string;
  ackedAt?: string;
  deliveredAt?: string;
  readAt?: string;
}

export type Message = Received | Sent;

export interface Draft {
  /** Id of the message that it answers. */
  id: string;
  question: string;
  replies: Array<{ text: string; media?: MessageFile }>;
}

/** A page of a list of the API. */
export interface Page<T> {
  data: T[];
  next?: string;
}
