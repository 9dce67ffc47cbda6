import type { AgentExchange } from '../agent-exchange.ts';
import type { ErrorCode } from '../errors.ts';
import type { ChatId } from '../ids.ts';
import type { ToUs } from '../messages/inbound-message.ts';
import type { TurnReason } from '../messages/message-reason.ts';
import type { IncomingMessage, OutgoingMessage } from '../models.ts';
import type { Access } from '../policies/access-fields.ts';
import type { ChatState } from '../policies/chat-state.ts';

/** What a turn says about an auto-reply loop: it pauses the chat, or it ends such a pause. */
export type LoopChange = 'stopped' | 'over';

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
  /** Grows when a process ends during it (Suspects). Absent: none did. */
  suspicion?: number;
  /** WhatsApp's id of the bubble that the person sees. Absent: `message.id`. */
  bubbleId?: string;
  /** Edits that its text has so far. Absent: none. */
  edits?: number;
  /** Earlier messages whose words are in this turn and that end with it, oldest first. */
  merged?: MergedMessage[];
  /** The message in whose turn this one was given to an agent. */
  mergedInto?: string;
  /** The chat is paused: the message gets no answer. */
  isPaused?: boolean;
  /** The owner approves answers of the chat before they are sent. */
  isApproving?: boolean;
  /** The chat is paused because of an auto-reply loop. */
  isInLoop?: boolean;
  /** What the owner decided about the chat. Absent: the owner was not asked, or not in the last days. */
  access?: Access;
  /** What policies remember of the chat. */
  chatState?: ChatState;
  /** How it is addressed to the account. */
  toUs?: ToUs;
  /** Who wrote it: LID, else number; bare digits. */
  sender: string;
  /** When it was stored, and when the last reply of the chat was; the database's time, epoch milliseconds. */
  receivedAtMs: number;
  repliedAtMs?: number;
}

/** A message that ends with the turn of a later one. */
export interface MergedMessage extends Pick<PendingTurn, 'messageId' | 'edits'> {
  /** WhatsApp's id of its bubble. */
  bubbleId: string;
}

/** How a turn ended. Written with the reply in one transaction. */
export interface TurnResult {
  state: 'answered' | 'ignored' | 'dead';
  /** Why there is no answer from an agent; of a dead turn the code of its error. Absent when the agent replied. */
  reason?: TurnReason | ErrorCode;
  /** Operator's sentence for a dead letter. */
  error?: string;
  routeId?: string;
  /** Attempts of this message so far, over all its turns. Absent: as many as were counted. */
  attempts?: number;
  agentMs?: number;
  /** Rule-by-rule trace of the route choice and, where its client tells, what was sent to the agent; as JSON. */
  trace?: unknown;
  /** The requests to agents with their answers, for operators. Absent: there were none, or they are not recorded. */
  exchanges?: AgentExchange[];
  replies: NewReply[];
  /** The turn pauses the chat because of an auto-reply loop, or ends such a pause. */
  loop?: LoopChange;
  /** The replies wait for the owner. */
  isDraft?: true;
  /** Parts of the chat's state that the turn changed. */
  statePatch?: ChatState;
}

/** A turn whose end is stored. */
export interface FinishedTurn {
  replies: QueuedReply[];
  /** The caller's claim is still valid: the chat may have further messages. */
  isClaimed: boolean;
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
  /** Grows when a process ends while it is sent (Suspects). Absent: none did. */
  suspicion?: number;
}
