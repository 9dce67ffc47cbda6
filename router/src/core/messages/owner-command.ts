import { languageOf, textOf } from '../policies/texts.ts';
import type { ChatRow, ChatStore } from '../ports/chat-store.ts';
import type { Drafts } from '../ports/drafts.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { QueuedReply } from '../turns/turn.ts';
import { replyToOf } from './chat-identity.ts';
import { type DecideAccessDeps, decideAccess } from './decide-access.ts';
import type { InboundMessage } from './inbound-message.ts';

export interface OwnerCommandDeps extends DecideAccessDeps {
  chatStore: Pick<ChatStore, 'decideAccess' | 'get'>;
  drafts: Pick<Drafts, 'get' | 'approve' | 'drop'>;
  outbox: Pick<Outbox, 'findByWaId'>;
  /** Starts the delivery of stored replies. */
  deliverReplies(replies: readonly QueuedReply[]): void;
  /** Sends a text to a chat; once for each key. */
  sendNotice(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
}

/** A command of the owner in the account's "message yourself" chat; `text` of a draft replaces the agent's words. */
export type OwnerCommand =
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
  const text = textOf(name, languageOf('', message.sender.phone), values);
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
