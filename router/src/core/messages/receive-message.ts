import { chatHash, jidHash } from '../chat-id.ts';
import type { Logger } from '../logger.ts';
import type { Environment } from '../models.ts';
import { ownerEffectOf } from '../policies/access.ts';
import { commandIn } from '../policies/session.ts';
import { chatSettingsOf } from '../policies/settings.ts';
import { languageOf, textOf } from '../policies/texts.ts';
import type { ChatRow, ChatStore } from '../ports/chat-store.ts';
import type { Inbox, Stored } from '../ports/inbox.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { Drafts } from '../ports/pending-answers.ts';
import type { RouteStore } from '../ports/route-store.ts';
import { policyOfChat, type RouteDeps } from '../routing/route-message.ts';
import { messageToRoute } from '../routing/when.ts';
import type { ChatWorkers } from '../turns/chat-workers.ts';
import type { QueuedReply } from '../turns/turn.ts';
import { channelIdsOf, replyToOf } from './chat-identity.ts';
import { type DecideAccessDeps, decideAccess } from './decide-access.ts';
import type { InboundMessage } from './inbound-message.ts';

export interface ReceiveDeps {
  inbox: Pick<Inbox, 'add'>;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve' | 'stopTurn'>;
  /** Called once for each message that was stored, for metrics. */
  observeReceived?(accountId: string): void;
  log: Logger;
}

/**
 * Provider → inbox → chat worker: stores a message and, in the same transaction, claims its chat when no worker has it;
 * then starts its turn. Idempotent: a message that is stored already changes nothing.
 * @throws {StorageUnavailableError} nothing was stored; call again
 */
export async function receiveMessage(deps: ReceiveDeps, message: InboundMessage): Promise<void> {
  beginTurn(deps, message, await deps.inbox.add(message, deps.workers.nodeForNextChat()));
}

/** Starts the worker of the chat of a stored message unless it runs, which is not awaited. */
export function beginTurn(
  { workers, observeReceived, log }: Omit<ReceiveDeps, 'inbox'>,
  message: InboundMessage,
  { messageId, chatId, outcome, worker, isNewWorker, turn, changed }: Stored,
): void {
  const { accountId, waMessageId, ignoredReason } = message;
  const hashes = { chat: chatHash(chatId), jidHash: jidHash(accountId, replyToOf(message)) };
  const isNew = outcome === 'stored';
  log.info(
    { messageId, waMessageId, ...hashes, outcome, ...(isNew && { ignoredReason }) },
    'message received',
  );
  if (isNew) observeReceived?.(accountId);
  if (!worker) return;
  const isStop = ignoredReason === undefined && commandIn(message.text) === 'stop';
  if (isStop && !isNewWorker && (message.chat.kind === 'person' || message.toUs)) workers.stopTurn(worker);
  workers.serve(worker, !isNewWorker, { turn, changed });
}

/**
 * Applies the rule of takeovers: what the owner writes by hand in a chat that has a route pauses the chat (`takeover`), and
 * `#pause` and `#resume` are commands. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or settings cannot be read
 */
export async function applyOwnerRule(deps: RouteDeps, message: InboundMessage): Promise<InboundMessage> {
  if (!message.isFromOwner) return message;
  const { text } = message;
  const { reason, settings } = await policyOfChat(deps, messageToRoute(message));
  // Nobody but the owner answers here.
  if (reason === 'no-route' || reason === 'disabled') return message;
  const ownerEffect = ownerEffectOf(text, settings);
  if (!ownerEffect) return message;
  const ignoredReason = ownerEffect.kind === 'takeover' ? 'owner-message' : message.ignoredReason;
  return { ...message, ownerEffect, ignoredReason };
}

export interface SelfChatDeps {
  routes: Pick<RouteStore, 'candidates'>;
  outbox: Pick<Outbox, 'findByWaId'>;
  environment: Environment;
}

/**
 * Applies the rule of the self-chat ("message yourself"): a message in it counts as a person's when an enabled route
 * names the chat by its channelId. The wildcard does not name it, and wa2ai's own replies never count, so a reply is
 * never answered. Otherwise it is ignored as `own-message`. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or replies cannot be read
 */
export async function applySelfChatRule(
  deps: SelfChatDeps,
  message: InboundMessage,
): Promise<InboundMessage> {
  if (!message.isSelfChat) return message;
  const isAnswered = (await isRouted(deps, message)) && !(await isOwnReply(deps, message));
  return isAnswered ? message : { ...message, ignoredReason: 'own-message' };
}

async function isRouted({ routes, environment }: SelfChatDeps, message: InboundMessage): Promise<boolean> {
  const { accountId, chat } = message;
  if (chat.kind === 'group') return false;
  const channelIds = channelIdsOf(chat);
  const candidates = await routes.candidates({ accountId, environment, channelIds });
  return candidates.some(({ enabled, channelId }) => enabled && channelIds.includes(channelId));
}

async function isOwnReply({ outbox }: SelfChatDeps, message: InboundMessage): Promise<boolean> {
  return (await outbox.findByWaId(message.accountId, message.waMessageId)) !== undefined;
}

/**
 * Applies `edits: ignore`: an edit is stored and never answered (`edit-ignored`), and a deletion ends no message. The
 * setting is that of the route for the new text; a deletion has none. Other messages are returned as they are.
 * @throws {StorageUnavailableError} routes or settings cannot be read
 */
