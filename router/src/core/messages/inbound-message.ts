import type { GroupId, Lid, PhoneNumber } from '../chat-id.ts';
import type { MediaInfo, MediaKind, MessageKind, NoTranscript } from '../models.ts';
import type { Said } from '../phrases.ts';
import type { MessageCard } from './message-card.ts';

/** Where a chat is, by every address known: a person by number and/or LID, or a group. The user name is canonical (chat-id.ts). */
export type ChatAddress =
  | { kind: 'person'; phone?: PhoneNumber; lid?: Lid; username?: string }
  | { kind: 'group'; groupId: GroupId };

/** The file of a message, as the provider found it. */
export interface InboundMedia extends MediaInfo {
  /** The provider's own reference to its bytes. Contains the file's key: a secret, never in a log or an API response. */
  reference: string;
}

/** A person whom a message mentions, by one address; `tag` is how the text names them: `@` and digits. */
export interface MentionedAddress {
  phone?: PhoneNumber;
  lid?: Lid;
  tag: string;
}

/** What else is stored of a message; `quoted` is who wrote the quoted message, stored with their name as a mention is. */
export interface InboundDetails {
  card?: MessageCard;
  quoted?: { phone?: PhoneNumber; lid?: Lid };
  /** The name of the group. */
  subject?: string;
  /** Of a stored message: its text is the transcript of its voice message. */
  isTranscript?: true;
  /** Of a stored message: why its voice message has no transcript. */
  noTranscript?: NoTranscript;
  /** The WhatsApp id of the message that this one deletes or reacts to. Kept when there is an `ignoredReason` too. */
  of?: string;
}

/** The message mentions the account, replies to one of its messages, or both. */
export type ToUs = 'mention' | 'quote' | 'both';

/** What a message of the account's owner does to its chat. */
export type OwnerEffect =
  /** The owner answers by hand: the chat is paused until this long after the message, unless it is paused longer. */
  | { kind: 'takeover'; forMs: number }
  /** `forMs` absent: until the chat is resumed. */
  | { kind: 'pause'; forMs?: number }
  | { kind: 'resume' };

/** A step of a message's trace: what was decided and why, without message text. */
export interface TraceStep extends Said {
  step: string;
  outcome: string;
}

/** A message from WhatsApp, translated, ready to be stored. Phone and LID are bare digits (no `@...`, no device). */
export interface InboundMessage {
  accountId: string;
  waMessageId: string;
  chat: ChatAddress;
  /** The JID it came from, where replies go. Absent: the chat's number, else its LID. */
  replyTo?: string;
  /** The person who wrote it; in a 1:1 chat the same person as `chat`. */
  sender: { phone?: PhoneNumber; lid?: Lid; pushName?: string };
  kind: MessageKind;
  text: string;
  quotedText?: string;
  /** Stored with the names that earlier messages of the chat gave. Not kept when there is an `ignoredReason`. */
  mentions?: MentionedAddress[];
  toUs?: ToUs;
  /** Not kept when there is an `ignoredReason`. */
  details?: InboundDetails;
  /** Not kept when there is an `ignoredReason`. */
  media?: InboundMedia;
  /** A file that can be seen once only: its kind instead of `media`. */
  viewOnce?: MediaKind;
  /** After how many seconds messages of the chat disappear now, 0 for never; absent: the message does not say it. */
  timerSeconds?: number;
  sentAtMs: number;
  /** Order in which stanzas reached the socket; grows within an account, over restarts too. */
  stanzaOrder: bigint;
  /** Written by the account's owner in the chat with themselves ("message yourself"); see core/messages/self-chat. */
  isSelfChat?: boolean;
  /** The account wrote it in a chat with others: its owner did, unless wa2ai itself sent it. Not set for edits and reactions. */
  isFromOwner?: boolean;
  /** What it does to the chat, unless wa2ai itself sent it; see core/messages/owner-message. Its text is kept with `takeover`. */
  ownerEffect?: OwnerEffect;
  /** Set: it is stored and never answered, for this reason. */
  ignoredReason?: IgnoredReason;
  /** Why it is ignored, as a step of its trace. */
  ignoredStep?: TraceStep;
  /** 32 bytes, with which people encrypt edits of the message. A secret, never in a log or an API response. */
  secret?: Uint8Array;
  /** Earlier text replaced by this edit: the WhatsApp id of the edited message. */
  editOf?: string;
  /** The WhatsApp id of the message that this one deletes for everyone. */
  deletes?: string;
  /** The WhatsApp id of the message that this one reacts to; the text is the emoji, empty when it was taken back. */
  reactsTo?: string;
}

/**
 * Why a message is stored and starts no turn, known when it is received. Of those that say where a message is from, the first that
 * applies is stored.
 */
const IGNORED_REASONS = [
  // Where it is from, in order of precedence
  'history',
  'own-message',
  'status-broadcast',
  'broadcast-list',
  'too-old',
  // What it is
  'reaction',
  'poll-vote',
  'deleted',
  'pin',
  'call',
  'album',
  'status-mention',
  'encrypted-edit',
  'event-response',
  'timer-changed',
  'group-event',
  'empty-text',
  'undecryptable',
  // What the account's settings say about it
  'owner-message',
  'edit-ignored',
] as const;

/** Why a turn ended without the answer of an agent; or, for `agent-later`, `task-started` and `draft`, without one yet. */
const TURN_REASONS = [
  // No route took the message (NoRouteReason)
  'no-route',
  'disabled',
  'when-not-met',
  'no-match',
  'regex-timeout',
  'regex-invalid',
  // A policy ended the turn
  'group-not-addressed',
  'group-never',
  'access-pending',
  'access-over-limit',
  'access-refused',
  'access-not-listed',
  'chat-paused',
  'stopped-by-person',
  'quota-exceeded',
  'auto-reply-loop',
  // wa2ai answered
  'command',
  'question-answered',
  'unsupported-kind',
  'fallback-text',
  'reply-withheld',
  // The agent answered without a text, or answers later
  'agent-empty',
  'agent-later',
  'task-started',
  'draft',
] as const;

/** What changes a stored message, in the functions of the database. */
const STORED_REASONS = ['edit-applied', 'deleted-by-author', 'merged', 'duplicate', 'draft-dropped'] as const;

/** Every reason of a message that is `ignored` or `answered`. That of a dead letter is the code of an error. */
export const MESSAGE_REASONS = [...IGNORED_REASONS, ...TURN_REASONS, ...STORED_REASONS] as const;

export type IgnoredReason = (typeof IGNORED_REASONS)[number];

/** `unsupported-kind` names the kind of the message. */
export type TurnReason =
  | Exclude<(typeof TURN_REASONS)[number], 'unsupported-kind'>
  | `unsupported-kind:${MessageKind}`;
