import { MediaError, Wa2aiError } from '../errors.ts';
import type { Environment, Route } from '../models.ts';
import { findLoop, type LoopSettings } from '../policies/auto-reply-loop.ts';
import { whileTyping } from '../policies/typing.ts';
import type { ChatHistory } from '../ports/chat-history.ts';
import type { Inbox, NewReply, PendingTurn, QueuedReply, TurnResult } from '../ports/inbox.ts';
import type { MediaSource } from '../ports/media.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { TextMatcher } from '../ports/text-matcher.ts';
import { type RouteChoice, routeMessage } from '../routing/route-message.ts';
import { type AskRouteDeps, askRoute } from './ask-route.ts';
import { repliesOf } from './replies-of.ts';

export interface AnswerDeps extends AskRouteDeps {
  inbox: Inbox;
  routes: RouteStore;
  matcher: TextMatcher;
  environment: Environment;
  media: MediaSource;
  /** A fresh WhatsApp id for a reply. */
  mintId(): string;
  setTyping(accountId: string, to: string, isTyping: boolean): Promise<void>;
  /** Takes stored replies on their way; delivery itself is not awaited, the outbox holds them. */
  deliver(replies: QueuedReply[]): void;
  /** Stops two programs that answer each other. Absent: every message is answered. */
  loopBreaker?: { history: ChatHistory; settings: LoopSettings };
  /** Told once for each ended turn, for metrics. */
  observeTurn?(result: TurnResult, accountId?: string): void;
}

/**
 * Inbox → route → agent → outbox, for the oldest unanswered message of one chat. Safe to repeat after a crash: a turn
 * that was ended before changes nothing, and the WhatsApp id of its reply stays the one stored first. `isRepeat` says
 * that a crash may have cut this turn off: the agent's client then looks for an answer before it asks, as it does for a
 * replayed message that was asked about before.
 * A turn that no repeat will end well (its message cannot be read, a fault of wa2ai's own) ends as a dead letter, so that
 * those behind it get theirs.
 * @returns 'answered', or 'answered-last' when no further message waited at its start; 'idle' when nothing was left: the
 * chat's loop `epoch` is then closed, unless `keepOpen`
 * @throws {StorageUnavailableError} the turn was not ended; call again
 */
export async function answerNext(
  deps: AnswerDeps,
  loop: { chatId: string; epoch: number; isRepeat?: boolean; keepOpen?: boolean },
): Promise<'answered' | 'answered-last' | 'idle'> {
  const { chatId, epoch, isRepeat = false, keepOpen = false } = loop;
  let turn: PendingTurn | undefined;
  try {
    turn = await deps.inbox.nextTurn(chatId, epoch, { keepOpen });
  } catch (error) {
    if (!isForGood(error)) throw error;
    return deadLetterUnreadable(deps, loop, error);
  }
  if (!turn) return 'idle';
  const log = deps.log.child({ messageId: turn.messageId, chatId });
  const { result, replies } = await endTurn({ ...deps, log }, turn, isRepeat);
  log.info(
    {
      state: result.state,
      reason: result.reason,
      routeId: result.routeId,
      agentMs: result.agentMs,
      attempts: result.attempts,
      replies: replies.length,
    },
    'turn ended',
  );
  deps.observeTurn?.(result, turn.accountId);
  deps.deliver(replies);
  return turn.hasMore ? 'answered' : 'answered-last';
}

/** Takes the turn and stores its end; whatever is thrown that a repeat would not change is the turn's end too. */
async function endTurn(
  deps: AnswerDeps,
  turn: PendingTurn,
  isRepeat: boolean,
): Promise<{ result: TurnResult; replies: QueuedReply[] }> {
  const { messageId } = turn;
  let result: TurnResult;
  try {
    result = await takeTurn(deps, turn, isRepeat);
  } catch (error) {
    deps.stopping.throwIfAborted();
    if (!isForGood(error)) throw error;
    deps.log.error({ err: error }, 'turn failed for good');
    result = faultResult(error);
  }
  try {
    return { result, replies: await deps.inbox.finishTurn(messageId, result) };
  } catch (error) {
    if (!isForGood(error)) throw error;
    deps.log.error({ err: error }, 'the end of a turn was not storable; it is stored as failed');
    const fault = faultResult(error);
    return { result: fault, replies: await deps.inbox.finishTurn(messageId, fault) };
  }
}

/** The oldest message cannot be read: it ends as a dead letter unread, and the chat goes on with the next. */
async function deadLetterUnreadable(
  deps: AnswerDeps,
  { chatId, epoch }: { chatId: string; epoch: number },
  cause: unknown,
): Promise<'answered'> {
  const { reason, error } = faultResult(cause);
  const messageId = await deps.inbox.deadLetterUnreadable(chatId, epoch, { reason, error });
  // Nothing to deadLetterUnreadable, and yet it cannot be read: it is not the message that is damaged.
  if (messageId === undefined) throw cause;
  deps.log.error({ err: cause, chatId, messageId }, 'a message cannot be read; it is a dead letter now');
  deps.observeTurn?.({ state: 'dead', reason, replies: [] });
  return 'answered';
}

/** Not worth a repeat. What is none of wa2ai's own errors is a fault in it, which the next try would meet too. */
function isForGood(error: unknown): boolean {
  return !(error instanceof Wa2aiError) || error.disposition !== 'retry';
}

