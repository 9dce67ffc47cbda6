import type { ChatId } from '../ids.ts';
import type { Clock } from '../ports/clock.ts';
import type { MessageLog, ReceivedMessage } from '../ports/message-log.ts';
import { withLimit } from '../time-limit.ts';
import type { MessageWatch } from './message-watch.ts';

/** Messages that are read at once, and returned at most. */
const PAGE = 100;

export interface WaitForMessageDeps {
  messageLog: Pick<MessageLog, 'messages' | 'newestId'>;
  watch: Pick<MessageWatch, 'changed'>;
  clock: Clock;
}

/** What came, oldest first, and where the next wait begins. Without messages: the time was over. */
export interface AwaitedMessages {
  messages: ReceivedMessage[];
  after: string;
}

/**
 * Waits for the next message that somebody else than the account's owner writes in a chat. Ids of one chat are stored in
 * their order, so that waits which continue with `after` get every message once.
 * @param query.waitMs 0: does not wait
 * @param query.after id of a message received or sent; default: the newest one now
 * @throws the reason of the signal
 * @throws {StorageUnavailableError}
 */
export async function waitForMessage(
  deps: WaitForMessageDeps,
  query: { chatId: ChatId; after?: string; waitMs: number },
  signal: AbortSignal,
): Promise<AwaitedMessages> {
  const { messageLog, watch, clock } = deps;
  let after = query.after ?? (await messageLog.newestId()) ?? '0';
  return withLimit(clock, query.waitMs, signal, async (limited) => {
    for (;;) {
      const newest = await messageLog.newestId();
      const found = await oldestAfter(messageLog, query.chatId, after);
      after = found.at(-1)?.id ?? after;
      const messages = found.filter(isFromPerson);
      if (messages.length > 0) return { messages, after };
      if (found.length === PAGE) continue;
      if (query.waitMs === 0) return { messages, after };
      try {
        await watch.changed(newest, limited);
      } catch (error) {
        signal.throwIfAborted();
        if (limited.aborted) return { messages: [], after };
        throw error;
      }
    }
  });
}

/** The first messages of a chat after this one, oldest first. */
async function oldestAfter(
  messageLog: Pick<MessageLog, 'messages'>,
  chatId: ChatId,
  after: string,
): Promise<ReceivedMessage[]> {
  let oldest: ReceivedMessage[] = [];
  for (;;) {
    const before = oldest.at(-1)?.id;
    const page = await messageLog.messages({ chatId, after, before, limit: PAGE });
    // Newest first: the last page has the oldest ones.
    if (page.length > 0) oldest = [...oldest, ...page].slice(-PAGE);
    if (page.length < PAGE) return oldest.reverse();
  }
}

/** What has no content for others is stored without text. */
function isFromPerson({ state, reason, text, media, kind }: ReceivedMessage): boolean {
  if (reason === 'owner-message') return false;
  return state !== 'ignored' || text !== '' || media !== undefined || kind === 'undecryptable';
}
