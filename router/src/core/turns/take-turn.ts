import { AgentTaskError, MediaError, type Wa2aiError } from '../errors.ts';
import type { Route, Session } from '../models.ts';
import { ACCESS_PENDING } from '../policies/access.ts';
import { NOT_ADDRESSED } from '../policies/group.ts';
import type { ChatPolicy, TurnView } from '../policies/policy.ts';
import { type ReplyShaping, shapeReply } from '../policies/reply.ts';
import { type Conversation, conversationOf } from '../policies/settings.ts';
import { hasPauseContext } from '../policies/takeover.ts';
import { languageOf, phoneOf } from '../policies/texts.ts';
import type { ChatHistory } from '../ports/chat-history.ts';
import type { ChatClaim, Inbox } from '../ports/inbox.ts';
import type { Questions } from '../ports/questions.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { type RouteDeps, routeMessage } from '../routing/route-message.ts';
import { ANSWER_TAKEN } from '../served-tasks/ask-person.ts';
import { type OfferDeps, offersOf } from './agent-offers.ts';
import { answerCommand, withHelp } from './answer-command.ts';
import { type AskOwnerDeps, askOwner } from './ask-owner.ts';
import { type AskRouteDeps, askRoute, type RouteAnswer } from './ask-route.ts';
import { describedMessage } from './describe-message.ts';
import { loadContext } from './load-context.ts';
import { withPictures } from './load-pictures.ts';
import { type SessionDeps, sessionOfTurn } from './session-of-turn.ts';
import { type ShowDraftDeps, showDraft } from './show-draft.ts';
import { openStream, type StreamDeps } from './stream-reply.ts';
import { type TranscribeDeps, transcribeVoice } from './transcribe-voice.ts';
import type { NewReply, PendingTurn, TurnResult } from './turn.ts';
import {
  Interruption,
  type TakenTurn,
  type TurnControl,
  type TurnInterrupted,
  type TurnWait,
} from './turn-control.ts';
import { addressOf, decide, duringAll, isInterrupted, notice, noticeFor, TurnTalk } from './turn-talk.ts';

export interface TurnDeps
  extends AskRouteDeps,
    Omit<AskOwnerDeps, 'chatStore'>,
    Omit<RouteDeps, 'chatStore'>,
    OfferDeps,
    ReplyShaping,
    ShowDraftDeps,
    StreamDeps,
    Pick<TranscribeDeps, 'transcripts'> {
  inbox: Pick<Inbox, 'countAttempt' | 'addPart' | 'parts'>;
  routes: RouteStore;
  chatStore: AskOwnerDeps['chatStore'] & SessionDeps['chatStore'] & RouteDeps['chatStore'];
  history: Pick<ChatHistory, 'pastTurns' | 'unanswered'>;
  /** Questions to people, whose answers go to tasks instead of routes. Absent: there are none. */
  questions?: Pick<Questions, 'answer'>;
  /** In the order of their evaluation. */
  policies: readonly ChatPolicy[];
  /** A new WhatsApp id for a reply. */
  mintId(): string;
}

/** WhatsApp shows about three lines of a quoted text. */
const MAX_QUOTE_CHARS = 300;

/** After so long, such as after a replay, a person no longer knows which message an answer is for. */
const LATE_AFTER_MS = 10 * 60_000;

/** Reason of a turn that left a task running: what `RemoteTasks.unfollowed` looks for. */
export const TASK_STARTED = 'task-started';

/**
 * Chooses the route of a message, evaluates the policies, asks the agent, and shapes its answer.
 * @returns how the turn ended, or that it has not: it waits, or starts again
 * @throws {StorageUnavailableError} and what the policies and the agent's client throw beyond agent errors
 */
