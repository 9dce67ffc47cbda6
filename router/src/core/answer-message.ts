import { type AskRouteDeps, askRoute } from './ask-route.ts';
import { MediaError } from './errors.ts';
import { findLoop, type LoopSettings } from './loop-breaker.ts';
import type { Environment, Route } from './models.ts';
import type { ChatHistory } from './ports/chat-history.ts';
import type { Inbox, NewReply, PendingTurn, QueuedReply, TurnResult } from './ports/inbox.ts';
import type { MediaSource } from './ports/media.ts';
import type { RouteStore } from './ports/route-store.ts';
import type { TextMatcher } from './ports/text-matcher.ts';
import { repliesOf } from './replies-of.ts';
import { type RouteChoice, routeMessage } from './route-message.ts';
import { whileTyping } from './typing.ts';

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
  observeTurn?(result: TurnResult): void;
}

/**
 * Inbox → route → agent → outbox, for the oldest unanswered message of one chat. Safe to repeat after a crash: a turn
 * that was ended before changes nothing, and the WhatsApp id of its reply stays the one stored first. `isRepeat` says
 * that a crash may have cut this turn off: the agent's client then looks for an answer before it asks, as it does for a
 * replayed message that was asked about before.
 * @returns 'answered', or 'answered-last' when no further message waited at its start; 'idle' when nothing was left: the
 * chat's loop `epoch` is then closed, unless `keepOpen`
 * @throws {StorageUnavailableError} the turn was not ended; call again
 */
export async function answerNext(
  deps: AnswerDeps,
  loop: { chatId: string; epoch: number; isRepeat?: boolean; keepOpen?: boolean },
): Promise<'answered' | 'answered-last' | 'idle'> {
  const { chatId, epoch, isRepeat = false, keepOpen = false } = loop;
  const turn = await deps.inbox.nextTurn(chatId, epoch, { keepOpen });
  if (!turn) return 'idle';
  const log = deps.log.child({ messageId: turn.messageId, chatId });
  const result = await takeTurn({ ...deps, log }, turn, isRepeat);
  const replies = await deps.inbox.finishTurn(turn.messageId, result);
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
  deps.observeTurn?.(result);
  deps.deliver(replies);
  return turn.hasMore ? 'answered' : 'answered-last';
}

async function takeTurn(deps: AnswerDeps, turn: PendingTurn, isRepeat: boolean): Promise<TurnResult> {
  const choice = await routeMessage(deps, turn);
  if (choice.kind === 'none') {
    return { state: 'ignored', reason: choice.reason, trace: choice.trace, replies: [] };
  }
  const loop = deps.loopBreaker && (await findLoop(deps.loopBreaker, { ...turn, text: turn.message.text }));
  if (loop?.isLoop) {
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
