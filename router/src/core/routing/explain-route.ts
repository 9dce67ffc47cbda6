import {
  ANY_CHANNEL,
  canonicalRouteChannelId,
  contractSessionId,
  contractUser,
  jidOfChannelId,
  parseJid,
  writtenForms,
} from '../chat-id.ts';
import type { Clock } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { ToUs } from '../messages/inbound-message.ts';
import type { Environment, IncomingMessage, MediaInfo, MessageKind, Route } from '../models.ts';
import { type Said, saidOf, say } from '../phrases.ts';
import type { ConversationSettings } from '../policies/conversation-fields.ts';
import type { ChatPolicy } from '../policies/policy.ts';
import { chatSettingsOf } from '../policies/settings.ts';
import { languageOf, phoneOf } from '../policies/texts.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import type { PendingTurn } from '../turns/turn.ts';
import {
  choiceOfNamed,
  chooseRoute,
  evaluateInOrder,
  type NoRouteReason,
  type RouteDeps,
  routeMessage,
  type TraceEntry,
} from './route-message.ts';
import type { MessageToRoute, StoredMessageToRoute } from './when.ts';

/** A hypothetical message. Addresses are written as an admin writes a channelId; one of the two is required. */
export interface ExplainInput {
  accountId: string;
  /** The chat; default: the 1:1 chat with `from`. */
  channelId?: string;
  /** The person who writes; default in a 1:1 chat: that person. */
  from?: string;
  text: string;
  /** The file of the message. */
  media?: MediaInfo;
  /** What it is without a file; default: text. */
  kind?: MessageKind;
  /** How it is addressed to the account. */
  toUs?: ToUs;
  /** When it is received; default: now. */
  at?: Date;
  /** Of the chat; default: what is stored. */
  tags?: string[];
  /** No message of the chat was answered before; default: what is stored. */
  isFirstContact?: boolean;
  /** Default: the environment of the service. */
  environment?: Environment;
}

/** The decision about such a message, rule by rule. Its sentence says which agent answers, or why none does. */
interface RouteExplanation extends Said {
  decision: 'route' | 'none';
  /** Whether an agent would be asked: a route takes the message, and no policy ends its turn. */
  outcome: 'answer' | 'no-answer';
  /** `agentEndpoint` is absent when wa2ai runs the agent. */
  route?: { id: string; name?: string; channelId: string; agentEndpoint?: string };
  reason?: NoRouteReason;
  identity: {
    accountId: string;
    environment: Environment;
    /** Canonical addresses of the chat, by any of which a rule may name it. */
    channelIds: string[];
    isGroup: boolean;
    /** The person's JID as an agent sees it; absent in a group when `from` was not given. */
    from?: string;
  };
  /** Session and user of the agent contract; absent when the person is not known. */
  sessionId?: string;
  userId?: string;
  /** The request that the agent would get, if its kind can preview it; or why it cannot be previewed. */
  call?: Record<string, unknown>;
  trace: TraceEntry[];
  /** What the policies of the conversation decide about it, in order; absent when no route takes it. */
  policies?: PolicyLine[];
}

export type ExplainResult =
  | { kind: 'explanation'; explanation: RouteExplanation }
  | { kind: 'invalid'; field: 'channelId' | 'from'; mistake: Said };

export interface ExplainDeps extends RouteDeps {
  clock: Pick<Clock, 'now'>;
  /** The other addresses of the same person (number and LID), where known; canonical channelIds. */
  aliasesOf?(accountId: string, channelId: string): Promise<string[]>;
  /** What the policies decide about the message; absent: they are not explained. */
  explainPolicies?(route: Route, message: MessageToDecide): Promise<PolicyLine[]>;
  /** The request that the route's agent would get for the message; undefined when its kind cannot preview it. */
  previewCall?(route: Route, message: MessageToPreview): Promise<Record<string, unknown> | undefined>;
}

/** The message as far as it is known; `from` is `` in a group whose writer was not named. */
export type MessageToPreview = Pick<
  IncomingMessage,
  'accountId' | 'channelId' | 'from' | 'isGroup' | 'text' | 'media'
