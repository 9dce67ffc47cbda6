import { type Clock, storageRetryMs } from '../clock.ts';
import { type DeliverRepliesDeps, deliverReplies } from '../delivery/deliver-reply.ts';
import { StorageUnavailableError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { AgentResponse, OutgoingMessage } from '../models.ts';
import { say } from '../phrases.ts';
import { filterEgress } from '../policies/egress-filter.ts';
import { shapeReply } from '../policies/reply.ts';
import type { ChatSettings } from '../policies/settings.ts';
import type { FormatReply } from '../ports/converters.ts';
import type { ChatClaim, Inbox, StoredPart } from '../ports/inbox.ts';
import { MAX_ANSWER_CHARS } from './ask-agent.ts';
import { addressOf } from './running-turn.ts';
import type { NewReply, PendingTurn, QueuedReply } from './turn.ts';

/** Between two edits; and before the first message, so that a short answer comes whole. */
const EDIT_EVERY_MS = 1_000;
/** Between two looks for complete paragraphs. */
const LOOK_EVERY_MS = 250;
/** WhatsApp shows no edit of a message that is older than 15 minutes. */
const EDITABLE_MS = 14 * 60_000;

export interface StreamDeps extends DeliverRepliesDeps {
  inbox: Pick<Inbox, 'addPart' | 'parts'>;
  formatReply: FormatReply;
  /** A new WhatsApp id for a reply. */
  mintId(): string;
  clock: Clock;
  log: Logger;
  /** Ends every wait. */
  stopping: AbortSignal;
}

interface StreamOptions {
  conversation: ChatSettings;
  /** The turn ran before: the chat may have parts of its answer. */
  isAgain: boolean;
  /** The first message quotes the question. */
  quote?: Pick<NewReply, 'quote'> | undefined;
}

/**
 * What shows the answer of a turn while its agent writes it; undefined when the settings do not want that, or when the owner
 * approves answers first.
 * @throws {StorageUnavailableError} the parts of an earlier run cannot be read
 */
export async function openStream(
  deps: StreamDeps,
  claim: ChatClaim,
  turn: PendingTurn,
  options: StreamOptions,
): Promise<ReplyStream | undefined> {
  const { stream } = options.conversation.reply;
  if (stream === 'off' || turn.isApproving) return undefined;
  const parts = options.isAgain ? await deps.inbox.parts(turn.messageId) : [];
  const Stream = stream === 'edit' ? BubbleStream : ParagraphStream;
  return new Stream(deps, claim, turn, options, parts);
}

/**
 * Shows the answer of one turn while its agent writes it. Its messages are parts: replies that are stored, with their
 * WhatsApp id, before they are sent, so that a repeated turn knows what the chat has. A failure to show something is
 * logged and never reaches the turn; the end of the turn sends what was not shown.
 */
export abstract class ReplyStream {
  protected readonly deps: StreamDeps;
  protected readonly turn: PendingTurn;
  protected readonly shaping: StreamShaping;
  readonly #claim: ChatClaim;
  readonly #options: StreamOptions;
  readonly #ended = new AbortController();
  #latest: (() => string) | undefined;
  #working: Promise<void> | undefined;

  constructor(deps: StreamDeps, claim: ChatClaim, turn: PendingTurn, options: StreamOptions) {
    this.deps = deps;
    this.turn = turn;
    this.shaping = { conversation: options.conversation, formatReply: deps.formatReply };
    this.#claim = claim;
    this.#options = options;
  }

  /** Whether the chat has a part of the answer. */
  get hasSentParts(): boolean {
    return this.count > 0;
  }

  /** For the trace of the message. */
  get steps(): object[] {
    if (!this.hasSentParts) return [];
    const sentence = say('stream.shown', { messages: this.count });
    return [{ step: 'stream', outcome: this.#options.conversation.reply.stream, ...sentence }];
  }

  /** See `AttemptOptions.onText`. */
  readonly onText = (textSoFar: () => string): void => {
    if (this.#ended.signal.aborted) return;
    this.#latest = textSoFar;
    this.#working ??= this.#work();
  };

  /** Shows nothing more. Resolves when it is known which parts are stored. */
  async end(): Promise<void> {
    this.#ended.abort();
    await this.#working;
  }

  /** The answer without what the chat has. */
  unsent(response: AgentResponse): AgentResponse {
    return response;
  }

  /** The replies of the end of the turn, after the parts. */
  replace(replies: NewReply[]): NewReply[] {
    return replies;
  }

  /** The number of parts. */
  protected abstract get count(): number;

  /** When the text is looked at next, by the monotonic clock. */
  protected abstract get nextMs(): number;

  protected abstract show(text: string): Promise<void>;

  async #work(): Promise<void> {
    const { clock, log } = this.deps;
    const { signal } = this.#ended;
    try {
      while (this.#latest !== undefined && !signal.aborted) {
        const waitMs = this.nextMs - clock.monotonicMs();
        if (waitMs > 0) await clock.sleep(waitMs, signal);
        const text = this.#latest();
        this.#latest = undefined;
        if (text.length <= MAX_ANSWER_CHARS) await this.show(text);
      }
    } catch (error) {
      if (!signal.aborted) log.warn({ err: error }, 'answer not shown while it is written');
      this.#ended.abort();
    }
    this.#working = undefined;
  }

  /** Stores a part; undefined, and nothing more is shown, when the turn belongs to nobody here any more. */
  protected async store(text: string): Promise<QueuedReply | undefined> {
    const { inbox, clock, log, stopping } = this.deps;
    const reply = {
      ...addressOf(this.deps, this.turn),
      text,
      ...(!this.hasSentParts && this.#options.quote),
    };
    for (let attempt = 1; ; attempt++) {
      try {
        const part = await inbox.addPart(this.#claim, this.turn, reply);
        if (!part) this.#ended.abort();
        return part;
      } catch (error) {
        // It may be stored: without knowing, its text would be sent again.
        if (!(error instanceof StorageUnavailableError)) throw error;
        log.warn({ err: error, attempt }, 'database unavailable, retrying part of an answer');
        await clock.sleep(storageRetryMs(attempt), stopping);
      }
    }
  }
}

/** Each paragraph is a message as soon as it is complete. */
class ParagraphStream extends ReplyStream {
  readonly #sent: string[];
  #lookedAtMs = Number.NEGATIVE_INFINITY;

  constructor(
    deps: StreamDeps,
    claim: ChatClaim,
    turn: PendingTurn,
    options: StreamOptions,
    parts: StoredPart[],
  ) {
    super(deps, claim, turn, options);
    this.#sent = parts.map(({ text }) => text);
  }

  override unsent(response: AgentResponse): AgentResponse {
    if (!this.hasSentParts) return response;
    return { ...response, response: unsentText(response.response ?? '', this.#sent, this.shaping) };
  }

  protected get count(): number {
    return this.#sent.length;
  }

  protected get nextMs(): number {
    return this.#lookedAtMs + LOOK_EVERY_MS;
  }

  protected async show(text: string): Promise<void> {
    this.#lookedAtMs = this.deps.clock.monotonicMs();
    const messages = paragraphMessages(text, this.shaping);
    // The agent says something else than before: the end of the turn knows what the answer is.
    if (this.#sent.some((message, index) => message !== messages[index])) return;
    for (const message of messages.slice(this.#sent.length)) {
      const part = await this.store(message);
      if (!part) return;
      this.#sent.push(message);
      deliverReplies(this.deps, [part]);
    }
  }
}

interface Bubble {
  waMessageId: string;
  /** As it is stored, and as the person sees it. */
  text: string;
  shown: string;
  isSent: boolean;
  storedAtMs: number;
}

/** One message that grows by edits, further ones where it is too long. Interim edits are not stored; the last one is. */
class BubbleStream extends ReplyStream {
  readonly #bubbles: Bubble[];
  #shownAtMs: number | undefined;

  constructor(
    deps: StreamDeps,
    claim: ChatClaim,
    turn: PendingTurn,
    options: StreamOptions,
    parts: StoredPart[],
  ) {
    super(deps, claim, turn, options);
    const nowMs = deps.clock.now();
    const bubbles = parts.map(({ ageMs, ...part }) => ({
      ...part,
      shown: part.text,
      storedAtMs: nowMs - ageMs,
    }));
    this.#bubbles = bubbles.every((bubble) => this.#isEditable(bubble)) ? bubbles : [];
  }

  /** Texts become the last edits of the bubbles, in their order; a bubble too many is deleted. */
  override replace(replies: NewReply[]): NewReply[] {
    const texts = replies.filter(({ media }) => !media);
    if (texts.length === 0 || !this.#bubbles.every((bubble) => this.#isEditable(bubble))) return replies;
    const edits = this.#bubbles.flatMap((bubble, index) => this.#lastEditOf(bubble, texts[index]));
    return [...edits, ...texts.slice(this.#bubbles.length), ...replies.filter(({ media }) => media)];
  }

  protected get count(): number {
    return this.#bubbles.length;
  }

  protected get nextMs(): number {
    this.#shownAtMs ??= this.deps.clock.monotonicMs();
    return this.#shownAtMs + EDIT_EVERY_MS;
  }

  protected async show(text: string): Promise<void> {
    let isEdited = false;
    for (const [index, message] of growingMessages(text, this.shaping).entries()) {
      const bubble = this.#bubbles[index];
      if (!bubble) {
        if (!(await this.#open(message))) return;
      } else if (!isEdited && bubble.isSent && !bubble.shown.startsWith(message)) {
        isEdited = true;
        bubble.shown = message;
        await this.#delivery?.sendUnstored(this.turn.chatId, this.#editOf(bubble, message));
      }
    }
    this.#shownAtMs = this.deps.clock.monotonicMs();
  }

  async #open(text: string): Promise<boolean> {
    const part = await this.store(text);
    if (!part) return false;
    const { waMessageId } = part.message;
    const bubble = { waMessageId, text, shown: text, isSent: false, storedAtMs: this.deps.clock.now() };
    this.#bubbles.push(bubble);
    const delivery = this.#delivery;
    if (!delivery) deliverReplies(this.deps, [part]);
    else
      void delivery.deliverNow(part).then((isSent) => {
        bubble.isSent = isSent;
      });
    return true;
  }

  #lastEditOf(bubble: Bubble, reply: NewReply | undefined): NewReply[] {
    const { waMessageId: of, text, shown } = bubble;
    if (!reply) return [{ ...addressOf(this.deps, this.turn), text: '', special: { kind: 'deletion', of } }];
    if (reply.text === text && text === shown) return [];
    return [this.#editOf(bubble, reply.text)];
  }

  #editOf({ waMessageId: of }: Bubble, text: string): OutgoingMessage {
    const special = { kind: 'edit' as const, of, atMs: this.deps.clock.now() };
    return { ...addressOf(this.deps, this.turn), text, special };
  }

  #isEditable({ storedAtMs }: Bubble): boolean {
    return this.deps.clock.now() - storedAtMs < EDITABLE_MS;
  }

  get #delivery() {
    return this.deps.accounts.delivery(this.turn.accountId);
  }
}

/** Messages that an answer becomes before it is complete; the rest is one more. */
const MAX_PARTS = 20;

const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})(.*)/;
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;
/** The start of a line that belongs to the paragraph before it, or that may do so when it is complete. */
const CONTINUES = /^(?:\s|[-*+](?:\s|$)|\d{1,9}(?:[.)](?:\s|$)|$)|$)/;

/**
 * The paragraphs of a text that is still being written, in order: each with the blank lines after it, and only those that are
 * complete. Concatenated they are the start of the text, and a longer text has them too. A list, a heading with the
 * paragraph below it and a code block stay whole.
 */
export function completeParagraphs(text: string): string[] {
  const paragraphs: string[] = [];
  let fence: string | undefined;
  let start = 0;
  let isAfterBlank = false;
  let lastLine = '';
  let at = 0;
  for (const line of text.split(/(?<=\n)/)) {
    // a line break may have arrived in part
    const shown = withoutLineEnd(line);
    const isBlank = shown.trim() === '';
    const isCut = isAfterBlank && !fence && !isBlank && !CONTINUES.test(shown) && !HEADING.test(lastLine);
    if (isCut && text.slice(start, at).trim() !== '') {
      paragraphs.push(text.slice(start, at));
      if (paragraphs.length >= MAX_PARTS) return paragraphs;
      start = at;
    }
    const [, mark = '', after = ''] = FENCE_LINE.exec(shown) ?? [];
    if (mark && !fence) fence = mark;
    else if (fence && mark.startsWith(fence) && after.trim() === '') fence = undefined;
    isAfterBlank = isBlank;
    if (!isBlank) lastLine = shown;
    at += line.length;
  }
  return paragraphs;
}

function withoutLineEnd(line: string): string {
  const text = line.endsWith('\n') ? line.slice(0, -1) : line;
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** How texts of the running answer are shown. */
interface StreamShaping {
  conversation: Pick<ChatSettings, 'reply' | 'egressFilter'>;
  formatReply: FormatReply;
}

/**
 * The messages that the complete paragraphs of a text become. None once something of the text must not leave: what that
 * is may only be seen in the whole text.
 */
export function paragraphMessages(text: string, { conversation, formatReply }: StreamShaping): string[] {
  if (conversation.egressFilter === 'on' && filterEgress(text).removed.length > 0) return [];
  return completeParagraphs(text).flatMap((paragraph) =>
    messagesOf(paragraph, { conversation, formatReply }),
  );
}

/**
 * What of a complete answer was not sent as paragraphs. The whole answer when it does not begin with them: another run of
 * the agent gave it.
 * @param sent the messages that were sent, as `paragraphMessages` makes them
 */
export function unsentText(text: string, sent: readonly string[], shaping: StreamShaping): string {
  let count = 0;
  let length = 0;
  const complete = completeParagraphs(text);
  const rest = text.slice(complete.join('').length);
  for (const paragraph of [...complete, rest]) {
    if (count === sent.length) return text.slice(length);
    const messages = messagesOf(paragraph, shaping);
    if (messages.some((message, index) => message !== sent[count + index])) return text;
    count += messages.length;
    length += paragraph.length;
  }
  return count === sent.length ? '' : text;
}

/**
 * The messages that show a text as far as it is written: without its last word, which may be the start of a secret, and
 * without what must not leave.
 */
export function growingMessages(text: string, shaping: StreamShaping): string[] {
  return messagesOf(withoutLastWord(text), shaping);
}

/** Of a script without spaces, without its last characters: the last one may be incomplete. */
function withoutLastWord(text: string): string {
  const isInWord = (at: number) => at >= 0 && text.charCodeAt(at) > 0x20 && text.charCodeAt(at) < 0x7f;
  let end = text.length;
  while (isInWord(end - 1)) end -= 1;
  if (end === text.length) while (end > text.length - 8 && text.charCodeAt(end - 1) > 0x7f) end -= 1;
  if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end).trimEnd();
}

function messagesOf(text: string, { conversation, formatReply }: StreamShaping): string[] {
  const { replies } = shapeReply({ success: true, response: text.trimEnd() }, conversation, formatReply);
  return replies.map((reply) => reply.text);
}
