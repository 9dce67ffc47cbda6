import type { ChatId, GroupId, Lid, NodeId, PhoneNumber } from '../ids.ts';
import type { IncomingMessage, MediaInfo, MessageKind, OutgoingMessage } from '../models.ts';
import type { Lease } from './account-lease.ts';

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

/**
 * The right of one node to run the turns of a chat. The epoch grows with each claim of the chat, so that a worker whose
 * chat was taken over finds its claim void at its next read.
 */
export interface ChatClaim {
  chatId: ChatId;
  node: NodeId;
  epoch: number;
}

/** A chat with unanswered messages; `node` and `epoch` are those of its last claim, `node` absent when it was released. */
export interface OpenChat {
  chatId: ChatId;
  node?: NodeId;
  epoch: number;
}

/** `worker` is the claim on the chat after the call; absent when the chat has no worker and no unanswered message. */
export interface Stored {
  outcome: 'stored' | 'known';
  messageId: string;
  chatId: ChatId;
  worker?: ChatClaim;
  /** This call made the claim: no worker runs yet. */
  isNewWorker: boolean;
  /** What `nextTurn` of the claim reads now: given when the new message is the only unanswered one of its chat. */
  turn?: PendingTurn;
}

/** The oldest unanswered message of a chat, as the turn needs it. */
export interface PendingTurn {
  messageId: string;
  chatId: ChatId;
  accountId: string;
  message: IncomingMessage;
  /** Addresses of the chat for route lookup: canonical channelIds, preferred first (number before LID). */
  channelIds: string[];
  /** Where the reply goes: the JID the chat was last heard from. */
  replyTo: string;
  /** Attempts counted before this turn began: of a turn that a crash ended, or before a replay. Absent: none. */
  earlierAttempts?: number;
  /** One of them may have run, and no operator replayed the message after it. */
  mayHaveRun?: boolean;
  /** Who wrote it: LID, else number; bare digits. */
  sender: string;
  /** When it was stored, and when the last reply of the chat was; the database's time, epoch milliseconds. */
  receivedAtMs: number;
  repliedAtMs?: number;
  /** Further messages of the chat waited when this one was read; absent when none did. */
  hasMore?: boolean;
}

/** How a turn ended. Written with the reply in one transaction. */
export interface TurnResult {
  state: 'answered' | 'ignored' | 'dead';
  /** Why there is no answer from an agent (`no-route`, `agent-empty`, `AGENT_TIMEOUT` ...); absent when it replied. */
  reason?: string;
  /** Operator's sentence for a dead letter. */
  error?: string;
  routeId?: string;
  /** Attempts of this message so far, over all its turns. Absent: as many as were counted. */
  attempts?: number;
  agentMs?: number;
  /** Rule-by-rule trace of the route choice and, where its client tells, what was sent to the agent; as JSON. */
  trace?: unknown;
  replies: NewReply[];
}

/** See `Inbox.noteAttempt`. */
export interface AttemptNote {
  isDurable?: boolean;
  didNotRun?: boolean;
}

/** A reply that is to be stored; with `media`, the bytes of its file. */
export interface NewReply extends OutgoingMessage {
  file?: Uint8Array;
}

/** A reply that waits for delivery, as the deliverer needs it. */
export interface QueuedReply {
  outboxId: string;
  chatId: ChatId;
  /** The message that it answers; absent for a message that an admin sends. */
  messageId?: string;
  message: OutgoingMessage;
  /** Its row was stored as `sending`: the first attempt needs no `markSending`. */
  isSending?: true;
}

/**
 * Received messages and their turns.
 * @throws {StorageUnavailableError} from every method: nothing was changed, the caller may call again
 */
export interface Inbox {
  /**
   * Stores a message and, in the same transaction, claims its chat for `node` when no worker has it. Idempotent: a
   * message that is known for (account, chat, sender, WhatsApp id) changes nothing. Joins a person's number and LID into
   * one chat, merging two chats that prove to be one.
   */
  add(message: InboundMessage, node: NodeId): Promise<Stored>;
  /**
   * The oldest unanswered message of the chat by stanza order. Undefined when there is none, when the chat was merged into
   * another one, or when the claim is void. When there is none the claim is released in the same transaction, unless
   * `keepClaim`: a message that is stored later makes a new claim.
   */
  nextTurn(claim: ChatClaim, options?: { keepClaim?: boolean }): Promise<PendingTurn | undefined>;
  /**
   * Counts an attempt to call an agent for this message: `attempt` is its number, from 1, over all turns. Resolves before
   * it is stored, and when it will be although this process ends: the request may be sent then, so that the count includes
   * requests of a process that crashed meanwhile. A count never falls. An attempt may be lost when the database server
   * itself crashes.
   * @param options.isDurable when it is stored, no crash of the database server loses it
   * @param options.didNotRun this attempt and those before it do not forbid another one
   * @returns `stored` rejects as other methods do; call again then
   */
  noteAttempt(messageId: string, attempt: number, options?: AttemptNote): Promise<{ stored: Promise<void> }>;
  /**
   * Ends a turn: message state, dead letter when dead, outbox rows (unique on message + ordinal). Idempotent: a turn that
   * was ended before changes nothing and returns the replies stored then. Otherwise returns the replies of this end only,
   * although a replayed message may have some of its first end.
   * @param lease of a caller that sends the first reply at once: this end stores that reply as `sending`, as
   *   `Outbox.markSending` does. It stays `queued` when the lease is void or an older row of the chat is `queued`.
   */
  finishTurn(messageId: string, result: TurnResult, lease?: Lease): Promise<QueuedReply[]>;
  /**
   * Ends the oldest unanswered message of the chat as dead, with a dead letter, without reading what it says: for one that
   * cannot be read. Does nothing when the claim is void.
   * @returns what names it; undefined when there was none
   */
  deadLetterUnreadable(
    claim: ChatClaim,
    why: { reason: string; error: string },
  ): Promise<Pick<PendingTurn, 'messageId' | 'accountId' | 'replyTo'> | undefined>;
  /**
   * The provider's reference to the file of a message; undefined when it has none, or none any more. It is deleted
   * when the message's turn ends, except in a dead letter, which may be replayed.
   */
  mediaReference(messageId: string): Promise<string | undefined>;
  /** Chats with unanswered messages, except those claimed by one of these nodes; by chat id. */
  openChats(exceptNodes: readonly NodeId[]): Promise<OpenChat[]>;
  /** Claims for `node` those of the chats whose epoch is still the given one. @returns the new claims */
  claimChats(chats: ReadonlyArray<Pick<OpenChat, 'chatId' | 'epoch'>>, node: NodeId): Promise<ChatClaim[]>;
}