>;

/**
 * Decides about a message as `routeMessage` would, and says why: every rule for this chat or for all chats, in both
 * environments, with those after the winner marked `not-reached`. Nothing is stored or sent.
 * @throws {StorageUnavailableError} the table could not be read
 */
export async function explainRoute(deps: ExplainDeps, input: ExplainInput): Promise<ExplainResult> {
  const from = addressOf(input.from);
  if (from === 'invalid' || from?.endsWith('@g.us')) return invalid('from');
  const chat = addressOf(input.channelId) ?? from;
  if (!chat || chat === 'invalid') return invalid('channelId');

  const { accountId } = input;
  const environment = input.environment ?? deps.environment;
  const aliases = (await deps.aliasesOf?.(accountId, chat)) ?? [];
  const query = { accountId, environment, channelIds: writtenForms([...new Set([chat, ...aliases])]) };
  const [here, there] = await Promise.all([
    deps.routes.candidates(query),
    deps.routes.candidates({ ...query, environment: environment === 'lab' ? 'prod' : 'lab' }),
  ]);
  const candidates = [...here, ...there];
  const { text, media, kind, toUs, tags, isFirstContact } = input;
  const { matches, conditions } = await evaluateInOrder(deps, candidates, query, {
    ...query,
    message: { text, ...(kind && { kind }), ...(media && { media }) },
    ...(toUs && { toUs }),
    receivedAtMs: input.at?.getTime() ?? deps.clock.now(),
    given: { ...(tags && { tags }), ...(isFirstContact !== undefined && { isFirstContact }) },
  });
  const named = await deps.namedRoute?.(query);
  const choice = named ? choiceOfNamed(named) : chooseRoute(candidates, query, matches, conditions);

  const isGroup = chat.endsWith('@g.us');
  const person = from ?? (isGroup ? undefined : chat);
  const common = {
    identity: { ...query, isGroup, ...(person && { from: jidOfChannelId(person) }) },
    ...(person && { sessionId: contractSessionId(person, chat), userId: contractUser(person) }),
    trace: choice.trace,
  };
  if (choice.kind === 'none') {
    const { reason } = choice;
    return {
      kind: 'explanation',
      explanation: { decision: 'none', outcome: 'no-answer', ...WHY_NONE[reason], reason, ...common },
    };
  }
  const { route } = choice;
  const message = {
    accountId,
    channelId: chat,
    from: common.identity.from ?? '',
    isGroup,
    text,
    ...(media && { media }),
  };
  const call = route.damage === undefined ? await deps.previewCall?.(route, message) : undefined;
  const { channelIds } = query;
  const policies = await deps.explainPolicies?.(route, {
    accountId,
    channelIds,
    message,
    ...(toUs && { toUs }),
  });
  const end = policies?.find(({ outcome }) => outcome === 'ends');
  const explanation: RouteExplanation = {
    decision: 'route',
    outcome: end || route.damage !== undefined ? 'no-answer' : 'answer',
    ...(end ? saidOf(end) : takenBy(route)),
    route: summary(route),
    ...(call && { call }),
    ...common,
    ...(policies && { policies }),
  };
  return { kind: 'explanation', explanation };
}

function addressOf(written: string | undefined): string | 'invalid' | undefined {
  if (written === undefined) return undefined;
  const channelId = canonicalRouteChannelId(written);
  return channelId === undefined || channelId === ANY_CHANNEL ? 'invalid' : channelId;
}

function invalid(field: 'channelId' | 'from'): ExplainResult {
  const mistake = say(field === 'from' ? 'field.address-of-person' : 'field.address-of-chat');
  return { kind: 'invalid', field, mistake };
}

function takenBy({ id, name, damage, agentEndpoint }: Route): Said {
  const route = name ? `"${name}"` : id;
  if (damage !== undefined) return say('route.damaged', { route, damage });
  return say('route.takes', { route, agent: agentEndpoint || say('route.own-agent') });
}

function summary({ id, name, channelId, agentEndpoint }: Route): RouteExplanation['route'] {
  return {
    id,
    ...(name !== undefined && { name }),
    channelId,
    ...(agentEndpoint !== '' && { agentEndpoint }),
  };
}

