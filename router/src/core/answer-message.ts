import type { AgentClients } from './agent-client.ts';
import { type AskPolicy, askAgent } from './ask-agent.ts';
import type { Environment, OutgoingMessage, Route } from './models.ts';
import type { Clock } from './ports/clock.ts';
import type { Inbox, PendingTurn, QueuedReply, TurnResult } from './ports/inbox.ts';
import type { Logger } from './ports/logger.ts';
import type { RouteStore } from './ports/route-store.ts';
import type { TextMatcher } from './ports/text-matcher.ts';
import { type RouteChoice, routeMessage } from './route-message.ts';
import { whileTyping } from './typing.ts';

export interface AnswerDeps {
  inbox: Inbox;
  routes: RouteStore;
  matcher: TextMatcher;
  agents: AgentClients;
  environment: Environment;
  policy: AskPolicy;
  clock: Clock;
  log: Logger;
  /** A fresh WhatsApp id for a reply. */
  mintId(): string;
  setTyping(accountId: string, to: string, isTyping: boolean): Promise<void>;
  /** Takes stored replies on their way; delivery itself is not awaited, the outbox holds them. */
  deliver(replies: QueuedReply[]): void;
  /** Told once for each ended turn, for metrics. */
  observeTurn?(result: TurnResult): void;
  stopping: AbortSignal;
}

/**
 * Inbox → route → agent → outbox, for the oldest unanswered message of one chat. Safe to repeat after a crash: a turn
 * that was ended before changes nothing, and the WhatsApp id of its reply stays the one stored first. `isRepeat` says
 * that a crash may have cut this turn off: the agent's client then looks for an answer before it asks.
 * @returns 'idle' when nothing was left; the chat's loop `epoch` is then closed, unless `keepOpen`
 * @throws {StorageUnavailableError} the turn was not ended; call again
 */
export async function answerNext(
  deps: AnswerDeps,
  loop: { chatId: string; epoch: number; isRepeat?: boolean; keepOpen?: boolean },
): Promise<'answered' | 'idle'> {
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
  return 'answered';
}

async function takeTurn(deps: AnswerDeps, turn: PendingTurn, isRepeat: boolean): Promise<TurnResult> {
  const choice = await routeMessage(deps, turn);
  if (choice.kind === 'none') {
    return { state: 'ignored', reason: choice.reason, trace: choice.trace, replies: [] };
  }
  const { route } = choice;
  if (turn.message.text === '') return unsupportedKind(deps, turn, choice);

  const outcome = await whileTyping(
    deps.clock,
    (isTyping) => deps.setTyping(turn.accountId, turn.replyTo, isTyping),
    () => askAgent({ ...deps, isRepeat }, deps.agents.clientFor(route), route.agentEndpoint, turn.message),
  );
  const common = {
    routeId: route.id,
    attempts: outcome.attempts,
    agentMs: outcome.agentMs,
    trace: withDetail(
      choice.trace,
      outcome.kind === 'failed' ? outcome.error.detail : outcome.response.detail,
    ),
  };
  if (outcome.kind === 'failed') {
    const { error } = outcome;
    const replies = notice(deps, turn, route.config.failureNotice);
    return { ...common, state: 'dead', reason: error.code, error: error.message, replies };
  }
  const text = outcome.response.response?.trim();
  if (!text) return { ...common, state: 'answered', reason: 'agent-empty', replies: [] };
  return { ...common, state: 'answered', replies: notice(deps, turn, outcome.response.response) };
}

/** The route's trace, and after it what the agent's client tells of the exchange. */
function withDetail(trace: RouteChoice['trace'], detail: Record<string, unknown> | undefined): unknown[] {
  return detail ? [...trace, { outcome: 'asked', ...detail }] : trace;
}

/** A kind that has no text for an agent (a picture without caption, a voice note): stored, and noticed if the route says so. */
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

function notice(deps: AnswerDeps, turn: PendingTurn, text: string | undefined): OutgoingMessage[] {
  if (!text) return [];
  return [{ accountId: turn.accountId, to: turn.replyTo, waMessageId: deps.mintId(), text }];
}
