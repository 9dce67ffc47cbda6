import { MediaError, UploadFailedError } from '../../router/src/core/errors.ts';
import type { OutgoingMessage } from '../../router/src/core/models.ts';
import { readReference } from '../../router/src/providers/baileys/media/media.ts';
import type { Faults } from './faults.ts';
import type { SimProcess } from './sim-process.ts';
import { uploadedPicture } from './sim-signal.ts';

/** How long one transfer takes at most, in milliseconds. */
const LONGEST_MS = 1_500;

/** WhatsApp's media server. The bytes of a file are its path: who gets other bytes got another file. */
export class SimMediaServer {
  readonly #faults: Faults;
  /** Share of transfers that fail while things go wrong. */
  readonly #failureShare: number;
  /** Failed downloads, by the path of the file. */
  readonly #failedDownloads = new Map<string, number>();

  constructor(faults: Faults, failureShare: number) {
    this.#faults = faults;
    this.#failureShare = failureShare;
  }

  failedDownloads(path: string): number {
    return this.#failedDownloads.get(path) ?? 0;
  }

  /** @throws {MediaError} the server cannot be reached */
  download(process: SimProcess, reference: string): Promise<Uint8Array> {
    const path = readReference(reference)?.path;
    if (path === undefined) throw new MediaError('MEDIA_GONE', { sentence: 'The reference names no file.' });
    return this.#transfer(
      process,
      () => Buffer.from(path),
      () => {
        this.#failedDownloads.set(path, this.failedDownloads(path) + 1);
        return new MediaError('MEDIA_UNAVAILABLE', { sentence: 'No answer.' });
      },
    );
  }

  /** @throws {UploadFailedError} the server cannot be reached */
  upload(process: SimProcess, { text }: OutgoingMessage, bytes: Uint8Array): Promise<Uint8Array> {
    const path = Buffer.from(bytes).toString();
    return this.#transfer(
      process,
      () => uploadedPicture(text, path),
      () => new UploadFailedError({ sentence: 'No answer.' }),
    );
  }

  #transfer(process: SimProcess, result: () => Uint8Array, failure: () => Error): Promise<Uint8Array> {
    const hasFailed = this.#faults.happens(this.#failureShare);
    const ms = this.#faults.networkMs() + this.#faults.oneOf([1, 50, LONGEST_MS]);
    return new Promise((resolve, reject) => {
      process.after(ms, () => (hasFailed ? reject(failure()) : resolve(result())));
    });
  }
}
