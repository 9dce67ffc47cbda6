import { chatHash, fnv1a, phoneJid } from '../chat-id.ts';
import { AgentTaskError, MediaError, Wa2aiError } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { TurnReason } from '../messages/inbound-message.ts';
import type { AgentResponse, Route, Session } from '../models.ts';
import { errorOfSaid, say } from '../phrases.ts';
import { ACCESS_PENDING, hasPauseContext } from '../policies/access.ts';
import type { Decision, TurnView } from '../policies/policy.ts';
import type { ReplyShaping } from '../policies/reply.ts';
import { chooseSession, commandHelp, commandIn, personState, startSession } from '../policies/session.ts';
import { type ChatSettings, chatSettingsOf } from '../policies/settings.ts';
import { type Language, languageOf, textOf } from '../policies/texts.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { ChatRow, ChatStore } from '../ports/chat-store.ts';
import type { ReplyTokenState, ReplyTokens } from '../ports/pending-answers.ts';
import type { RouteStore } from '../ports/route-store.ts';
import type { AskWithFallbackDeps, RouteAnswer } from './ask-agent.ts';
import { addressOf, notice, noticeFor, type RunningTurn } from './running-turn.ts';
import { shapeAnswer } from './shape-answer.ts';
import type { ReplyStream } from './stream-reply.ts';
import type { NewReply, PendingTurn, QueuedReply, TakenTurn, TurnResult } from './turn.ts';

/** Reason of a turn that left a task running: what `RemoteTasks.unfollowed` looks for. */
export const TASK_STARTED = 'task-started';

export interface AnswerOfTurnDeps extends ReplyShaping, ShowDraftDeps {
  /** A new WhatsApp id for a reply. */
  mintId(): string;
  stopping: AbortSignal;
}

interface AnswerOptions {
  /** As the agent got it. */
  turn: PendingTurn;
  /** What the first message of the answer quotes. */
  quote?: Pick<NewReply, 'quote'> | undefined;
  /** Showed some of the answer. */
  stream?: ReplyStream | undefined;
}

/** The end of a turn whose agents were asked: the answer in the form of WhatsApp, or what the person reads instead. */
export async function answerOfTurn(
  deps: AnswerOfTurnDeps,
  running: RunningTurn,
  answer: RouteAnswer,
  { turn, quote, stream }: AnswerOptions,
): Promise<TakenTurn> {
  const { conversation } = running.view;
  const shown = (replies: NewReply[]) => stream?.replace(replies) ?? replies;
  const { routeId, attempts, agentMs } = answer;
  const ended = (end: Omit<TurnResult, 'trace'>) => running.ended({ routeId, attempts, agentMs, ...end });
  const detail = answer.kind === 'answer' ? answer.response.detail : answer.error.detail;
  running.steps.push(
    ...answer.steps,
    ...(stream?.steps ?? []),
    ...(detail ? [{ outcome: 'called', ...detail }] : []),
  );
  if (answer.kind === 'failed') {
    const { error, said } = answer;
    const text = textForPerson(error, conversation);
    const replies = text === undefined ? noticeFor(deps, running, 'failed') : notice(deps, turn, text);
    return ended({ state: 'dead', reason: error.code, ...errorOfSaid(said), replies: shown(replies) });
  }
  if (answer.kind === 'fallback-text') {
    const replies = shown(notice(deps, turn, answer.text));
    const error = errorOfSaid(answer.error.said);
    return ended({ state: 'answered', reason: 'fallback-text', ...error, replies });
  }
  if (hasPauseContext(running.state)) running.patch({ contextTakenMs: turn.receivedAtMs });
  const response = stream?.unsent(answer.response) ?? answer.response;
  const shaped = await shapeAnswer(deps, withHelp(response, running), {
    conversation,
    asked: turn.message,
    isOfTurn: true,
    mayBeCaption: !stream?.hasSentParts,
    // The owner reads an answer before it is sent, and the line of a task is not an answer.
    mayBeVoice: !stream?.hasSentParts && !turn.isApproving && !response.task,
    signal: deps.stopping,
  });
  running.steps.push(...shaped.steps);
  const said = shaped.replies.map((reply, index) => ({
    ...addressOf(deps, turn),
    ...reply,
    ...(index === 0 && !stream?.hasSentParts && quote),
  }));
  // The line of a task that goes on is not an answer, and replaces nothing.
  const replies = response.task ? said : shown(said);
  const draft = turn.isApproving && { isDraft: true as const };
  if (draft) await showDraft(deps, { ...running.view, turn }, replies);
  const answered = (reason?: TurnReason) =>
    ended({ ...draft, state: 'answered', ...(reason !== undefined && { reason }), replies });
  if (response.isLater) return answered('agent-later');
  if (response.task) return answered(TASK_STARTED);
  if (replies.length === 0 && shaped.isWithheld) {
    const instead = shown(noticeFor(deps, running, 'failed'));
    return ended({ state: 'answered', reason: 'reply-withheld', replies: instead });
  }
  if (replies.length === 0 && !stream?.hasSentParts) {
    // An agent may choose to say nothing, but not after the person read that the answer is on its way.
    const { language, conversation } = running.view;
    const text = textOf('noAnswer', language, conversation.texts);
    const instead = running.isPromised ? notice(deps, turn, text) : [];
    return ended({ state: 'answered', reason: 'agent-empty', replies: instead });
  }
  return answered(draft ? 'draft' : undefined);
}

