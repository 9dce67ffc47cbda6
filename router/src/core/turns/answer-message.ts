import { chatHash } from '../chat-hash.ts';
import { type DeliverRepliesDeps, deliverReplies } from '../delivery/deliver-reply.ts';
import type { SendSlot } from '../delivery/send-slot.ts';
import { AgentTaskError, isRetryable, MediaError, StorageUnavailableError, Wa2aiError } from '../errors.ts';
import type { Environment, Route } from '../models.ts';
import type { ChatPolicy, PolicyStop } from '../policies/policy.ts';
import type { ChatHistory } from '../ports/chat-history.ts';
import type { ChatClaim, Inbox } from '../ports/inbox.ts';
import type { MediaSource } from '../ports/media.ts';
import type { Questions } from '../ports/questions.ts';
import type { ReplyTokens } from '../ports/reply-tokens.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { TextMatcher } from '../ports/text-matcher.ts';
import { storageRetryMs } from '../retry.ts';
import { type RouteChoice, routeMessage } from '../routing/route-message.ts';
import { ANSWER_TAKEN } from '../served-tasks/ask-person.ts';
import type { StartedTasks } from '../tasks/started-tasks.ts';
import { type AskRouteDeps, askRoute } from './ask-route.ts';
import { loadHistory } from './load-history.ts';
import { repliesOf } from './replies-of.ts';
import type { FinishedTurn, NewReply, PendingTurn, TurnResult } from './turn.ts';

export interface AnswerDeps extends AskRouteDeps, DeliverRepliesDeps {
  inbox: Inbox;
  routes: RouteStore;
  matcher: TextMatcher;
  environment: Environment;
  media: MediaSource;
  history: Pick<ChatHistory, 'pastTurns'>;
  replyTokens: Pick<ReplyTokens, 'issue'>;
  /** Sends a text to a chat outside of a turn; once for each key. Absent: agents cannot. */
  sendNotice?(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
  /** Questions to people, whose answers go to tasks instead of routes. Absent: there are none. */
  questions?: Pick<Questions, 'answer'>;
  /** In the order of their evaluation. */
  policies: readonly ChatPolicy[];
  /** A new WhatsApp id for a reply. */
  mintId(): string;
  /** Gets each message whose turn left a task of its agent running, after the end of the turn is stored. */
  startedTasks?: Pick<StartedTasks, 'add'>;
  /** Called once for each ended turn, for metrics. */
  observeTurn?(result: TurnResult, accountId?: string): void;
}

/** Reason of a turn that left a task running: what `RemoteTasks.unfollowed` looks for. */
const TASK_STARTED = 'task-started';

/** `claimed`: the chat may have further messages. `released`: it has none, or the claim was void. */
export type TurnOutcome = 'claimed' | 'released';

/**
 * Inbox → route → policies → agent → outbox, for the oldest unanswered message of one chat. Idempotent: a turn that was
 * ended before changes nothing, and the WhatsApp id of its reply stays the one stored first. A turn that fails on every
 * repeat (its message cannot be read, a defect of wa2ai) ends as a dead letter, so that the next messages of the chat are
 * answered.
 * @param options.isRepeat a crash may have interrupted this turn: the agent's client then looks for an answer before it
 *   sends the message, as it does for any message with earlier attempts
 * @param options.turn the chat's oldest unanswered message, when the caller knows it: it is not read
 * @param options.onTurn called with the message before its turn starts
 * @throws {StorageUnavailableError} the turn was not ended; call again with `isRepeat`
 * @throws {AgentElsewhereError} the turn was not ended; another node has its agent
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function answerMessage(
  deps: AnswerDeps,
  claim: ChatClaim,
  options: {
    isRepeat?: boolean;
    turn?: PendingTurn;
    onTurn?(turn: PendingTurn): void;
  } = {},
): Promise<TurnOutcome> {
  const { isRepeat = false } = options;
  let { turn } = options;
  try {
    turn ??= await deps.inbox.nextTurn(claim);
  } catch (error) {
    if (isRetryable(error)) throw error;
    return deadLetterUnreadable(deps, claim, error);
  }
  if (!turn) return 'released';
  options.onTurn?.(turn);
  const log = deps.log.child({
    messageId: turn.messageId,
    waMessageId: turn.message.id,
    chat: chatHash(turn.chatId),
  });
  const { result, finished, slot } = await endTurn({ ...deps, log }, claim, turn, isRepeat);
  const { replies, isClaimed } = finished;
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
  deliverReplies(deps, replies, slot);
  if (result.reason === TASK_STARTED) deps.startedTasks?.add(turn.messageId);
  return isClaimed ? 'claimed' : 'released';
}

/** Takes the turn and stores its end; an error that a repeat would not change ends the turn too. */
async function endTurn(
  deps: AnswerDeps,
  claim: ChatClaim,
  turn: PendingTurn,
  isRepeat: boolean,
): Promise<{ result: TurnResult; finished: FinishedTurn; slot?: SendSlot }> {
  const { messageId } = turn;
  let result: TurnResult;
  try {
    result = await takeTurn(deps, turn, isRepeat);
  } catch (error) {
    deps.stopping.throwIfAborted();
    // AgentElsewhereError too: the turn continues on another node.
    if (isRetryable(error)) throw error;
    deps.log.error({ err: error }, 'turn failed, storing a dead letter');
    result = faultResult(error);
  }
  const slot =
    result.replies.length > 0 ? deps.accounts.delivery(turn.accountId)?.openSlot(turn.chatId) : undefined;
  try {
    return { result, finished: await finishTurn(deps, claim, turn, result, slot), slot };
  } catch (error) {
    deps.stopping.throwIfAborted();
    if (isRetryable(error)) throw error;
    deps.log.error({ err: error }, 'end of turn rejected by the database, storing a dead letter');
    const fault = faultResult(error);
    return { result: fault, finished: await deps.inbox.finishTurn(messageId, fault, { claim }) };
  }
}

/**
 * Stores the end of a turn. With a slot, again until the database answers: the end may have been stored, and its reply, then
 * `sending`, must be sent before those of the chat's next turns.
 */
async function finishTurn(
  { inbox, clock, stopping, log }: AnswerDeps,
  claim: ChatClaim,
  { messageId }: PendingTurn,
  result: TurnResult,
  slot: SendSlot | undefined,
): Promise<FinishedTurn> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inbox.finishTurn(messageId, result, { claim, lease: slot?.lease });
    } catch (error) {
      // The slot stays open: its row may be stored.
      stopping.throwIfAborted();
      if (!slot) throw error;
      if (!(error instanceof StorageUnavailableError)) {
        slot.close();
        throw error;
      }
      log.warn({ err: error, attempt }, 'database unavailable, retrying turn');
      await clock.sleep(storageRetryMs(attempt), stopping);
    }
  }
}

