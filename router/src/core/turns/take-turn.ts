import type { AgentClients, HistoryLimits } from '../agent-client.ts';
import { AgentUnavailableError, isRetryable, type Wa2aiError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { TurnReason } from '../messages/inbound-message.ts';
import { describeCard } from '../messages/message-card.ts';
import type { ContextMessage, IncomingMessage, Route, Session } from '../models.ts';
import { say } from '../phrases.ts';
import { ACCESS_PENDING, GROUP_EVENT, hasPauseContext, NOT_ADDRESSED } from '../policies/access.ts';
import { isVoiceReply, type TranscribeSettings } from '../policies/conversation-fields.ts';
import type { ChatPolicy, Decision, TurnView, WorkEnd } from '../policies/policy.ts';
import { type ChatSettings, chatSettingsOf } from '../policies/settings.ts';
import { languageOf, phoneOf, sayingIn, textOf } from '../policies/texts.ts';
import type { ChatClaim } from '../ports/inbox.ts';
import type { MediaSource } from '../ports/media.ts';
import type { ChatHistory, PastTurn } from '../ports/message-log.ts';
import type { Questions, ReplyTokens } from '../ports/pending-answers.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { type RouteDeps, routeMessage } from '../routing/route-message.ts';
import type { CurrentWork } from '../suspects.ts';
import { nameOfPerson, OWNER_NAME } from '../text.ts';
import {
  type AnswerOfTurnDeps,
  type AskOwnerDeps,
  answerCommand,
  answerOfTurn,
  askOwner,
  type SessionDeps,
  sessionOfTurn,
} from './answer-of-turn.ts';
import { type AskWithFallbackDeps, askWithFallback, type RouteAnswer } from './ask-agent.ts';
import { type TranscribeDeps, type Transcribed, transcribeVoice } from './load-media.ts';
import { faultOfTurn, notice, noticeFor, RunningTurn } from './running-turn.ts';
import { openStream, type ReplyStream, type StreamDeps } from './stream-reply.ts';
import {
  Interruption,
  type NewReply,
  type PendingTurn,
  type TakenTurn,
  type TurnControl,
  type TurnInterrupted,
  type TurnResult,
  type TurnWait,
} from './turn.ts';

/** Reasons of messages that the agent did not get: they go along as context with the next one that it gets. */
const CONTEXT_REASONS = [NOT_ADDRESSED, GROUP_EVENT] as const;

/** Reasons of messages that go along with the next one after a pause. */
const PAUSE_CONTEXT_REASONS = ['chat-paused', 'owner-message'] as const;

export interface TurnDeps
  extends RunAgentDeps,
    AnswerOfTurnDeps,
    DecideTurnDeps,
    Omit<AskOwnerDeps, 'chatStore'>,
    Omit<RouteDeps, 'chatStore'> {
  routes: RouteStore;
  inbox: RunAgentDeps['inbox'] & DecideTurnDeps['inbox'];
  chatStore: AskOwnerDeps['chatStore'] & SessionDeps['chatStore'] & RouteDeps['chatStore'];
  history: Pick<ChatHistory, 'pastTurns' | 'unanswered'>;
  current?: CurrentWork;
  /** Questions to people, whose answers go to tasks instead of routes. Absent: there are none. */
  questions?: Pick<Questions, 'answer'>;
}

/** WhatsApp shows about three lines of a quoted text. */
const MAX_QUOTE_CHARS = 300;

/** After so long, such as after a replay, a person no longer knows which message an answer is for. */
const LATE_AFTER_MS = 10 * 60_000;

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
  const { choice, transcribed, trace } = await routeOfTurn(deps, received);
  if (choice.kind === 'none') return { state: 'ignored', reason: choice.reason, trace, replies: [] };
  const { route } = choice;
  const conversation = chatSettingsOf(route, await deps.conversation());
  const running = new RunningTurn(viewOf(transcribed.turn, route, conversation, deps.clock.now()), trace);

  const stop = await decideTurn(deps, route, running, transcribed.step !== undefined);
  if (stop?.kind === 'wait') return { untilMs: stop.untilMs };
  if (stop?.reason === ACCESS_PENDING) {
    const asked = await askOwner(deps, running.view, stop, isRepeat);
    if (asked.kind === 'approved') {
      return takeTurn(deps, claim, { ...transcribed.turn, access: 'approved' }, isRepeat, control);
    }
    return notAnswered(running, asked.reason, notice(deps, running.view.turn, asked.say));
  }
  if (stop) {
    const replies = notice(deps, running.view.turn, stop.say);
    const state = stop.say === undefined ? 'ignored' : 'answered';
    return running.ended({ state, reason: stop.reason, routeId: route.id, replies });
  }
  try {
    return await answerOrAsk(deps, claim, route, running, isRepeat, control);
  } catch (error) {
    deps.stopping.throwIfAborted();
    // AgentElsewhereError too: the turn continues on another node.
    if (isRetryable(error)) throw error;
    deps.log.error({ err: error }, 'turn failed, storing a dead letter');
    return faultOfTurn(deps, running, route, error);
  }
}