export async function takeTurn(
  deps: TurnDeps,
  claim: ChatClaim,
  received: PendingTurn,
  isRepeat: boolean,
  control: TurnControl,
): Promise<TakenTurn | TurnWait | TurnInterrupted> {
  const questionId = await deps.questions?.answer(received.chatId, received.messageId);
  if (questionId !== undefined) return questionAnswered(deps, received, questionId);
  const choice = await routeMessage(deps, received);
  if (choice.kind === 'none') {
    return { state: 'ignored', reason: choice.reason, trace: choice.trace, replies: [] };
  }
  const { route } = choice;
  const conversation = conversationOf(route, await deps.conversation());
  const nowMs = deps.clock.now();
  const viewOf = (turn: PendingTurn): TurnView => ({
    turn,
    route,
    conversation,
    language: languageOf(turn.message.text, phoneOf(turn.message)),
    nowMs,
  });
  const talk = new TurnTalk(viewOf(received), choice.trace);
  let stop = await decide(deps, talk);
  if (stop?.kind === 'wait') return { untilMs: stop.untilMs };
  const { turn: decided } = talk.view;
  const { turn: heard, step } =
    !stop || mayBeAddressed(stop, conversation)
      ? await transcribeVoice(deps, decided, route.config.media?.transcribe)
      : { turn: decided };
  if (step) talk.steps.push(step);
  if (heard !== decided) {
    talk.view = viewOf(heard);
    if (stop) stop = await decide(deps, talk);
  }
  if (stop?.kind === 'wait') return { untilMs: stop.untilMs };
  const { view } = talk;
  const { turn: stored } = view;
  const { message } = stored;
  if (stop?.reason === ACCESS_PENDING) {
    const asked = await askOwner(deps, view, stop, isRepeat);
    if (asked.kind === 'approved') {
      return takeTurn(deps, claim, { ...received, access: 'approved' }, isRepeat, control);
    }
    const replies = notice(deps, stored, asked.say);
    return talk.ended({ state: 'ignored', reason: asked.reason, routeId: route.id, replies });
  }
  if (stop) {
    const replies = notice(deps, stored, stop.say);
    const state = stop.say === undefined ? 'ignored' : 'answered';
    return talk.ended({ state, reason: stop.reason, routeId: route.id, replies });
  }
  const command = await answerCommand(deps, route, talk);
  if (command) return command;
  const session = await sessionOfTurn(deps, talk);
  const context = await loadContext(deps.history, stored, conversation);
  const turn: PendingTurn = {
    ...stored,
    message: {
      ...describedMessage(deps.agents, route, message),
      ...(isLaterSession(session, conversation) && { session }),
      ...(context.length > 0 && { context }),
    },
  };
  if (turn.message.text === '' && !(await takesFile(deps, route, turn))) {
    const replies = noticeFor(deps, talk, 'unsupported', route.config.unsupportedNotice);
    const reason = `unsupported-kind:${message.kind ?? 'other'}`;
    return talk.ended({ state: 'ignored', reason, routeId: route.id, replies });
  }

  const isAgain = isRepeat || (turn.earlierAttempts ?? 0) > 0;
  const stopped = new AbortController();
  control.stop = () => conversation.commands.stop && stopped.abort(new Error('the person wrote /stop'));
  const interruption = new Interruption(turn, () => isInterrupted(deps, view), deps.log);
  control.stored = (changed) => interruption.onStored(changed);
  for (const changed of control.missed?.splice(0) ?? []) control.stored(changed);
  const stopping = AbortSignal.any([deps.stopping, stopped.signal, interruption.signal]);
  const onTask = () => interruption.forbid();
  const quote = quoteOf(turn, view);
  const stream = await openStream({ ...deps, stopping }, claim, turn, { conversation, isAgain, quote });
  talk.view = { ...view, hasSpoken: () => stream?.hasSpoken ?? false };
  let answer: RouteAnswer;
  try {
    answer = await duringAll(deps.policies, talk, () =>
      askRoute(
        { ...deps, ...offersOf(deps, turn), stopping, onTask, onText: stream?.onText },
        route,
        turn,
        isAgain,
      ),
    );
  } catch (error) {
    if (deps.stopping.aborted) throw error;
    if (!stopped.signal.aborted && interruption.signal.aborted) return { isInterrupted: true };
    if (!stopped.signal.aborted) throw error;
    const sentence = 'The person wrote /stop while the agent worked.';
    talk.steps.push({ step: 'command', outcome: 'stopped', sentence });
    return talk.ended({ state: 'ignored', reason: 'stopped-by-person', routeId: route.id, replies: [] });
  } finally {
    await stream?.end();
    control.stop = undefined;
    control.stored = undefined;
  }
  const shown = (replies: NewReply[]) => stream?.replace(replies) ?? replies;
  const common = {
    routeId: answer.routeId,
    attempts: answer.attempts,
    agentMs: answer.agentMs,
  };
  const detail = answer.kind === 'answer' ? answer.response.detail : answer.error.detail;
  talk.steps.push(
    ...answer.steps,
    ...(stream?.steps ?? []),
    ...(detail ? [{ outcome: 'called', ...detail }] : []),
  );
  if (answer.kind === 'failed') {
    const { error, sentence } = answer;
    const said = textForPerson(error, route.config.failureNotice);
    const replies = shown(
      said === undefined
        ? noticeFor(deps, talk, 'failed', route.config.failureNotice)
        : notice(deps, turn, said),
    );
    return talk.ended({ ...common, state: 'dead', reason: error.code, error: sentence, replies });
  }
  if (answer.kind === 'fallback-text') {
    const replies = shown(notice(deps, turn, answer.text));
    const error = answer.error.message;
    return talk.ended({ ...common, state: 'answered', reason: 'fallback-text', error, replies });
  }
  if (hasPauseContext(talk.state)) talk.patch({ contextTakenMs: stored.receivedAtMs });
  const { imageHosts } = conversation.reply;
  const response = stream?.unsent(answer.response) ?? answer.response;
  const seen = await withPictures(deps.pictures, response, imageHosts, deps.stopping);
  const mayBeCaption = !stream?.hasSpoken;
  const helped = withHelp(seen.response, talk);
  const shaped = shapeReply(helped, conversation, deps.formatReply, mayBeCaption);
  talk.steps.push(...seen.steps, ...shaped.steps);
  const said = shaped.replies.map((reply, index) => ({
    ...addressOf(deps, turn),
    ...reply,
    ...(index === 0 && !stream?.hasSpoken && quote),
  }));
  // The line of a task that goes on is no answer, and replaces nothing.
  const replies = response.task ? said : shown(said);
  const draft = stored.isApproving && { isDraft: true as const };
  if (draft) await showDraft(deps, turn, replies);
  if (response.isLater) {
    return talk.ended({ ...common, ...draft, state: 'answered', reason: 'agent-later', replies });
  }
  if (response.task)
    return talk.ended({ ...common, ...draft, state: 'answered', reason: TASK_STARTED, replies });
  if (replies.length === 0 && shaped.isWithheld) {
    const instead = shown(noticeFor(deps, talk, 'failed', route.config.failureNotice));
    return talk.ended({ ...common, state: 'answered', reason: 'reply-withheld', replies: instead });
  }
  if (replies.length === 0 && !stream?.hasSpoken)
    return talk.ended({ ...common, state: 'answered', reason: 'agent-empty', replies });
  if (draft) return talk.ended({ ...common, ...draft, state: 'answered', reason: 'draft', replies });
  return talk.ended({ ...common, state: 'answered', replies });
}

