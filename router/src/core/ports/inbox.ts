import type { ChatId, NodeId } from '../chat-id.ts';
import type { ErrorCode } from '../errors.ts';
import type { InboundMessage } from '../messages/inbound-message.ts';
import type { NoTranscript } from '../models.ts';
import type { Phrase } from '../phrases.ts';
import type {
  FinishedTurn,
  MergedMessage,
  NewReply,
  PendingTurn,
  QueuedReply,
  TurnResult,
} from '../turns/turn.ts';
import type { Lease } from './cluster.ts';

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

/** A chat to claim. `isLeft`: the process with its claim has ended, and did not release it. */
export type ChatToClaim = Pick<OpenChat, 'chatId' | 'epoch'> & { isLeft?: boolean };

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
  /** The unanswered message that the new one edited or deleted. */
  changed?: string;
}

/** The arguments of `Inbox.add`. */
export interface NewMessage {
  message: InboundMessage;
  node: NodeId;
}

/** A stored message by its WhatsApp id: one that an encrypted edit names, or that comes again. */
export interface OriginalMessage {
  sender: Pick<InboundMessage['sender'], 'phone' | 'lid'>;
  /** The sender of the edit wrote it. */
  isOfSender: boolean;
  /** False: only that it arrived is known. */
  isDecrypted: boolean;
  secret?: Uint8Array;
}

/** See `Inbox.countAttempt`. */
export interface CountOptions {
  isDurable?: boolean;
  didNotRun?: boolean;
  edits?: number;
  merged?: readonly MergedMessage[];
}

/** Who ends a turn, and what the turn was. */
export interface EndOptions {
  claim?: ChatClaim;
  lease?: Lease;
  turn?: Pick<PendingTurn, 'edits' | 'merged'> & Partial<Pick<PendingTurn, 'accountId' | 'chatId'>>;
}

/** A reply that was stored while its turn ran. */
export interface StoredPart {
  waMessageId: string;
  text: string;
  /** It was written to WhatsApp. */
  isSent: boolean;
  /** Since it was stored. */
  ageMs: number;
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
   *
   * An edit by its author replaces the text of an unanswered message and is itself ignored (`edit-applied`), unless an
   * agent has opened a task for the message: then it is a message like any other. A deletion by its author ends an
   * unanswered message without an answer (`deleted-by-author`).
   */
  add(message: InboundMessage, node: NodeId): Promise<Stored>;
  /**
   * The message of a chat with this WhatsApp id, with its secret, for an edit that somebody encrypted with it, or for a message that
   * may be stored already. Members of a group choose ids: that of the same sender comes before those of others.
   * @param edit the chat and the sender of the edit, or of the message
   * @returns undefined when there is none
   */
  original(
    edit: Pick<InboundMessage, 'accountId' | 'chat' | 'sender'>,
    waMessageId: string,
  ): Promise<OriginalMessage | undefined>;
  /**
   * The oldest unanswered message of the chat by stanza order. Undefined when there is none, when the chat was merged into
   * another one, or when the claim is void. When there is none the claim is released in the same transaction: a message
   * that is stored later makes a new claim.
   */
  nextTurn(claim: ChatClaim): Promise<PendingTurn | undefined>;
  /** The first unanswered messages of the chat in the order of their turns, and the store's time, by which they were received. */
  waiting(chatId: ChatId, limit: number): Promise<{ turns: PendingTurn[]; nowMs: number }>;
  /**
   * Counts an attempt to call an agent for this message: `attempt` is its number, from 1, over all turns. Resolves before
   * it is stored, and when it will be although this process ends: the request may be sent then, so that the count includes
   * requests of a process that crashed meanwhile. A count never falls. An attempt may be lost when the database server
   * itself crashes.
   * @param options.isDurable when it is stored, no crash of the database server loses it
   * @param options.didNotRun this attempt and those before it do not forbid another one
   * @param options.edits those of the turn: a message that was edited more often has the id of its newest edit from now on,
   *   so that an agent that gets the former words does not take the new ones for a repeat
   * @param options.merged the messages whose words the agent gets with this one: stored as `mergedInto` of each
   * @returns `stored` rejects as other methods do; call again then
   */
  countAttempt(
    messageId: string,
    attempt: number,
    options?: CountOptions,
  ): Promise<{ stored: Promise<void> }>;
  /**
   * Stores a text reply of a turn that still runs, after its earlier ones. A WhatsApp id that is stored already returns its
   * row and adds nothing.
   * @returns undefined, and nothing is stored: the claim is void, or the message has ended or has other edits than the turn
   */
  addPart(
    claim: ChatClaim,
    turn: Pick<PendingTurn, 'messageId' | 'edits'>,
    reply: NewReply,
  ): Promise<QueuedReply | undefined>;
  /**
   * The parts that `addPart` stored for a message, in their order, until the message is replayed; without those that could not
   * be sent.
   */
  parts(messageId: string): Promise<StoredPart[]>;
  /**
   * Ends a turn: message state, dead letter when dead, outbox rows (unique on message + ordinal). Idempotent: a turn that
   * was ended before changes nothing and returns the replies stored then. Otherwise returns the replies of this end only,
   * although a replayed message may have some of its first end. A reply with `special` edits or deletes a part of the
   * message (`addPart`); an edited part has the new text from then on.
   * @param under.claim of the caller: released in the same transaction when the chat has no further unanswered message
   * @param under.lease of a caller that sends the first reply immediately: this end stores that reply as `sending`, as
   *   `Outbox.markSending` does. It stays `queued` when the lease is void or an older row of the chat is `queued`.
   * @param under.turn nothing is stored when one of its messages has ended or was edited since; its merged messages are
   *   ended with it (`merged`)
   */
  finishTurn(messageId: string, result: TurnResult, under?: EndOptions): Promise<FinishedTurn>;
  /**
   * Ends the oldest unanswered message of the chat as dead, with a dead letter, without reading what it says: for one that
   * cannot be read. Does nothing when the claim is void.
   * @returns its id; undefined when there was none
   */
  deadLetterUnreadable(
    claim: ChatClaim,
    why: { reason: ErrorCode; error: string; phrase?: Phrase },
  ): Promise<string | undefined>;
  /**
   * The provider's reference to the file of a message; undefined when it has none, or none any more. It is deleted
   * when the message's turn ends, except in a dead letter, which may be replayed.
   */
  mediaReference(messageId: string): Promise<string | undefined>;
  /**
   * Stores the words of a voice message as its text, or why it has none; nothing when it has a text or its turn has ended.
   * A replay forgets why it has none.
   */
  saveTranscript(messageId: string, result: { text: string } | NoTranscript): Promise<void>;
  /** Chats with unanswered messages, except those claimed by one of these nodes; by chat id. */
  openChats(exceptNodes: readonly NodeId[]): Promise<OpenChat[]>;
  /**
   * Claims for `node` those of the chats whose epoch is still the given one. In the chats that a process left, the suspicion of
   * the oldest unanswered message grows as Suspects says.
   * @returns the new claims
   */
  claimChats(chats: readonly ChatToClaim[], node: NodeId): Promise<ChatClaim[]>;
  /** Ends the claims of a node that stops on chats with unanswered messages: no process has them. */
  releaseChats(node: NodeId): Promise<void>;
  /** Stores, durably, whether a process runs the turn of an unanswered message alone; nothing when it has ended. */
  setAlone(messageId: string, runsAlone: boolean): Promise<void>;
}