/** The turn of a message that its route and the policies let pass. */
async function answerOrAsk(
  deps: TurnDeps,
  claim: ChatClaim,
  route: Route,
  running: RunningTurn,
  isRepeat: boolean,
  control: TurnControl,
): Promise<TakenTurn | TurnInterrupted> {
  const command = await answerCommand(deps, route, running);
  if (command) return command;

  const turn = await turnForAgent(deps, route, running);
  if (turn.message.text === '' && !(await takesFile(deps, route, turn))) {
    const replies = noticeFor(deps, running, 'unsupported');
    return notAnswered(running, `unsupported-kind:${turn.message.kind ?? 'other'}`, replies);
  }
  const quote = quoteOf(turn, running.view);
  const asked = await runAgent(deps, running, { claim, route, turn, isRepeat, quote, control });
  if ('isInterrupted' in asked) return asked;
  if (asked.kind === 'stopped') {
    const sentence = say('stop.during-call');
    running.steps.push({ step: 'command', outcome: 'stopped', ...sentence });
    running.patch({ isStopped: true });
    return notAnswered(running, 'stopped-by-person');
  }
  deps.current?.workingOn(`message ${turn.messageId}`);
  return answerOfTurn(deps, running, asked.answer, { turn, quote, stream: asked.stream });
}

/** The route of a turn. Where the words of its voice message decide, it is transcribed first; not in a paused chat. */
async function routeOfTurn(deps: TurnDeps, received: PendingTurn) {
  let transcribed: Transcribed = { turn: received };
  const transcribe = async (settings: TranscribeSettings) => {
    transcribed = await transcribeVoice(deps, received, settings);
    return transcribed.turn;
  };
  const mayTranscribe =
    received.message.media?.kind === 'voice' && received.message.text === '' && !received.isPaused;
  const choice = await routeMessage(deps, received, mayTranscribe ? transcribe : undefined);
  return {
    choice,
    transcribed,
    trace: transcribed.step ? [transcribed.step, ...choice.trace] : choice.trace,
  };
}

function notAnswered(running: RunningTurn, reason: TurnReason, replies: NewReply[] = []): TakenTurn {
  return running.ended({ state: 'ignored', reason, routeId: running.view.route.id, replies });
}

/** The message with its session, what was said before, and what a file or a card shows, in words. */
async function turnForAgent(deps: TurnDeps, route: Route, running: RunningTurn): Promise<PendingTurn> {
  const session = await sessionOfTurn(deps, running);
  const { turn, conversation } = running.view;
  const context = await loadContext(deps.history, turn, conversation);
  return {
    ...turn,
    message: {
      ...describedMessage(deps.agents, route, turn.message),
      ...(turn.chatState?.language && { chatLanguage: turn.chatState.language }),
      ...(isLaterSession(session, conversation) && { session }),
      ...(context.length > 0 && { context }),
    },
  };
}

