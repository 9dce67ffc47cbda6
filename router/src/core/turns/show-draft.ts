import { fnv1a } from '../chat-hash.ts';
import { phoneJid } from '../chat-id.ts';
import { languageOf, textOf } from '../policies/texts.ts';
import type { AccountStore } from '../ports/account-store.ts';
import type { ChatStore } from '../ports/chat-store.ts';
import { type AskOwnerDeps, aboutMessage, HIDDEN } from './ask-owner.ts';
import type { NewReply, PendingTurn } from './turn.ts';

export interface ShowDraftDeps extends Pick<AskOwnerDeps, 'sendNotice'> {
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
  turn: PendingTurn,
  replies: readonly NewReply[],
): Promise<void> {
  if (!sendNotice || replies.length === 0) return;
  const { messageId: id, accountId, chatId } = turn;
  const { phone } = await accountStore.load(accountId);
  if (phone === undefined) return;
  const isLocked = (await chatStore.get(chatId))?.isLocked;
  const parts = replies.map(({ text, media }) =>
    [media && `[${media.kind}]`, text].filter(Boolean).join(' '),
  );
  const whole = parts.join('\n\n');
  const draft = whole.length > MAX_DRAFT_CHARS ? `${whole.slice(0, MAX_DRAFT_CHARS)}…` : whole;
  const about = { ...aboutMessage(turn, isLocked), draft: isLocked ? HIDDEN : draft, id };
  await sendNotice({
    accountId,
    to: phoneJid(phone),
    text: textOf('ownerDraft', languageOf('', phone), about),
    idempotencyKey: `draft-${id}-${fnv1a(whole)}`,
  });
}