/** What an error itself says to the person. Only the route's own template lets a text of the agent through. */
function textForPerson(error: Wa2aiError, { notices }: ChatSettings): string | undefined {
  if (error instanceof AgentTaskError) return error.forPerson;
  return error instanceof MediaError && typeof notices.failed !== 'string' ? error.forPerson : undefined;
}

interface ShowDraftDeps extends Pick<AskOwnerDeps, 'sendNotice'> {
  accountStore: Pick<AccountStore, 'load'>;
  chatStore: Pick<ChatStore, 'get'>;
}

/** The API shows the rest of a longer draft. */
const MAX_DRAFT_CHARS = 3_000;

/**
 * Shows the owner, in the account's "message yourself" chat, an answer that waits for approval: once for each text, also when a
 * crash interrupts it. Called before the draft is stored, so that no draft stays unseen.
 * @throws {StorageUnavailableError} the turn is repeated
 */
export async function showDraft(
  { accountStore, chatStore, sendNotice }: ShowDraftDeps,
  { turn, conversation: { texts } }: Pick<TurnView, 'turn' | 'conversation'>,
  replies: readonly NewReply[],
): Promise<void> {
  if (!sendNotice || replies.length === 0) return;
  const { messageId: id, accountId, chatId } = turn;
  const { phone } = await accountStore.load(accountId);
  if (phone === undefined) return;
  const chat = await chatStore.get(chatId);
  const parts = replies.map(({ text, media }) =>
    [media && `[${media.kind}]`, text].filter(Boolean).join(' '),
  );
  const whole = parts.join('\n\n');
  const draft = whole.length > MAX_DRAFT_CHARS ? `${whole.slice(0, MAX_DRAFT_CHARS)}…` : whole;
  const about = { ...aboutMessage(turn, chat), draft: chat?.isLocked ? HIDDEN : draft, id };
  await sendNotice({
    accountId,
    to: phoneJid(phone),
    text: textOf('ownerDraft', languageOf('', phone), texts, about),
    idempotencyKey: `draft-${id}-${fnv1a(whole)}`,
  });
}

/** The answer to a command that wa2ai answers itself; undefined for any other message. */
export async function answerCommand(
  deps: Pick<AskWithFallbackDeps, 'agents'> & SessionDeps & { mintId(): string },
  route: Route,
  running: RunningTurn,
): Promise<TurnResult | undefined> {
  const { turn, conversation, language } = running.view;
  const name = commandIn(turn.message.text);
  if (!name || !conversation.commands[name]) return undefined;
  if (await ownsCommand(deps, route, name)) return undefined;
  let text: string;
  if (name === 'new') {
    await sessionOfTurn(deps, running, true);
    text = textOf('new', language, conversation.texts);
  } else if (name === 'status') {
    const { startMs } = await sessionOfTurn(deps, running);
    text = statusText(turn.isApproving === true, startMs, conversation, language);
  } else if (name === 'stop') {
    text = textOf(running.state.isStopped ? 'stop' : 'stopNone', language, conversation.texts);
    if (running.state.isStopped) running.patch({ isStopped: false });
  } else text = commandHelp(conversation, language);
  const sentence = say('command.answered', { command: name });
  running.steps.push({ step: 'command', outcome: name, ...sentence });
  return running.ended({
    state: 'answered',
    reason: 'command',
    routeId: route.id,
    replies: notice(deps, turn, text),
  });
}