/** A decrypted part of a stanza whose delivery receipt may go out and whose message is not yet in the inbox. */
export interface JournalEntry {
  /** sha256 (hex) of the account's sender and the ciphertext: the same stanza delivered again has the same one. */
  ciphertextHash: string;
  /** Order in which stanzas reached the socket; the parts of one stanza share it. */
  stanzaOrder: bigint;
  waMessageId: string;
  /** As decrypted, padding included. */
  plaintext: Uint8Array;
  /** The stanza without its ciphertexts, in the provider's own form. */
  stanza: Uint8Array;
  /** The inbox has its message and is done with it; the entry only waits to be dropped. Only `pending` says it. */
  isDone?: true;
  /** Processes that ended while it was there, the later ones while it was handled alone. Absent: none. Only `pending` says it. */
  suspicion?: number;
}

/** The readable part of an entry that the database cannot read completely. */
export interface DamagedEntry {
  ciphertextHash: string;
  stanzaOrder: bigint;
  waMessageId: string;
  /** When this part of it can be read. */
  stanza?: Uint8Array;
  isDamaged: true;
}

/**
 * Decrypted parts of stanzas that are not yet in the inbox. Entries are written by KeyStore.commit, with the ratchet they
 * came from.
 * @throws {StorageUnavailableError} from every method; {LeaseLostError} from `forget` and `setAlone`: another node has the account
 */
export interface Journal {
  find(accountId: string, ciphertextHash: string): Promise<JournalEntry | undefined>;
  /**
   * Entries in stanza order, those after `afterOrder` only, at most `limit` plus the rest of the last stanza. One that
   * cannot be read is returned as damaged in its position, and the others are read.
   */
  pending(
    accountId: string,
    page: { afterOrder: bigint; limit: number },
  ): Promise<Array<JournalEntry | DamagedEntry>>;
  /**
   * Stores that an entry is handled alone, because processes ended while it was there; or that this ended. The end of a process is
   * counted by `AccountLeases.acquire`.
   */
  setAlone(accountId: string, ciphertextHash: string, runsAlone: boolean): Promise<void>;
  /** Drops entries whose messages the inbox has; unknown hashes are ignored. */
  forget(accountId: string, ciphertextHashes: readonly string[]): Promise<void>;
  /** The highest stanza order that this account ever stored, here or in the inbox; 0 when none. */
  lastOrder(accountId: string): Promise<bigint>;
}
