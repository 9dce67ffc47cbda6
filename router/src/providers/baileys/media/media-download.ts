import { createDecipheriv, createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { DEFAULT_ORIGIN, getMediaKeys } from '@whiskeysockets/baileys';
import { MediaError } from '../../../core/errors.ts';
import { MAX_MEDIA_BYTES } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { type MediaReference, readReference } from './media-reference.ts';

const WHATSAPP_HOST = 'mmg.whatsapp.net';
const TIMEOUT_MS = 30_000;
const MAC_BYTES = 10;
/** Padding and MAC of an encrypted file. */
const ENCRYPTION_BYTES = 16 + MAC_BYTES;
/** What WhatsApp answers about a file that it no longer has. */
const GONE = new Set([401, 403, 404, 410]);

export interface DownloadOptions {
  clock: Clock;
  /** Default WhatsApp's own. */
  host?: string;
  /** Longest time of a download in milliseconds. Default 30,000. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/**
 * Fetches and decrypts a file, from our host and by the reference's path: no socket takes part. Baileys' own download
 * knows no limit of size or time, follows the host that a stranger's message names, and checks neither MAC nor hash.
 * @throws {MediaError} in each way that its codes name; the sentences contain no address and no key
 * @throws the signal's reason when `signal` aborts
 */
export async function downloadMedia(reference: string, options: DownloadOptions): Promise<Uint8Array> {
  const file = readReference(reference);
  if (!file) throw new MediaError('MEDIA_GONE', 'The message does not say how to get its file.');
  refuseLarge(file.sizeBytes);
  const { clock, signal, timeoutMs = TIMEOUT_MS } = options;
  const limited = new AbortController();
  const done = new AbortController();
  const onAbort = () => limited.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  signal?.addEventListener('abort', onAbort, { once: true });
  clock.sleep(timeoutMs, done.signal).then(
    () => limited.abort(),
    () => undefined,
  );
  try {
    return await opened(await fetched(file.path, options.host ?? WHATSAPP_HOST, limited.signal), file);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof MediaError) throw error;
    const what = limited.signal.aborted ? `did not come within ${timeoutMs} ms` : 'could not be fetched';
    throw new MediaError('MEDIA_UNAVAILABLE', `The file of the message ${what} from WhatsApp's servers.`, {
      cause: error,
    });
  } finally {
    done.abort();
    signal?.removeEventListener('abort', onAbort);
  }
}

function refuseLarge(sizeBytes: number | undefined): void {
  if (sizeBytes === undefined || sizeBytes <= MAX_MEDIA_BYTES) return;
  throw new MediaError('MEDIA_TOO_LARGE', `The file of the message has more than ${MAX_MEDIA_BYTES} bytes.`);
}

async function fetched(path: string, host: string, signal: AbortSignal): Promise<Buffer> {
  const response = await fetch(`https://${host}${path}`, {
    headers: { origin: DEFAULT_ORIGIN },
    redirect: 'manual',
    signal,
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    const code = GONE.has(response.status) ? 'MEDIA_GONE' : 'MEDIA_UNAVAILABLE';
    throw new MediaError(code, `WhatsApp's servers answered ${response.status} for the file of the message.`);
  }
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    refuseLarge(size - ENCRYPTION_BYTES);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Decrypts the file after checking that it is the one that the sender meant. */
async function opened(encrypted: Buffer, file: MediaReference): Promise<Uint8Array> {
  const broken = (what: string) => new MediaError('MEDIA_BROKEN', `The file of the message ${what}.`);
  if (!sha256(encrypted).equals(file.fileEncSha256)) throw broken('has another hash than the message says');
  const { iv, cipherKey, macKey } = await getMediaKeys(file.mediaKey, file.type);
  if (!macKey || encrypted.length <= MAC_BYTES) throw broken('is no encrypted file');
  const ciphertext = encrypted.subarray(0, -MAC_BYTES);
  const mac = createHmac('sha256', macKey).update(iv).update(ciphertext).digest().subarray(0, MAC_BYTES);
  if (!timingSafeEqual(mac, encrypted.subarray(-MAC_BYTES))) throw broken('has a wrong MAC');
  let bytes: Buffer;
  try {
    const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv);
    bytes = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch (error) {
    throw new MediaError('MEDIA_BROKEN', 'The file of the message cannot be decrypted.', { cause: error });
  }
  if (!sha256(bytes).equals(file.fileSha256)) throw broken('has another hash inside than the message says');
  refuseLarge(bytes.length);
  return bytes;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
