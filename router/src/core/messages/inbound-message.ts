import type { GroupId, Lid, PhoneNumber } from '../ids.ts';
import type { MediaInfo, MediaKind, MessageKind, NoTranscript } from '../models.ts';
import type { Said } from '../phrases.ts';
import type { MessageCard } from './message-card.ts';
import type { IgnoredReason } from './message-reason.ts';

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

/** The state of a stored message. */
export type MessageState = 'received' | 'answered' | 'ignored' | 'dead';
