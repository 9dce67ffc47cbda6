import { chatHash } from '../chat-id.ts';
import { storageRetryMs } from '../clock.ts';
import { type DeliverRepliesDeps, deliverReplies, type SendSlot } from '../delivery/deliver-reply.ts';
import { isRetryable, StorageUnavailableError, Wa2aiError } from '../errors.ts';
import { say } from '../phrases.ts';
import { begunTurn, MAX_LINES, mergedTurn } from '../policies/pace.ts';
import { chatSettingsOf } from '../policies/settings.ts';
import type { ChatClaim, Inbox } from '../ports/inbox.ts';
import type { Suspects } from '../suspects.ts';
import type { StartedTasks } from '../tasks.ts';
import { TASK_STARTED } from './answer-of-turn.ts';
import { faultOfTurn, faultResult, RunningTurn } from './running-turn.ts';
import { type TurnDeps, takeTurn, viewOf } from './take-turn.ts';
import type {
  FinishedTurn,
  PendingTurn,
  TakenTurn,
  TurnControl,
  TurnInterrupted,
  TurnResult,
  TurnWait,
} from './turn.ts';

export interface AnswerDeps extends TurnDeps, DeliverRepliesDeps {
  inbox: Inbox;
  /** Gets each message whose turn left a task of its agent running, after the end of the turn is stored. */
  startedTasks?: Pick<StartedTasks, 'add'>;
  /** Called once for each ended turn, for metrics. Without `of`: its message is unreadable. */
  observeTurn?(result: TurnResult, of?: Pick<PendingTurn, 'accountId' | 'receivedAtMs'>): void;
}

/** `claimed`: the chat may have further messages. `released`: it has none, or the claim was void. */
export type TurnOutcome = 'claimed' | 'released' | TurnWait;

interface AnswerOptions {
  isRepeat?: boolean;
  turn?: PendingTurn;
  onTurn?(turn: PendingTurn): void;
  control?: TurnControl;
  suspects?: Suspects;
  waiting?: AbortSignal;
}

/**
 * Inbox → route → policies → agent → outbox, for the oldest unanswered message of one chat. Idempotent: a turn that was
 * ended before changes nothing, and the WhatsApp id of its reply stays the one stored first. A turn that fails on every
 * repeat (its message cannot be read, a defect of wa2ai) ends as a dead letter, so that the next messages of the chat are
 * answered.
 * @param options.isRepeat a crash may have interrupted this turn: the agent's client then looks for an answer before it
 *   sends the message, as it does for any message with earlier attempts
 * @param options.turn the chat's oldest unanswered message, when the caller knows it: it is not read
 * @param options.onTurn called with the message before its turn starts
 * @param options.control lets the caller stop the call of the agent
 * @param options.suspects makes a turn during which processes ended run alone, or end as a dead letter. Absent: it runs
 * @param options.waiting ends the wait until it may run alone; the turn was not ended then
 * @returns a wait: the turn was not ended; call again at its time, or when something is stored for the chat before
 * @throws {StorageUnavailableError} the turn was not ended; call again with `isRepeat`
 * @throws {AgentElsewhereError} the turn was not ended; another node has its agent
 * @throws the stopping signal's reason when the service stops meanwhile
 */
export async function answerMessage(
  deps: AnswerDeps,
  claim: ChatClaim,
  options: AnswerOptions = {},
): Promise<TurnOutcome> {
  const { suspects, control = {}, waiting = deps.stopping } = options;
  const read = async () => {
    try {
      return await deps.inbox.nextTurn(claim);
    } catch (error) {
      if (isRetryable(error)) throw error;
      return deadLetterUnreadable(deps, claim, error);
    }
  };
  let turn = options.turn ?? (await read());
  if (turn === 'claimed') return turn;
  if (!turn) return 'released';
  if (!suspects?.isSuspect(turn)) return runTurn(deps, claim, turn, options);

  if (suspects.isGuilty(turn)) return deadLetterGuilty(deps, claim, turn);
  const leave = await suspects.enter(() => control.interrupt?.(), waiting);
  if (!leave) return { untilMs: deps.clock.now() };
  try {
    const { messageId } = turn;
    // It may have been edited or deleted, or another node may have the chat.
    turn = await read();
    if (turn === 'claimed' || turn?.messageId !== messageId) return turn ? 'claimed' : 'released';
    const alone = turn;
    return await suspects.run(
      { messageId, chat: chatHash(alone.chatId), suspicion: alone.suspicion },
      (runsAlone) => deps.inbox.setAlone(messageId, runsAlone),
      () => runTurn(deps, claim, alone, options),
    );
  } finally {
    leave();
  }
}