/** What works, and since when. When the first conversation of a person began is not stored. */
function statusText(
  isApproving: boolean,
  startMs: number,
  { session: { timeZone }, texts }: ChatSettings,
  language: Language,
): string {
  const status = textOf(isApproving ? 'statusApproving' : 'status', language, texts);
  if (startMs === 0) return status;
  const format = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone });
  return `${status} ${textOf('statusSince', language, texts, { since: format.format(startMs) })}`;
}

async function ownsCommand(
  { agents }: Pick<AskWithFallbackDeps, 'agents'>,
  route: Route,
  name: string,
): Promise<boolean> {
  if (route.damage !== undefined) return false;
  try {
    return (await agents.clientFor(route).ownsCommand?.(name, route.agentEndpoint)) ?? false;
  } catch (error) {
    if (error instanceof Wa2aiError) return false;
    throw error;
  }
}

/** The agent's own help, followed by that of wa2ai. */
function withHelp(
  response: AgentResponse,
  { view: { turn, conversation, language } }: RunningTurn,
): AgentResponse {
  if (commandIn(turn.message.text) !== 'help' || !conversation.commands.help || !response.response)
    return response;
  return {
    ...response,
    response: `${response.response}\n\n${commandHelp(conversation, language, 'helpAlso')}`,
  };
}

export interface SessionDeps {
  chatStore: Pick<ChatStore, 'usePersonSession' | 'startPersonSession'>;
}

/**
 * The session of a turn. A new one, also one that the settings ask for, is stored: with the chat when the turn ends, that of a
 * person in all chats together. A locked chat has a separate session.
 * @param isNew the person asked for a new one
 * @throws {StorageUnavailableError} the turn is repeated
 */
export async function sessionOfTurn(
  { chatStore }: SessionDeps,
  running: RunningTurn,
  isNew = false,
): Promise<Session> {
  const { turn, conversation, nowMs } = running.view;
  const choose = isNew ? startSession : chooseSession;
  const { accountId, sender, chatId, messageId } = turn;
  const { session: settings } = conversation;
  const isOfPerson = settings.scope === 'person';
  const found = isOfPerson ? await chatStore.usePersonSession(accountId, sender, chatId) : undefined;
  if (!found) {
    // What a person says in a locked chat must not appear in other chats.
    const own = isOfPerson ? { ...settings, scope: 'person-in-chat' as const } : settings;
    const { session, patch } = choose(turn, running.state, own, nowMs);
    running.patch(patch);
    return session;
  }
  const { chatIds, usedMs, ...used } = found;
  const person = { ...turn, repliedAtMs: usedMs };
  const { session, patch } = choose(person, personState(used), settings, nowMs);
  if (!patch) return { ...session, chatIds };
  const begun = await chatStore.startPersonSession(accountId, sender, messageId);
  const next = chooseSession({ ...turn, repliedAtMs: undefined }, personState(begun), settings, nowMs);
  return { ...next.session, chatIds };
}

