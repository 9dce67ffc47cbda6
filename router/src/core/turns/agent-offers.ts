import type { ChatHistory } from '../ports/chat-history.ts';
import type { MediaSource } from '../ports/media.ts';
import type { ReplyTokens } from '../ports/reply-tokens.ts';
import type { AskRouteDeps } from './ask-route.ts';
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
): Pick<AskRouteDeps, 'loadMedia' | 'mediaUrl' | 'loadHistory' | 'replyToken' | 'notify'> {
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