/** The oldest message cannot be read: it ends as a dead letter, and the chat continues with the next one. */
async function deadLetterUnreadable(deps: AnswerDeps, claim: ChatClaim, cause: unknown): Promise<'claimed'> {
  const { reason, error } = faultResult(cause);
  const messageId = await deps.inbox.deadLetterUnreadable(claim, { reason, error });
  // No message was ended and yet the read failed: the damage is elsewhere.
  if (messageId === undefined) throw cause;
  const chat = chatHash(claim.chatId);
  deps.log.error({ err: cause, messageId, chat }, 'message unreadable, storing a dead letter');
  deps.observeTurn?.({ state: 'dead', reason, replies: [] });
  return 'claimed';
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
  const questionId = await deps.questions?.answer(turn.chatId, turn.messageId);
  if (questionId !== undefined) return questionAnswered(deps, turn, questionId);
  const choice = await routeMessage(deps, turn);
  if (choice.kind === 'none') {
    return { state: 'ignored', reason: choice.reason, trace: choice.trace, replies: [] };
  }
  const stop = await firstStop(deps, turn);
  if (stop) {
    return { state: 'ignored', reason: stop.reason, trace: [...choice.trace, stop.step], replies: [] };
  }
  const { route } = choice;
  const hasNoText = turn.message.text === '';
  if (hasNoText && !(await takesFile(deps, route, turn))) return unsupportedKind(deps, turn, choice);

  const isAgain = isRepeat || (turn.earlierAttempts ?? 0) > 0;
  const answer = await duringAll(deps.policies, turn, () =>
    askRoute({ ...deps, ...offersOf(deps, turn) }, route, turn, isAgain),
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
    const replies = notice(deps, turn, textOfFailure(answer.error, route.config.failureNotice));
    return { ...common, state: 'dead', reason: answer.error.code, error: answer.sentence, replies };
  }
  if (answer.kind === 'fallback-text') {
    const replies = notice(deps, turn, answer.text);
    return { ...common, state: 'answered', reason: 'fallback-text', error: answer.error.message, replies };
  }
  const replies = repliesOf(answer.response).map((reply) => ({ ...addressOf(deps, turn), ...reply }));
  if (answer.response.isLater) return { ...common, state: 'answered', reason: 'agent-later', replies };
  if (answer.response.task) return { ...common, state: 'answered', reason: TASK_STARTED, replies };
  if (replies.length === 0) return { ...common, state: 'answered', reason: 'agent-empty', replies };
  return { ...common, state: 'answered', replies };
}