export interface AskOwnerDeps {
  chatStore: Pick<ChatStore, 'askAccess' | 'get'>;
  /** Sends a text to a chat outside of a turn; once for each key. */
  sendNotice?(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
  log: Logger;
}

/** How a turn ends whose message waits for the owner; `approved`: the owner approved the chat meanwhile. */
type WaitsForOwner = { kind: 'approved' } | { kind: 'waits'; reason: TurnReason; say?: string };

/** The owner reads on a phone what the message is about. */
const MAX_TEXT_CHARS = 200;

/** In place of what a locked chat hides. */
const HIDDEN = '🔒';

/**
 * Asks the owner, in the account's "message yourself" chat, whether a chat gets answers: once, also when a crash interrupts it.
 * @param isRepeat a crash may have interrupted the question
 * @throws {StorageUnavailableError} the turn is repeated
 */
export async function askOwner(
  { chatStore, sendNotice, log }: AskOwnerDeps,
  view: TurnView,
  { asksOwner, say }: Extract<Decision, { kind: 'end' }>,
  isRepeat: boolean,
): Promise<WaitsForOwner> {
  const { turn } = view;
  if (!asksOwner && !isRepeat) return { kind: 'waits', reason: ACCESS_PENDING };
  const asked = await chatStore.askAccess(turn.chatId);
  if (asked?.access === 'approved') return { kind: 'approved' };
  if (asked?.access === 'refused') return { kind: 'waits', reason: 'access-refused' };
  const chat = chatHash(turn.chatId);
  if (asked?.access === 'over-limit') {
    log.warn({ chat }, 'owner not asked about a chat: too many questions in an hour');
    return { kind: 'waits', reason: 'access-over-limit' };
  }
  if (asked?.ownerPhone !== undefined && sendNotice) {
    await sendNotice({
      accountId: turn.accountId,
      to: phoneJid(asked.ownerPhone),
      text: questionTo(asked.ownerPhone, view, await chatStore.get(turn.chatId)),
      idempotencyKey: `access-${turn.chatId}-${asked.askedAtMs}`,
    });
    log.info({ chat }, 'owner asked about a chat');
  }
  return { kind: 'waits', reason: ACCESS_PENDING, ...(say !== undefined && { say }) };
}

function questionTo(ownerPhone: string, { turn, conversation }: TurnView, chat?: ChatRow): string {
  const which = turn.message.isGroup ? 'ownerAskGroup' : 'ownerAsk';
  const about = { ...aboutMessage(turn, chat), id: turn.chatId };
  return textOf(which, languageOf('', ownerPhone), conversation.texts, about);
}

/** What the owner reads about a message. The "message yourself" chat must not show what a locked chat does not show. */
function aboutMessage(
  {
    chatId,
    message: { pushName, text, kind = 'other', isGroup },
    channelIds: [channelId = ''],
  }: Pick<PendingTurn, 'chatId' | 'message' | 'channelIds'>,
  chat: Pick<ChatRow, 'name' | 'isLocked'> | undefined,
): { name: string; text: string; address: string } {
  if (chat?.isLocked) return { name: HIDDEN, text: HIDDEN, address: `chat ${chatId}` };
  const groupName = isGroup ? oneLine(chat?.name) : '';
  return {
    name: oneLine(pushName) || '?',
    text: text.replace(/\s+/g, ' ').slice(0, MAX_TEXT_CHARS) || `[${kind}]`,
    address: groupName || (channelId.includes('@') ? channelId : `+${channelId}`),
  };
}

function oneLine(name = ''): string {
  return name.replace(/\s+/g, ' ').trim();
}

interface AnswerLaterDeps extends ReplyShaping {
  tokens: Pick<ReplyTokens, 'redeem' | 'routeOf'>;
  routes: Pick<RouteStore, 'get'>;
  mintId(): string;
  deliver(reply: QueuedReply): void;
  log: Logger;
}

/** The end of `answerLater`; `outboxIds` are the stored replies, in the order in which they are sent. */
export type AnswerLaterResult =
  | { outcome: 'stored'; outboxIds: string[] }
  | { outcome: Exclude<ReplyTokenState, 'valid'> };

/**
 * Stores an agent's late answer to a message, once, and starts its delivery.
 * @throws {StorageUnavailableError} nothing was stored; safe to retry
 */
export async function answerLater(
  deps: AnswerLaterDeps,
  token: string,
  response: Pick<AgentResponse, 'response' | 'files' | 'fileLinks'>,
): Promise<AnswerLaterResult> {
  const routeId = await deps.tokens.routeOf(token);
  const route = routeId === undefined ? undefined : await deps.routes.get(routeId);
  const conversation = chatSettingsOf(route, await deps.conversation());
  const shaped = await shapeAnswer(deps, { success: true, ...response }, { conversation });
  const replies = shaped.replies.map((reply) => ({ ...reply, waMessageId: deps.mintId() }));
  const redeemed = await deps.tokens.redeem(token, replies);
  if (redeemed.outcome !== 'stored') return redeemed;
  const [first] = redeemed.replies;
  const chat = first && chatHash(first.chatId);
  deps.log.info({ messageId: first?.messageId, chat, replies: replies.length }, 'late answer stored');
  for (const reply of redeemed.replies) deps.deliver(reply);
  return { outcome: 'stored', outboxIds: redeemed.replies.map(({ outboxId }) => outboxId) };
}
