import { MediaError } from '../errors.ts';
import type { Inbox } from '../ports/inbox.ts';
import type { MediaSource } from '../ports/media.ts';
import { Slots } from '../slots.ts';
import type { PendingTurn } from './turn.ts';

/** Files in memory at once, however many turns need one. */
const DOWNLOADS_AT_ONCE = 4;

export interface StoredMediaDeps {
  inbox: Pick<Inbox, 'mediaReference'>;
  /** Loads a file by the provider's own reference. @throws {MediaError} */
  download(reference: string, signal: AbortSignal): Promise<Uint8Array>;
  /** A new reference to a file that WhatsApp deleted; undefined when this node does not have the account's connection. */
  reload(accountId: string, reference: string): Promise<string | undefined>;
}

/** The files of stored messages: the inbox has the provider's reference to one, the provider loads it. */
export class StoredMedia implements MediaSource {
  readonly #deps: StoredMediaDeps;
  readonly #slots = new Slots(DOWNLOADS_AT_ONCE);

  constructor(deps: StoredMediaDeps) {
    this.#deps = deps;
  }

  async load(
    { messageId, accountId }: Pick<PendingTurn, 'messageId' | 'accountId'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const reference = await this.#deps.inbox.mediaReference(messageId);
    if (!reference) throw new MediaError('MEDIA_GONE', 'The stored message has no reference to its file.');
    try {
      return await this.#download(reference, signal);
    } catch (error) {
      if (!(error instanceof MediaError) || error.code !== 'MEDIA_GONE') throw error;
      signal.throwIfAborted();
      const fresh = await this.#deps.reload(accountId, reference).catch(() => undefined);
      if (!fresh) throw error;
      return await this.#download(fresh, signal);
    }
  }

  #download(reference: string, signal: AbortSignal): Promise<Uint8Array> {
    return this.#slots.run(() => {
      signal.throwIfAborted();
      return this.#deps.download(reference, signal);
    });
  }
}
