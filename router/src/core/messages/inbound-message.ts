import type { GroupId, Lid, PhoneNumber } from '../ids.ts';
import type { MediaInfo, MessageKind } from '../models.ts';

/** Where a chat is, by every address known: a person by number and/or LID, or a group. */
export type ChatAddress =
  | { kind: 'person'; phone?: PhoneNumber; lid?: Lid }
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
  /** Not kept when there is an `ignoredReason`. */
  media?: InboundMedia;
  sentAtMs: number;
  /** Order in which stanzas reached the socket; grows within an account, over restarts too. */
  stanzaOrder: bigint;
  /** Written by the account's owner in the chat with themselves ("message yourself"); see core/messages/self-chat. */
  isSelfChat?: boolean;
  /** Set: it is stored and never answered, for this reason (own-message, too-old, status-broadcast ...). */
  ignoredReason?: string;
  /** Earlier text replaced by this edit: the WhatsApp id of the edited message. */
  editOf?: string;
}

/** The state of a stored message. */
export type MessageState = 'received' | 'answered' | 'ignored' | 'dead';
