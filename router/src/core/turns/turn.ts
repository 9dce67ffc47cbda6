import type { AgentExchange } from '../agent-exchange.ts';
import type { ChatId } from '../chat-id.ts';
import type { ErrorCode } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { ToUs, TurnReason } from '../messages/inbound-message.ts';
import type { AgentResponse, IncomingMessage, MediaKind, OutgoingMessage } from '../models.ts';
import type { Phrase } from '../phrases.ts';
import type { ChatState } from '../policies/chat-state.ts';
import type { Access } from '../policies/conversation-fields.ts';

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
  /** Operator's sentence for a dead letter, and its phrase. */
  error?: string;
  phrase?: Phrase;
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

/** What may happen to a turn while it runs. */
export interface TurnControl {
  /** Ends the call of the agent; nothing is sent. Absent: no agent works, or the settings forbid it. */
  stop?: () => void;
  /** Ends the call of the agent, so that the turn starts again later. Absent: no agent works. */
  interrupt?: () => void;
  /** Something was stored for the chat; `changed`: the message that it edited or deleted. Absent: no agent works. */
  stored?: (changed: string | undefined) => void;
  /** Calls of `stored` since the turn began that came before it could be called. */
  missed?: Array<string | undefined>;
}

/** The turn has not ended: it is taken again at this time, or when something is stored for the chat before. */
export interface TurnWait {
  untilMs: number;
}

/** The turn has not ended: the person wrote more or changed the question while the agent worked, or others wait to run alone. */
export interface TurnInterrupted {
  isInterrupted: true;
}

/** How a turn ended, and the turn with all its messages when it has several. */
export type TakenTurn = TurnResult & { turn?: PendingTurn };

/** Ends the call of an agent, such as when the person changes the question. */
export class Interruption {
  readonly #ended = new AbortController();
  readonly #ids: string[];
  readonly #interrupts: () => Promise<boolean>;
  readonly #log: Logger;
  #isForbidden = false;

  /** @param interrupts whether something that was stored meanwhile belongs to the question */
  constructor(
    { messageId, merged = [] }: Pick<PendingTurn, 'messageId' | 'merged'>,
    interrupts: () => Promise<boolean>,
    log: Logger,
  ) {
    this.#ids = [messageId, ...merged.map((line) => line.messageId)];
    this.#interrupts = interrupts;
    this.#log = log;
  }

  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  /** The agent has opened a task, which goes on. */
  forbid(): void {
    this.#isForbidden = true;
  }

  /** @param changed the message that was edited or deleted; absent: there is a new one */
  onStored(changed: string | undefined): void {
    if (changed === undefined) void this.#look();
    else if (this.#ids.includes(changed)) this.end();
  }

  async #look(): Promise<void> {
    try {
      if (await this.#interrupts()) this.end();
    } catch (error) {
      this.#log.warn({ err: error }, 'new messages of the chat unreadable, not interrupting the turn');
    }
  }

  /** Without effect when the agent has opened a task. */
  end(): void {
    if (!this.#isForbidden) this.#ended.abort(new Error('the turn starts again'));
  }
}

/** WhatsApp shows no longer caption. */
export const MAX_CAPTION_CHARS = 1_024;

/** Whether WhatsApp shows a text with a file of this kind. */
export function hasCaption(kind: MediaKind): boolean {
  return kind === 'image' || kind === 'video' || kind === 'document';
}

/** A reply without its address. */
export type ReplyContent = Pick<NewReply, 'text' | 'media' | 'file' | 'special'>;

/**
 * The replies for an agent's response, in order: none, a text, or its files. The text is the caption of the first picture,
 * video or document when it is short enough, and else is sent before the files as a separate message.
 * @param mayBeCaption false: the text is a message in any case
 */
export function repliesOf({ response, files = [] }: AgentResponse, mayBeCaption = true): ReplyContent[] {
  const text = response?.trim() ? response : '';
  const isMessage = !mayBeCaption || text.length > MAX_CAPTION_CHARS;
  const captioned = isMessage ? -1 : files.findIndex(({ kind }) => hasCaption(kind));
  const replies = files.map(({ kind, mimeType, fileName, bytes }, index) => ({
    text: index === captioned ? text : '',
    media: { kind, mimeType, ...(fileName !== undefined && { fileName }), sizeBytes: bytes.length },
    file: bytes,
  }));
  return text === '' || captioned >= 0 ? replies : [{ text }, ...replies];
}