/** What the chat gets for an error. Only the route's own template lets a text of the agent through. */
function textOfFailure(error: Wa2aiError, failureNotice: string | undefined): string | undefined {
  if (error instanceof AgentTaskError) return error.forPerson ?? failureNotice;
  return failureNotice ?? (error instanceof MediaError ? error.forPerson : undefined);
}

/** The message answers a question to its person: its task gets it, and no route. */
function questionAnswered(deps: AnswerDeps, turn: PendingTurn, questionId: string): TurnResult {
  const sentence = 'The message answers a question that a program asked the person; its task got it.';
  const trace = [{ step: 'question', outcome: 'answered', taskId: questionId, sentence }];
  return { state: 'answered', reason: 'question-answered', trace, replies: notice(deps, turn, ANSWER_TAKEN) };
}

/** Whether the route's agent takes a file without text. */
async function takesFile(deps: AnswerDeps, route: Route, { message }: PendingTurn): Promise<boolean> {
  if (!message.media) return false;
  // The attempt reports what is wrong with the route.
  if (route.damage !== undefined) return true;
  return (await deps.agents.clientFor(route).takesFile?.(message, route.agentEndpoint)) ?? false;
}

/** What an agent's client may ask for besides the message; nothing is read before. */
function offersOf(
  { media, history, replyTokens, sendNotice, stopping }: AnswerDeps,
  turn: PendingTurn,
): Pick<AskRouteDeps, 'loadMedia' | 'loadHistory' | 'replyToken' | 'notify'> {
  return {
    ...(turn.message.media && { loadMedia: once(() => media.load(turn, stopping)) }),
    loadHistory: (limits) => loadHistory(history, turn, limits),
    replyToken: once(() => replyTokens.issue(turn.messageId)),
    ...(sendNotice && {
      notify: (text: string) =>
        sendNotice({
          ...{ accountId: turn.accountId, to: turn.replyTo, text },
          idempotencyKey: `notice:${turn.messageId}`,
        }),
    }),
  };
}

/** Does the work when it is first asked for; again only when that failed. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let working: Promise<T> | undefined;
  return () => {
    working ??= work().catch((error: unknown) => {
      working = undefined;
      throw error;
    });
    return working;
  };
}

async function firstStop({ policies, log }: AnswerDeps, turn: PendingTurn): Promise<PolicyStop | undefined> {
  for (const policy of policies) {
    const stop = await policy.before?.(turn, log);
    if (stop) return stop;
  }
  return undefined;
}

/** Runs `work` inside all policies that have something to do during it, the first one outermost. */
function duringAll<T>(
  [policy, ...rest]: readonly ChatPolicy[],
  turn: PendingTurn,
  work: () => Promise<T>,
): Promise<T> {
  if (!policy) return work();
  const inner = () => duringAll(rest, turn, work);
  return policy.during ? policy.during(turn, inner) : inner();
}

/** The route's trace, followed by what the agent's client reports of the exchange. */
function withDetail(trace: unknown[], detail: Record<string, unknown> | undefined): unknown[] {
  return detail ? [...trace, { outcome: 'called', ...detail }] : trace;
}

/** A kind that the agent cannot read (for example a picture without caption): stored, with a notice if the route has one. */
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
