import { MediaError } from './errors.ts';
import type { Inbox } from './ports/inbox.ts';
import type { MediaSource } from './ports/media.ts';
import { Slots } from './slots.ts';

/** Files in memory at once, however many turns want one. */
const DOWNLOADS_AT_ONCE = 4;

/** The files of stored messages: the inbox knows the way to one, the provider goes it. */
export class StoredMedia implements MediaSource {
  readonly #inbox: Pick<Inbox, 'mediaReference'>;
  readonly #download: (reference: string, signal: AbortSignal) => Promise<Uint8Array>;
  readonly #slots = new Slots(DOWNLOADS_AT_ONCE);

  /** @param download the provider's: takes its own reference, throws MediaError */
  constructor(
    inbox: Pick<Inbox, 'mediaReference'>,
    download: (reference: string, signal: AbortSignal) => Promise<Uint8Array>,
  ) {
    this.#inbox = inbox;
    this.#download = download;
  }

  async load(messageId: string, signal: AbortSignal): Promise<Uint8Array> {
    const reference = await this.#inbox.mediaReference(messageId);
    if (!reference) throw new MediaError('MEDIA_GONE', 'The message does not say how to get its file.');
    return this.#slots.run(() => {
      signal.throwIfAborted();
      return this.#download(reference, signal);
    });
  }
}
