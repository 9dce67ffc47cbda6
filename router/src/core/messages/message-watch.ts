import type { ChatId } from '../chat-id.ts';
import { type Clock, withLimit } from '../clock.ts';
import type { Logger } from '../logger.ts';
import type { MessageLog, ReceivedMessage } from '../ports/message-log.ts';

/** How often the newest message is read while somebody waits. */
const LOOK_EVERY_MS = 1_000;

interface MessageWatchDeps {
  messageLog: Pick<MessageLog, 'newestId'>;
  clock: Clock;
  log: Logger;
}

/**
 * Tells everybody on this node who waits for messages that there are new ones, on whichever node they were stored. One read
 * a second, however many wait, and none while nobody does.
 */
export class MessageWatch {
  readonly #deps: MessageWatchDeps;
  readonly #waiters = new Set<{ since: string | undefined; wake(): void }>();
  #looking: AbortController | undefined;

  constructor(deps: MessageWatchDeps) {
    this.#deps = deps;
  }

  /**
   * Waits until the newest message is another one than `since`.
   * @param since what `newestId` of the message log returned before the caller looked for its messages
   * @throws the reason of the signal
   */
  async changed(since: string | undefined, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    let onAbort: () => void = () => undefined;
    let wake: () => void = () => undefined;
    const woken = new Promise<void>((resolve, reject) => {
      wake = resolve;
      onAbort = () => reject(signal.reason);
    });
    const waiter = { since, wake };
    this.#waiters.add(waiter);
    signal.addEventListener('abort', onAbort, { once: true });
    this.#startLooking();
    try {
      await woken;
    } finally {
      this.#waiters.delete(waiter);
      signal.removeEventListener('abort', onAbort);
      if (this.#waiters.size === 0) this.#looking?.abort();
    }
  }

  #startLooking(): void {
    if (this.#looking && !this.#looking.signal.aborted) return;
    this.#looking = new AbortController();
    void this.#look(this.#looking.signal);
  }

  async #look(stopped: AbortSignal): Promise<void> {
    const { messageLog, clock, log } = this.#deps;
    while (!stopped.aborted) {
      try {
        await clock.sleep(LOOK_EVERY_MS, stopped);
        const newest = await messageLog.newestId();
        for (const { since, wake } of [...this.#waiters]) if (since !== newest) wake();
      } catch (error) {
        if (!stopped.aborted) log.debug({ err: error }, 'cannot read the newest message, retrying');
      }
    }
  }
}

/** Messages that one read returns at most. */
const PAGE = 100;

interface WaitForMessageDeps {
  messageLog: Pick<MessageLog, 'messages' | 'newestId'>;
  watch: Pick<MessageWatch, 'changed'>;
  clock: Clock;
}

/** What came, oldest first, and where the next wait begins. Without messages: the time was over. */
interface AwaitedMessages {
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