export async function applyEditRule(deps: RouteDeps, message: InboundMessage): Promise<InboundMessage> {
  const { editOf, deletes, ignoredReason } = message;
  const isEdit = editOf !== undefined && ignoredReason === undefined;
  if (!isEdit && deletes === undefined) return message;
  const { settings } = await policyOfChat(deps, messageToRoute(message));
  if (settings.edits === 'follow') return message;
  if (isEdit) return { ...message, ignoredReason: 'edit-ignored' };
  const { deletes: _, ...deletion } = message;
  return deletion;
}

export interface OwnerCommandDeps extends DecideAccessDeps, Pick<RouteDeps, 'conversation'> {
  chatStore: Pick<ChatStore, 'decideAccess' | 'get'>;
  drafts: Pick<Drafts, 'get' | 'approve' | 'drop'>;
  outbox: Pick<Outbox, 'findByWaId'>;
  /** Starts the delivery of stored replies. */
  deliverReplies(replies: readonly QueuedReply[]): void;
  /** Sends a text to a chat; once for each key. */
  sendNotice(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
}

/** A command of the owner in the account's "message yourself" chat; `text` of a draft replaces the agent's words. */
type OwnerCommand =
  | { kind: 'access'; access: 'approved' | 'refused'; chatId: string }
  | { kind: 'draft'; decision: 'send' | 'drop'; messageId: string; text?: string };

/** `#approve 17`, `#refuse 17`, `#send 17`, `#edit 17 other words`, `#drop 17`; undefined for any other text. */
export function ownerCommandIn(text: string): OwnerCommand | undefined {
  const found = /^\s*#(approve|refuse|send|drop|edit)\s+(\d{1,18})(?:\s+(\S[\s\S]*))?$/i.exec(text.trimEnd());
  if (!found?.[1]) return undefined;
  const [name, id, words] = [found[1].toLowerCase(), String(Number(found[2])), found[3]];
  if ((name === 'edit') !== (words !== undefined)) return undefined;
  if (name === 'approve') return { kind: 'access', access: 'approved', chatId: id };
  if (name === 'refuse') return { kind: 'access', access: 'refused', chatId: id };
  if (name === 'drop') return { kind: 'draft', decision: 'drop', messageId: id };
  return { kind: 'draft', decision: 'send', messageId: id, ...(words !== undefined && { text: words }) };
}

/**
 * Does what the owner writes in the "message yourself" chat, and answers there. Done again when the message arrives again, which
 * changes nothing.
 * @returns the message, never answered when it was a command
 * @throws {StorageUnavailableError} call again
 */
export async function runOwnerCommand(
  deps: OwnerCommandDeps,
  message: InboundMessage,
): Promise<InboundMessage> {
  if (!message.isSelfChat || message.ignoredReason !== undefined) return message;
  const command = ownerCommandIn(message.text);
  if (!command) return message;
  const { accountId, waMessageId } = message;
  if (await deps.outbox.findByWaId(accountId, waMessageId)) return message;
  const run =
    command.kind === 'access' ? runAccess(deps, accountId, command) : runDraft(deps, accountId, command);
  const [name, values] = await run;
  const { texts } = chatSettingsOf(undefined, await deps.conversation());
  const text = textOf(name, languageOf('', message.sender.phone), texts, values);
  const idempotencyKey = `owner-command-${waMessageId}`;
  await deps.sendNotice({ accountId, to: replyToOf(message), text, idempotencyKey });
  return { ...message, ignoredReason: 'own-message' };
}

/** A text for the owner and its values. */
type Said = [Parameters<typeof textOf>[0], Record<string, string>];

async function runAccess(
  deps: OwnerCommandDeps,
  accountId: string,
  { access, chatId: id }: Extract<OwnerCommand, { kind: 'access' }>,
): Promise<Said> {
  const known = await deps.chatStore.get(id);
  const chat = known?.accountId === accountId ? await decideAccess(deps, id, access) : undefined;
  if (!chat) return ['ownerUnknown', { id }];
  return [access === 'approved' ? 'ownerApproved' : 'ownerRefused', { address: addressOf(chat) }];
}

async function runDraft(
  { chatStore, drafts, deliverReplies }: OwnerCommandDeps,
  accountId: string,
  { decision, messageId: id, text }: Extract<OwnerCommand, { kind: 'draft' }>,
): Promise<Said> {
  const draft = await drafts.get(id);
  if (draft?.accountId !== accountId) return ['ownerNoDraft', { id }];
  const isLocked = (await chatStore.get(draft.chatId))?.isLocked;
  const address = addressOf({ ...draft, id: draft.chatId, name: draft.pushName, isLocked });
  if (decision === 'drop')
    return [(await drafts.drop(id)) ? 'ownerDropped' : 'ownerNoDraft', { id, address }];
  const replies = await drafts.approve(id, text);
  if (!replies) return ['ownerNoDraft', { id }];
  deliverReplies(replies);
  return ['ownerSent', { id, address }];
}

/** What the owner reads about a chat; a locked one is not named. */
function addressOf({
  id,
  name,
  channelId,
  isLocked,
}: Pick<ChatRow, 'id' | 'name' | 'channelId' | 'isLocked'>): string {
  return isLocked ? `chat ${id}` : (name ?? channelId);
}
