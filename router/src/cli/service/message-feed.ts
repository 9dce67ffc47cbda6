import type { Api } from './api.ts';
import type { StreamEvent } from './follow-events.ts';

/** Messages that a feed remembers, so that none comes twice. */
const MAX_KNOWN = 50_000;
/** How far a feed looks back after a break: rows of other nodes may be stored a little later than their times say. */
const OVERLAP_MS = 60_000;
const PAGE = 200;

/** A message received or sent, as the API shows it. */
export interface FeedMessage {
  id: string;
  accountId: string;
  chatId: string;
  channelId: string;
  direction: 'incoming' | 'outgoing';
  state: string;
  text: string;
  receivedAt?: string;
  queuedAt?: string;
  [field: string]: unknown;
}

interface MessageFeedOptions {
  accountId?: string | undefined;
  /** A phone number, a JID or a group id. */
  channelId?: string | undefined;
  /** Messages from before the feed with which it begins, at least 1. */
  before: number;
  show(message: FeedMessage): void;
}

interface Page {
  data: readonly FeedMessage[];
  next?: string | null;
}

/**
 * Messages received and sent as they are stored, each once. Live events say what is new. When the stream begins again, or events
 * were lost, the list of messages has what is missing.
 */
export class MessageFeed {
  readonly #api: Api;
  readonly #options: MessageFeedOptions;
  /** Ids of what was shown, the oldest first. */
  readonly #known = new Set<string>();
  /** Messages with a smaller id are from before the feed. */
  #floor = 0n;
  /** When the newest message was stored; undefined: the feed has not begun. */
  #newestMs: number | undefined;

  constructor(api: Api, options: MessageFeedOptions) {
    this.#api = api;
    this.#options = options;
  }

  /** Takes an event of the stream `/api/events`. @throws {CliError} the service does not answer, or refuses the caller */
  async take(event: StreamEvent): Promise<void> {
    const data = event.data as { at: string; id?: string };
    if (event.name === 'ready' || event.name === 'reset') {
      if (this.#newestMs === undefined) await this.#begin(Date.parse(data.at));
      else await this.#catchUp(this.#newestMs);
    } else if ((event.name === 'message' || event.name === 'reply') && data.id !== undefined) {
      if (!this.#known.has(data.id)) await this.#load(data.id);
    }
  }

  async #begin(nowMs: number): Promise<void> {
    const { before } = this.#options;
    const { data } = await this.#page({ limit: before });
    if (data.length === before) this.#floor = BigInt(data.at(-1)?.id ?? 0);
    this.#newestMs = nowMs;
    for (const message of [...data].reverse()) this.#show(message);
  }

  /** Shows what was stored meanwhile. */
  async #catchUp(newestMs: number): Promise<void> {
    const since = new Date(newestMs - OVERLAP_MS).toISOString();
    const missed: FeedMessage[] = [];
    let cursor: string | undefined;
    do {
      const page = await this.#page({ limit: PAGE, since, cursor });
      const isNew = ({ id }: FeedMessage) => BigInt(id) >= this.#floor && !this.#known.has(id);
      missed.push(...page.data.filter(isNew));
      cursor = page.next ?? undefined;
    } while (cursor !== undefined);
    for (const message of missed.reverse()) this.#show(message);
  }

  async #load(id: string): Promise<void> {
    // The list, and not the message by its id: it knows every spelling of the chat.
    const { data } = await this.#page({ limit: 1, cursor: String(BigInt(id) + 1n) });
    const [message] = data;
    if (message?.id === id) this.#show(message);
  }

  #page(query: { limit: number; since?: string; cursor?: string | undefined }): Promise<Page> {
    const { accountId, channelId } = this.#options;
    return this.#api.call('GET', '/api/messages', {
      query: { direction: 'all', accountId, channelId, ...query },
    });
  }

  #show(message: FeedMessage): void {
    // A draft is not a message before the owner approves it.
    if (message.state === 'draft' || this.#known.has(message.id)) return;
    this.#known.add(message.id);
    const [oldest] = this.#known;
    if (this.#known.size > MAX_KNOWN && oldest !== undefined) this.#known.delete(oldest);
    const storedMs = Date.parse(message.receivedAt ?? message.queuedAt ?? '');
    if (storedMs > (this.#newestMs ?? 0)) this.#newestMs = storedMs;
    this.#options.show(message);
  }
}
