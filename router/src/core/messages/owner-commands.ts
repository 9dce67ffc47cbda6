import type { ChatId } from '../chat-id.ts';
import { chatSettingsOf } from '../policies/settings.ts';
import { languageOf, textOf } from '../policies/texts.ts';
import type { ChatCheck, ChatRow, ChatStore } from '../ports/chat-store.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { Drafts } from '../ports/pending-answers.ts';
import type { RouteDeps } from '../routing/route-message.ts';
import type { ChatWorkers } from '../turns/chat-workers.ts';
import type { QueuedReply } from '../turns/turn.ts';
import { replyToOf } from './chat-identity.ts';
import type { InboundMessage } from './inbound-message.ts';

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

/** A command that was copied from a text in Arabic is isolated (`inline`). */
const OWNER_COMMAND =
  /^[\s\p{Bidi_Control}]*#(approve|refuse|send|drop|edit)\s+(\d{1,18})\p{Bidi_Control}*(?:\s+(\S[\s\S]*))?$/iu;

/** `#approve 17`, `#refuse 17`, `#send 17`, `#edit 17 other words`, `#drop 17`; undefined for any other text. */
export function ownerCommandIn(text: string): OwnerCommand | undefined {
  const found = OWNER_COMMAND.exec(text.trimEnd());
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
  const address = addressOf({
    ...draft,
    id: draft.chatId,
    name: draft.groupName ?? draft.pushName,
    isLocked,
  });
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

interface DecideAccessDeps {
  chatStore: Pick<ChatStore, 'decideAccess'>;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve'>;
}

/**
 * Stores the owner's decision about a chat; after an approval its waiting messages are answered, in their order.
 * @returns undefined: there is no such chat
 * @throws {StorageUnavailableError} nothing was changed; and what `check` throws
 */
export async function decideAccess(
  { chatStore, workers }: DecideAccessDeps,
  id: ChatId,
  access: 'approved' | 'refused',
  check?: ChatCheck,
): Promise<ChatRow | undefined> {
  const decided = await chatStore.decideAccess(id, access, workers.nodeForNextChat(), check);
  if (decided?.worker) workers.serve(decided.worker, !decided.isNewWorker);
  return decided?.chat;
}

interface ResumeChatDeps {
  chatStore: Pick<ChatStore, 'resume'>;
  workers: Pick<ChatWorkers, 'nodeForNextChat' | 'serve'>;
}

/**
 * Ends the pause of a chat.
 * @param answerMissed messages that got no answer because of a pause are answered now, in their order
 * @returns undefined: there is no such chat
 * @throws {StorageUnavailableError} nothing was changed; and what `check` throws
 */
export async function resumeChat(
  { chatStore, workers }: ResumeChatDeps,
  id: ChatId,
  answerMissed: boolean,
  check?: ChatCheck,
): Promise<ChatRow | undefined> {
  const missed = answerMissed ? { node: workers.nodeForNextChat() } : undefined;
  const resumed = await chatStore.resume(id, missed, check);
  if (resumed?.worker && answerMissed) workers.serve(resumed.worker, !resumed.isNewWorker);
  return resumed?.chat;
}