async function runTurn(
  deps: AnswerDeps,
  claim: ChatClaim,
  turn: PendingTurn,
  { isRepeat = false, onTurn, control = {} }: AnswerOptions,
): Promise<TurnOutcome> {
  onTurn?.(turn);
  deps.current?.workingOn(`message ${turn.messageId}`);
  const log = logOf(deps, turn);
  const ended = await endTurn({ ...deps, log }, claim, turn, isRepeat, control);
  if ('untilMs' in ended) return ended;
  if ('isInterrupted' in ended) {
    log.info({ attempts: turn.earlierAttempts }, 'turn interrupted, starting it again');
    return 'claimed';
  }
  const { result, finished, slot } = ended;
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
  deps.observeTurn?.(result, turn);
  deliverReplies(deps, replies, slot);
  if (result.reason === TASK_STARTED) deps.startedTasks?.add(result.turn?.messageId ?? turn.messageId);
  return isClaimed ? 'claimed' : 'released';
}

function logOf({ log }: AnswerDeps, { messageId, message, chatId }: PendingTurn): AnswerDeps['log'] {
  return log.child({ messageId, waMessageId: message.id, chat: chatHash(chatId) });
}

/** Takes the turn and stores its end; an error that a repeat would not change ends the turn too. */
async function endTurn(
  deps: AnswerDeps,
  claim: ChatClaim,
  turn: PendingTurn,
  isRepeat: boolean,
  control: TurnControl,
): Promise<{ result: TakenTurn; finished: FinishedTurn; slot?: SendSlot } | TurnWait | TurnInterrupted> {
  let result: TakenTurn;
  try {
    const taken = await takeTurn(deps, claim, turn, isRepeat, control);
    if ('untilMs' in taken || 'isInterrupted' in taken) return taken;
    result = taken;
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
    const ended = result.turn ?? turn;
    const fault = await faultWithNotice(deps, ended, result, error);
    try {
      return {
        result: fault,
        finished: await deps.inbox.finishTurn(ended.messageId, fault, { claim, turn: ended }),
      };
    } catch (again) {
      if (isRetryable(again) || fault.replies.length === 0) throw again;
      // The database may refuse any reply to this chat.
      const bare = faultResult(error);
      return {
        result: bare,
        finished: await deps.inbox.finishTurn(ended.messageId, bare, { claim, turn: ended }),
      };
    }
  }
}

/** In place of an end that the database rejects: where it had replies, the person reads that there is no answer. */
async function faultWithNotice(
  deps: AnswerDeps,
  turn: PendingTurn,
  { routeId, replies }: TurnResult,
  error: unknown,
): Promise<TurnResult> {
  const route = replies.length > 0 && routeId !== undefined ? await deps.routes.get(routeId) : undefined;
  if (!route) return faultResult(error);
  const conversation = chatSettingsOf(route, await deps.conversation());
  const running = new RunningTurn(viewOf(turn, route, conversation, deps.clock.now()), []);
  return faultOfTurn(deps, running, route, error);
}

/**
 * Stores the end of a turn. With a slot, again until the database answers: the end may have been stored, and its reply, then
 * `sending`, must be sent before those of the chat's next turns.
 */
async function finishTurn(
  { inbox, clock, stopping, log }: AnswerDeps,
  claim: ChatClaim,
  stored: PendingTurn,
  result: TakenTurn,
  slot: SendSlot | undefined,
): Promise<FinishedTurn> {
  for (let attempt = 1; ; attempt++) {
    try {
      const { turn = stored, ...end } = result;
      return await inbox.finishTurn(turn.messageId, end, { claim, lease: slot?.lease, turn });
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

/** The turn ended processes: it becomes a dead letter, with the messages that its agent got with it. */
async function deadLetterGuilty(deps: AnswerDeps, claim: ChatClaim, turn: PendingTurn): Promise<TurnOutcome> {
  const { turns } = await deps.inbox.waiting(turn.chatId, MAX_LINES);
  const whole = mergedTurn(begunTurn(turns) ?? [turn]);
  const sentence = say('turn.process-ended');
  const result = faultResult(new Wa2aiError('PROCESS_ENDED', 'dead', sentence));
  const trace = [{ step: 'process', outcome: 'ended', ...sentence }];
  const { isClaimed } = await deps.inbox.finishTurn(
    whole.messageId,
    { ...result, trace },
    { claim, turn: whole },
  );
  logOf(deps, whole).error(
    { suspicion: turn.suspicion },
    'processes ended during this turn, storing a dead letter',
  );
  deps.observeTurn?.(result, whole);
  return isClaimed ? 'claimed' : 'released';
}

/** The oldest message cannot be read: it ends as a dead letter, and the chat continues with the next one. */
async function deadLetterUnreadable(deps: AnswerDeps, claim: ChatClaim, cause: unknown): Promise<'claimed'> {
  const { state: _, replies: __, ...why } = faultResult(cause);
  const messageId = await deps.inbox.deadLetterUnreadable(claim, why);
  // No message was ended and yet the read failed: the damage is elsewhere.
  if (messageId === undefined) throw cause;
  const chat = chatHash(claim.chatId);
  deps.log.error({ err: cause, messageId, chat }, 'message unreadable, storing a dead letter');
  deps.observeTurn?.({ state: 'dead', reason: why.reason, replies: [] });
  return 'claimed';
}
