import { MediaError } from '../errors.ts';
import type { Inbox } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { MediaSource } from '../ports/media.ts';
import type { LinkedFile, MediaLinks } from '../ports/media-links.ts';
import type { MessageFiles } from '../ports/message-files.ts';
import { Slots } from '../slots.ts';
import type { PendingTurn } from './turn.ts';

/** Files in memory at once, however many turns need one. */
const DOWNLOADS_AT_ONCE = 4;
/** Files in memory that are being stored; further ones are not stored. */
const MAX_SAVING = 8;

export interface StoredMediaDeps {
  inbox: Pick<Inbox, 'mediaReference'>;
  /** Loads a file of an account by the provider's own reference. @throws {MediaError} {StorageUnavailableError} */
  download(file: Pick<LinkedFile, 'accountId' | 'reference'>, signal: AbortSignal): Promise<Uint8Array>;
  /** A new reference to a file that WhatsApp deleted; undefined when this node does not have the account's connection. */
  reload(accountId: string, reference: string): Promise<string | undefined>;
  links: MediaLinks;
  /** Files that were loaded before. Absent: each is loaded from the provider each time. */
  files?: MessageFiles;
  log: Logger;
}

/**
 * The files of stored messages: the inbox has the provider's reference to one, the provider loads it. What was loaded once is
 * stored, so that it is there when WhatsApp does not have it any more.
 */
export class StoredMedia implements MediaSource {
  readonly #deps: StoredMediaDeps;
  readonly #slots = new Slots(DOWNLOADS_AT_ONCE);
  #saving = 0;

  constructor(deps: StoredMediaDeps) {
    this.#deps = deps;
  }

  async load(
    { messageId, accountId }: Pick<PendingTurn, 'messageId' | 'accountId'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const reference = await this.#deps.inbox.mediaReference(messageId);
    if (!reference) throw new MediaError('MEDIA_GONE', 'The stored message has no reference to its file.');
    return this.#load({ accountId, messageId, reference }, signal);
  }

  async urlOf({
    messageId,
    accountId,
    message: { media },
  }: Pick<PendingTurn, 'messageId' | 'accountId' | 'message'>): Promise<string | undefined> {
    const { links, inbox } = this.#deps;
    if (!links.isOn || !media) return undefined;
    const reference = await inbox.mediaReference(messageId);
    if (!reference) return undefined;
    const { mimeType, fileName } = media;
    return links.urlOf({
      ...{ accountId, messageId, reference, mimeType },
      ...(fileName !== undefined && { fileName }),
    });
  }

  /**
   * The file that a link leads to.
   * @throws {MediaError} {StorageUnavailableError}
   */
  async loadLinked(
    token: string,
    signal: AbortSignal,
  ): Promise<{ file: LinkedFile; bytes: Uint8Array } | 'expired' | 'unknown'> {
    const file = await this.#deps.links.open(token);
    if (typeof file === 'string') return file;
    return { file, bytes: await this.#load(file, signal) };
  }

  async #load(
    { accountId, messageId, reference }: Pick<LinkedFile, 'accountId' | 'messageId' | 'reference'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const stored = messageId === undefined ? undefined : await this.#stored(messageId);
    if (stored) return stored;
    const bytes = await this.#loadFromProvider({ accountId, reference }, signal);
    if (messageId !== undefined) void this.#save(messageId, bytes);
    return bytes;
  }

  /** A store that cannot be used is no reason to do without the file: the provider may have it. */
  async #stored(messageId: string): Promise<Uint8Array | undefined> {
    const { files, log } = this.#deps;
    try {
      return await files?.load(messageId);
    } catch (error) {
      if (!(error instanceof MediaError)) throw error;
      log.warn({ err: error, messageId }, 'stored file not readable, loading it again');
      return undefined;
    }
  }

  /** Nobody waits for it, and no failure reaches the caller: the file is stored when it is loaded the next time. */
  async #save(messageId: string, bytes: Uint8Array): Promise<void> {
    const { files, log } = this.#deps;
    if (!files || this.#saving >= MAX_SAVING) return;
    this.#saving += 1;
    try {
      await files.save(messageId, bytes);
    } catch (error) {
      log.warn({ err: error, messageId }, 'file of a message not stored');
    } finally {
      this.#saving -= 1;
    }
  }

  async #loadFromProvider(
    { accountId, reference }: Pick<LinkedFile, 'accountId' | 'reference'>,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    try {
      return await this.#download({ accountId, reference }, signal);
    } catch (error) {
      if (!(error instanceof MediaError) || error.code !== 'MEDIA_GONE') throw error;
      signal.throwIfAborted();
      const fresh = await this.#deps.reload(accountId, reference).catch(() => undefined);
      if (!fresh) throw error;
      return await this.#download({ accountId, reference: fresh }, signal);
    }
  }

  #download(file: Pick<LinkedFile, 'accountId' | 'reference'>, signal: AbortSignal): Promise<Uint8Array> {
    return this.#slots.run(() => {
      signal.throwIfAborted();
      return this.#deps.download(file, signal);
    });
  }
}