/** The first session has the ids of the agent contract. */
function isLaterSession({ number }: Session, { session: { scope } }: Conversation): boolean {
  return number > 1 || scope !== 'person-in-chat';
}

/** What an error itself says to the person. Only the route's own template lets a text of the agent through. */
function textForPerson(error: Wa2aiError, failureNotice: string | undefined): string | undefined {
  if (error instanceof AgentTaskError) return error.forPerson;
  return error instanceof MediaError && failureNotice === undefined ? error.forPerson : undefined;
}

/** Whether the words of a voice message could change that it is not addressed to the account. */
function mayBeAddressed({ reason }: { reason: string }, { group }: Conversation): boolean {
  return reason === NOT_ADDRESSED && group.patterns.length > 0;
}

/** The message answers a question to its person: its task gets it, and no route. */
function questionAnswered(deps: TurnDeps, turn: PendingTurn, questionId: string): TurnResult {
  const sentence = 'The message answers a question that a program asked the person; its task got it.';
  const trace = [{ step: 'question', outcome: 'answered', taskId: questionId, sentence }];
  return { state: 'answered', reason: 'question-answered', trace, replies: notice(deps, turn, ANSWER_TAKEN) };
}

/** Whether the route's agent takes a file without text. */
async function takesFile(deps: TurnDeps, route: Route, { message }: PendingTurn): Promise<boolean> {
  if (!message.media) return false;
  // The attempt reports what is wrong with the route.
  if (route.damage !== undefined) return true;
  return (await deps.agents.clientFor(route).takesFile?.(message, route.agentEndpoint)) ?? false;
}

/** The message as the first reply to it quotes it. */
function quoteOf(
  { message, bubbleId, receivedAtMs }: PendingTurn,
  { conversation: { reply }, nowMs }: TurnView,
): Pick<NewReply, 'quote'> | undefined {
  const isUnclear = message.isGroup === true || nowMs - receivedAtMs > LATE_AFTER_MS;
  const isQuoted = reply.quote === 'always' || (reply.quote === 'group' && isUnclear);
  if (!isQuoted) return undefined;
  const { id, from, text } = message;
  return { quote: { waMessageId: bubbleId ?? id, from, text: text.slice(0, MAX_QUOTE_CHARS) } };
}