/** The first session has the ids of the agent contract. */
function isLaterSession({ number }: Session, { session: { scope } }: ChatSettings): boolean {
  return number > 1 || scope !== 'person-in-chat';
}

/** The message answers a question to its person: its task gets it, and no route. */
async function questionAnswered(deps: TurnDeps, turn: PendingTurn, questionId: string): Promise<TurnResult> {
  const sentence = say('question.answered');
  const trace = [{ step: 'question', outcome: 'answered', taskId: questionId, ...sentence }];
  const { texts } = chatSettingsOf(undefined, await deps.conversation());
  const { message, chatState } = turn;
  const language = languageOf(message.text, phoneOf(message), chatState?.language);
  const replies = notice(deps, turn, textOf('questionAnswered', language, texts));
  return { state: 'answered', reason: 'question-answered', trace, replies };
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

interface RunAgentDeps extends AskWithFallbackDeps, OfferDeps, StreamDeps {
  inbox: AskWithFallbackDeps['inbox'] & StreamDeps['inbox'];
  /** In the order of their evaluation. */
  policies: readonly ChatPolicy[];
}

interface Question {
  claim: ChatClaim;
  route: Route;
  turn: PendingTurn;
  /** A crash may have interrupted the turn. */
  isRepeat: boolean;
  /** What the first message of the answer quotes. */
  quote?: Pick<NewReply, 'quote'> | undefined;
  control: TurnControl;
}

/** The end of the agents' work, and the stream that showed some of it; or that the person ended it with `/stop`. */
type Asked =
  | { kind: 'asked'; answer: RouteAnswer; stream: ReplyStream | undefined }
  | { kind: 'stopped' }
  | TurnInterrupted;

/**
 * Asks the agents of the route inside the policies. Meanwhile the answer is shown if the settings want that, `/stop` ends the
 * work, and so does a new or changed question.
 * @throws {StorageUnavailableError} and what the agent's client throws beyond agent errors
 */
async function runAgent(deps: RunAgentDeps, running: RunningTurn, question: Question): Promise<Asked> {
  const { claim, route, turn, quote, control } = question;
  const { view } = running;
  const { conversation } = view;
  const isAgain = question.isRepeat || (turn.earlierAttempts ?? 0) > 0;
  const stopped = new AbortController();
  control.stop = () => conversation.commands.stop && stopped.abort(new Error('the person wrote /stop'));
  const interruption = new Interruption(turn, () => isInterrupted(deps, view), deps.log);
  control.interrupt = () => interruption.end();
  control.stored = (changed) => interruption.onStored(changed);
  for (const changed of control.missed?.splice(0) ?? []) control.stored(changed);
  const stopping = AbortSignal.any([deps.stopping, stopped.signal, interruption.signal]);
  const onTask = () => interruption.forbid();
  // What is spoken is known when the answer is complete.
  const stream = isVoiceReply(conversation.reply.voice, turn.message)
    ? undefined
    : await openStream({ ...deps, stopping }, claim, turn, { conversation, isAgain, quote });
  let isUnreachable = false;
  const onFailure = (error: Wa2aiError) => {
    isUnreachable = error instanceof AgentUnavailableError && error.isAway;
  };
  running.view = {
    ...view,
    hasSentParts: () => stream?.hasSentParts ?? false,
    isUnreachable: () => isUnreachable,
    onPromise: () => running.promise(),
  };
  try {
    const offers = offersOf(deps, turn);
    const { onExchange } = running;
    const sayInChat = sayingIn(view.language, conversation.texts);
    const on = { onTask, onText: stream?.onText, onExchange, onFailure };
    const asking = { ...deps, ...offers, ...on, stopping, sayInChat };
    const ask = () => askWithFallback(asking, route, turn, isAgain);
    return { kind: 'asked', answer: await duringAll(deps.policies, running, ask), stream };
  } catch (error) {
    if (deps.stopping.aborted) throw error;
    if (stopped.signal.aborted) return { kind: 'stopped' };
    if (interruption.signal.aborted) return { isInterrupted: true };
    throw error;
  } finally {
    await stream?.end();
    control.stop = undefined;
    control.interrupt = undefined;
    control.stored = undefined;
  }
}

interface DecideTurnDeps extends TranscribeDeps {
  /** In the order of their evaluation. */
  policies: readonly ChatPolicy[];
}

/** What policies and agents see of a turn. */
export function viewOf(turn: PendingTurn, route: Route, conversation: ChatSettings, nowMs: number): TurnView {
  const { message, chatState } = turn;
  const language = languageOf(message.text, phoneOf(message), chatState?.language);
  return { turn, route, conversation, language, nowMs };
}

/**
 * Evaluates the policies; then a voice message becomes text, unless the choice of the route needed its words, and the policies
 * are evaluated again if the words could change that they end the turn.
 * @param isTranscribed it was transcribed, or could not be
 * @returns how a policy ends the turn or lets it wait; undefined: the agent is asked
 * @throws {StorageUnavailableError}
 */
async function decideTurn(
  deps: DecideTurnDeps,
  route: Route,
  running: RunningTurn,
  isTranscribed: boolean,
): Promise<Exclude<Decision, { kind: 'continue' }> | undefined> {
  const stop = await decide(deps, running);
  if (isTranscribed || stop?.kind === 'wait') return stop;
  const { turn, conversation, nowMs } = running.view;
  if (stop && !mayBeAddressed(stop, conversation)) return stop;
  const { turn: transcribed, step } = await transcribeVoice(deps, turn, route.config.media?.transcribe);
  if (step) running.steps.push(step);
  if (transcribed === turn) return stop;
  running.view = viewOf(transcribed, route, conversation, nowMs);
  return stop && decide(deps, running);
}

/** Whether the words of a voice message could change that it is not addressed to the account. */
function mayBeAddressed({ reason }: { reason: string }, { group }: ChatSettings): boolean {
  return reason === NOT_ADDRESSED && group.patterns.length > 0;
}

/** What the offers need. */
interface OfferDeps {
  media: MediaSource;
  history: Pick<ChatHistory, 'pastTurns'>;
  replyTokens: Pick<ReplyTokens, 'issue'>;
  /** Sends a text to a chat outside of a turn; once for each key. Absent: agents cannot. */
  sendNotice?(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
  stopping: AbortSignal;
}

/** What an agent's client may ask for besides the message; nothing is read before. */
function offersOf(
  { media, history, replyTokens, sendNotice, stopping }: OfferDeps,
  turn: PendingTurn,
): Pick<AskWithFallbackDeps, 'loadMedia' | 'mediaUrl' | 'loadHistory' | 'replyToken' | 'notify'> {
  return {
    ...(turn.message.media && {
      loadMedia: once(() => media.load(turn, stopping)),
      mediaUrl: once(() => media.urlOf(turn)),
    }),
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

/**
 * The messages since the last answer that the agent did not get, and those that the owner wrote by hand, oldest first; then a
 * line about a view-once file of this message. Nothing is read where none can be.
 * @throws {StorageUnavailableError}
 */
export async function loadContext(
  history: Pick<ChatHistory, 'unanswered'>,
  { chatId, messageId, message, chatState }: PendingTurn,
  { group, takeover }: Pick<ChatSettings, 'group' | 'takeover'>,
): Promise<ContextMessage[]> {
  const isGated = message.isGroup === true && group.answer === 'mention' && group.contextMessages > 0;
  const isAfterPause = hasPauseContext(chatState) && takeover.contextMessages > 0;
  const { viewOnce, from, pushName } = message;
  const file = viewOnce ? [{ sender: from, pushName, kind: `${viewOnce}, view once`, text: '' }] : [];
  const reasons = [...(isGated ? CONTEXT_REASONS : []), ...(isAfterPause ? PAUSE_CONTEXT_REASONS : [])];
  const limit = Math.max(isGated ? group.contextMessages : 0, isAfterPause ? takeover.contextMessages : 0);
  const found = limit > 0 ? await history.unanswered(chatId, messageId, reasons, limit) : [];
  return [...found.reverse(), ...file].map(({ sender, isOwner, pushName, kind, text }: ContextLine) => ({
    by: isOwner ? 'owner' : 'person',
    name: isOwner ? OWNER_NAME : nameOfPerson(pushName, sender, message.isGroup === true),
    text: text || `[${kind}]`,
  }));
}

interface ContextLine {
  sender: string;
  isOwner?: boolean;
  pushName?: string;
  kind: string;
  text: string;
}

/**
 * The message as the agent of the route gets it: without words, a location, a contact and the like has its description as
 * the text. Words of a person stay as written.
 */
export function describedMessage(
  agents: AgentClients,
  route: Route,
  message: IncomingMessage,
): IncomingMessage {
  const { text, card } = message;
  if (text !== '' || !card) return message;
  // Of a damaged route, the attempt reports what is wrong.
  const readsCards = route.damage !== undefined || (agents.clientFor(route).readsDescriptions?.() ?? true);
  return readsCards ? { ...message, text: describeCard(card) } : message;
}

/**
 * The last turns of the session before this one, oldest first: as many of the newest as fit the limits.
 * @throws {StorageUnavailableError}
 */
export async function loadHistory(
  history: Pick<ChatHistory, 'pastTurns'>,
  { chatId, messageId, message, sender }: Pick<PendingTurn, 'chatId' | 'messageId' | 'message' | 'sender'>,
  { turns, maxChars }: HistoryLimits,
): Promise<PastTurn[]> {
  const { startMs, chatIds } = message.session ?? {};
  const newestFirst = await history.pastTurns(
    chatId,
    messageId,
    turns,
    startMs,
    chatIds && { sender, chatIds },
  );
  let chars = 0;
  const tooLong = newestFirst.findIndex(({ text, replies }) => {
    chars += replies.reduce((sum, reply) => sum + reply.text.length, text.length);
    return chars > maxChars;
  });
  return newestFirst.slice(0, tooLong < 0 ? undefined : tooLong).reverse();
}

/** Evaluates the policies until one ends the turn or lets it wait; their steps are added to the trace. */
async function decide(
  { policies, log }: { policies: readonly ChatPolicy[]; log: Logger },
  running: RunningTurn,
): Promise<Exclude<Decision, { kind: 'continue' }> | undefined> {
  for (const policy of policies) {
    const decision = await policy.before?.(running.view, log);
    if (!decision) continue;
    if (decision.kind === 'wait') return decision;
    if (decision.step) running.steps.push(decision.step);
    running.patch(decision.patch);
    running.setLoop(decision.loop);
    if (decision.turn) running.view = { ...running.view, turn: decision.turn };
    if (decision.kind === 'end') return decision;
  }
  for (const policy of policies) policy.started?.(running.view);
  return undefined;
}

/** Whether what was stored since belongs to the question that the agent works on. */
async function isInterrupted(
  { policies }: { policies: readonly ChatPolicy[] },
  view: TurnView,
): Promise<boolean> {
  for (const policy of policies) if (await policy.interrupts?.(view)) return true;
  return false;
}

/** Runs `work` inside all policies that have something to do during it, the first one outermost. */
function duringAll<T extends WorkEnd>(
  [policy, ...rest]: readonly ChatPolicy[],
  running: RunningTurn,
  work: () => Promise<T>,
): Promise<T> {
  if (!policy) return work();
  const inner = () => duringAll(rest, running, work);
  if (!policy.during) return inner();
  return policy.during({ ...running.view, state: running.state }, inner, (change) => running.patch(change));
}