const WHY_NONE: Record<NoRouteReason, Said> = {
  'no-route': say('no-route.no-rule'),
  disabled: say('no-route.disabled'),
  'when-not-met': say('no-route.when-not-met'),
  'no-match': say('no-route.no-match'),
  'regex-timeout': say('no-route.regex-timeout'),
  'regex-invalid': say('no-route.regex-invalid'),
};

interface PreviewDeps extends Omit<RouteDeps, 'routes'> {
  clock: Pick<Clock, 'monotonicMs'>;
}

/** The route table as it is, and as it would be. */
export interface TablesToCompare {
  before: readonly Route[];
  after: readonly Route[];
}

/** The route that takes a message, or why none does. */
export type PreviewChoice = { routeId: string } | { reason: NoRouteReason };

/** What a changed table would do to messages. */
export interface RoutePreview {
  /** Number of messages that were evaluated with both tables: the first ones. */
  checked: number;
  /** Whether these are all; `false`: the time was over. */
  isComplete: boolean;
  /** Messages by their routes, the largest group first. */
  groups: Array<{ before: PreviewChoice; after: PreviewChoice; messages: number }>;
  /** Messages whose route, or whose reason for having none, would be another one; in the given order. */
  changed: Array<{ message: StoredMessageToRoute; before: PreviewChoice; after: PreviewChoice }>;
}

/**
 * Evaluates stored messages with two tables, as `routeMessage` does for a received one: with the tags that chats have now, and
 * at the time when the message was received. Stores and sends nothing.
 * @param limitMs no message is begun later than this
 * @throws {StorageUnavailableError} the settings or a chat could not be read
 */
export async function previewRoutes(
  deps: PreviewDeps,
  tables: TablesToCompare,
  messages: readonly StoredMessageToRoute[],
  limitMs: number,
): Promise<RoutePreview> {
  const untilMs = deps.clock.monotonicMs() + limitMs;
  const isOver = () => deps.clock.monotonicMs() > untilMs;
  const conversation = await deps.conversation();
  const common = { ...deps, conversation: async () => conversation };
  const [before, after] = [withTable(common, tables.before), withTable(common, tables.after)];
  const groups = new Map<string, RoutePreview['groups'][number]>();
  const preview: RoutePreview = { checked: 0, isComplete: true, groups: [], changed: [] };
  for (const message of messages) {
    const once = evaluatedOnce(common, isOver);
    const was = await choiceOf({ ...before, ...once }, message);
    const would = await choiceOf({ ...after, ...once }, message);
    if (isOver()) {
      preview.isComplete = false;
      break;
    }
    preview.checked += 1;
    const [from, to] = [JSON.stringify(was), JSON.stringify(would)];
    const group = groups.get(`${from} ${to}`) ?? { before: was, after: would, messages: 0 };
    group.messages += 1;
    groups.set(`${from} ${to}`, group);
    if (from !== to) preview.changed.push({ message, before: was, after: would });
  }
  preview.groups = [...groups.values()].sort((a, b) => b.messages - a.messages);
  return preview;
}

async function choiceOf(deps: RouteDeps, message: MessageToRoute): Promise<PreviewChoice> {
  const choice = await routeMessage(deps, message);
  return choice.kind === 'route' ? { routeId: choice.route.id } : { reason: choice.reason };
}

/** The same with these routes instead of the stored ones. */
function withTable(deps: PreviewDeps, table: readonly Route[]): RouteDeps {
  const { namedRoute } = deps;
  return {
    ...deps,
    routes: {
      candidates: async ({ accountId, environment, channelIds }) =>
        table.filter(
          (route) =>
            route.accountId === accountId &&
            route.environment === environment &&
            (route.channelId === ANY_CHANNEL || channelIds.includes(route.channelId)),
        ),
    },
    ...(namedRoute && {
      namedRoute: async (chat) => {
        const named = await namedRoute(chat);
        const route = table.find(({ id }) => id === named?.routeId);
        return named && { routeId: named.routeId, ...(route && { route }) };
      },
    }),
  };
}