function faultResult(cause: unknown): TurnResult & { reason: string; error: string } {
  const isOwn = cause instanceof Wa2aiError;
  const name = cause instanceof Error ? cause.name : typeof cause;
  return {
    state: 'dead',
    reason: isOwn ? cause.code : 'TURN_FAULT',
    error: isOwn
      ? cause.message
      : `The turn failed by a fault inside wa2ai (${name}); its log has the cause.`,
    replies: [],
  };
}

async function takeTurn(deps: AnswerDeps, turn: PendingTurn, isRepeat: boolean): Promise<TurnResult> {
  const choice = await routeMessage(deps, turn);
  if (choice.kind === 'none') {
    return { state: 'ignored', reason: choice.reason, trace: choice.trace, replies: [] };
  }
  const loop = await loopIn(deps, turn);
  if (loop.isLoop) {
    const sentence = `The last ${loop.turns} turns look like two programs answering each other.`;
    const step = { step: 'loop-breaker', outcome: 'stopped', sentence };
    return { state: 'ignored', reason: 'loop-breaker', trace: [...choice.trace, step], replies: [] };
  }
  const { route } = choice;
  const isWordless = turn.message.text === '';
  if (isWordless && !(await takesFile(deps, route, turn))) return unsupportedKind(deps, turn, choice);

  const isAgain = isRepeat || (turn.earlierAttempts ?? 0) > 0;
  const answer = await whileTyping(
    deps.clock,
    (isTyping) => deps.setTyping(turn.accountId, turn.replyTo, isTyping),
    () => askRoute({ ...deps, ...mediaOf(deps, turn) }, route, turn, isAgain),
  );
  const common = {
    routeId: answer.routeId,
    attempts: answer.attempts,
    agentMs: answer.agentMs,
    trace: withDetail(
      [...choice.trace, ...answer.steps],
      answer.kind === 'answer' ? answer.response.detail : answer.error.detail,
    ),
  };
  if (answer.kind === 'failed') {
    const polite = answer.error instanceof MediaError ? answer.error.forPerson : undefined;
    const replies = notice(deps, turn, route.config.failureNotice ?? polite);
    return { ...common, state: 'dead', reason: answer.error.code, error: answer.sentence, replies };
  }
  if (answer.kind === 'fallback-text') {
    const replies = notice(deps, turn, answer.text);
    return { ...common, state: 'answered', reason: 'fallback-text', error: answer.error.message, replies };
  }
  const replies = repliesOf(answer.response).map((reply) => ({ ...addressOf(deps, turn), ...reply }));
  if (replies.length === 0) return { ...common, state: 'answered', reason: 'agent-empty', replies };
  return { ...common, state: 'answered', replies };
}

/** Whether the route's agent is asked about a file without words. */
async function takesFile(deps: AnswerDeps, route: Route, { message }: PendingTurn): Promise<boolean> {
  if (!message.media) return false;
  // Asking it says what is wrong with it.
  if (route.damage !== undefined) return true;
  return (await deps.agents.clientFor(route).takesFile?.(message)) ?? false;
}

/** The way to the message's file: fetched when it is first asked for, and again only when that failed. */
function mediaOf({ media, stopping }: AnswerDeps, turn: PendingTurn): { loadMedia?(): Promise<Uint8Array> } {
  if (!turn.message.media) return {};
  let loading: Promise<Uint8Array> | undefined;
  return {
    loadMedia: () => {
      loading ??= media.load(turn, stopping).catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
      return loading;
    },
  };
}

/** Whether programs answer each other; earlier turns that cannot be read are no reason to leave this one unanswered. */
async function loopIn(deps: AnswerDeps, turn: PendingTurn): ReturnType<typeof findLoop> {
  if (!deps.loopBreaker) return { isLoop: false, turns: 0 };
  try {
    return await findLoop(deps.loopBreaker, { ...turn, text: turn.message.text });
  } catch (error) {
    if (!isForGood(error)) throw error;
    deps.log.warn({ err: error }, 'earlier turns of the chat cannot be read; it is not looked for loops');
    return { isLoop: false, turns: 0 };
  }
}

/** The route's trace, and after it what the agent's client tells of the exchange. */
function withDetail(trace: unknown[], detail: Record<string, unknown> | undefined): unknown[] {
  return detail ? [...trace, { outcome: 'asked', ...detail }] : trace;
}

/** A kind that says nothing to the agent (a picture without caption, where it takes none): stored, and noticed if the route says so. */
function unsupportedKind(
  deps: AnswerDeps,
  turn: PendingTurn,
  choice: { route: Route; trace: RouteChoice['trace'] },
): TurnResult {
  return {
    state: 'ignored',
    reason: `unsupported-kind:${turn.message.kind ?? 'other'}`,
    routeId: choice.route.id,
    trace: choice.trace,
    replies: notice(deps, turn, choice.route.config.unsupportedNotice),
  };
}

function notice(deps: AnswerDeps, turn: PendingTurn, text: string | undefined): NewReply[] {
  return text ? [{ ...addressOf(deps, turn), text }] : [];
}

function addressOf(deps: AnswerDeps, turn: PendingTurn) {
  return { accountId: turn.accountId, to: turn.replyTo, waMessageId: deps.mintId() };
}
