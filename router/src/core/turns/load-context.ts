import type { AgentClients } from '../agent-client.ts';
import { describeCard } from '../messages/message-card.ts';
import type { ContextMessage, IncomingMessage, Route } from '../models.ts';
import { CONTEXT_REASONS, hasPauseContext, PAUSE_CONTEXT_REASONS } from '../policies/access.ts';
import type { ChatSettings } from '../policies/settings.ts';
import type { MediaSource } from '../ports/media.ts';
import type { ChatHistory } from '../ports/message-log.ts';
import type { ReplyTokens } from '../ports/pending-answers.ts';
import { nameOfPerson, OWNER_NAME } from '../text.ts';
import type { AskWithFallbackDeps } from './ask-with-fallback.ts';
import { loadHistory } from './load-history.ts';
import type { PendingTurn } from './turn.ts';

/** What the offers need. */
export interface OfferDeps {
  media: MediaSource;
  history: Pick<ChatHistory, 'pastTurns'>;
  replyTokens: Pick<ReplyTokens, 'issue'>;
  /** Sends a text to a chat outside of a turn; once for each key. Absent: agents cannot. */
  sendNotice?(notice: { accountId: string; to: string; text: string; idempotencyKey: string }): Promise<void>;
  stopping: AbortSignal;
}

/** What an agent's client may ask for besides the message; nothing is read before. */
export function offersOf(
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