/**
 * What both tables ask of one message is read once. When the time is over, patterns are not tested any more: the result is not
 * used then.
 */
function evaluatedOnce(
  { matcher, chatStore, languages }: Pick<PreviewDeps, 'matcher' | 'chatStore' | 'languages'>,
  isOver: () => boolean,
): Pick<RouteDeps, 'matcher' | 'chatStore' | 'languages'> {
  const known = new Map<string, Promise<unknown>>();
  const once = <T>(key: string, read: () => Promise<T>): Promise<T> => {
    const found = known.get(key) ?? read();
    known.set(key, found);
    return found as Promise<T>;
  };
  return {
    matcher: {
      test: async (pattern, text) =>
        isOver() ? 'timeout' : once(`pattern ${pattern}`, () => matcher.test(pattern, text)),
    },
    chatStore: { routeFacts: (...chat) => once('facts', () => chatStore.routeFacts(...chat)) },
    languages: { languageOf: async (text) => once('language', async () => languages.languageOf(text)) },
  };
}

/** What one policy decides about a message; `sentence` is ready to show to an admin. */
interface PolicyLine extends Said {
  policy: string;
  outcome: 'continues' | 'ends' | 'not-reached';
  /** The reason that the message would be stored with. */
  reason?: string;
}

interface ExplainPoliciesDeps {
  policies: readonly ChatPolicy[];
  /** The stored defaults of all routes. */
  conversation(): Promise<ConversationSettings>;
  chatStore: Pick<ChatStore, 'turnFacts' | 'get'>;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

/** A message that nobody wrote. */
interface MessageToDecide {
  accountId: string;
  channelIds: string[];
  message: Pick<IncomingMessage, 'channelId' | 'from' | 'isGroup' | 'text' | 'media'>;
  /** How it is addressed to the account. */
  toUs?: PendingTurn['toUs'];
}

/**
 * What the policies would decide about a message that this route takes, in the order of their evaluation, with what is stored of
 * the chat. Nothing is changed or sent.
 * @throws {StorageUnavailableError} the chat could not be read
 */
export async function explainPolicies(
  { policies, conversation, chatStore, clock, log }: ExplainPoliciesDeps,
  route: Route,
  { accountId, channelIds, message, toUs }: MessageToDecide,
): Promise<PolicyLine[]> {
  const nowMs = clock.now();
  const facts = await chatStore.turnFacts(accountId, channelIds);
  const sender = parseJid(message.from);
  const turn: PendingTurn = {
    messageId: '',
    chatId: '',
    accountId,
    message: { id: '', timestamp: new Date(nowMs), ...message },
    channelIds,
    replyTo: message.from,
    sender: sender?.kind === 'phone' ? sender.phone : sender?.kind === 'lid' ? sender.lid : '',
    receivedAtMs: nowMs,
    ...(toUs && { toUs }),
    ...facts,
  };
  const view = {
    turn,
    route,
    conversation: chatSettingsOf(route, await conversation()),
    language: languageOf(message.text, phoneOf(turn.message), turn.chatState?.language),
    nowMs,
  };
  const lines: PolicyLine[] = [];
  let isEnded = false;
  for (const { name, before } of policies) {
    if (!before) continue;
    if (isEnded) {
      const sentence = say('policy.not-reached');
      lines.push({ policy: name, outcome: 'not-reached', ...sentence });
      continue;
    }
    const decision = await before(view, log);
    isEnded = decision.kind === 'end';
    lines.push({
      policy: name,
      outcome: isEnded ? 'ends' : 'continues',
      ...(decision.kind === 'end' && { reason: decision.reason }),
      ...(decision.step ? saidOf(decision.step) : say('policy.passes')),
    });
    if (decision.kind === 'end' && decision.reason === 'chat-paused') {
      const until = (await chatStore.get(turn.chatId))?.pause?.until;
      const sentence = until ? say('chat.paused-until', { until: until.toISOString() }) : say('chat.paused');
      lines.push({ ...(lines.pop() as PolicyLine), ...sentence });
    }
  }
  return lines;
}
