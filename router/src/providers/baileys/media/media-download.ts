import { createDecipheriv, createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { DEFAULT_ORIGIN, getMediaKeys } from '@whiskeysockets/baileys';
import { MediaError, ProxyFailedError } from '../../../core/errors.ts';
import { MAX_MEDIA_BYTES } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { AccountProxy } from '../connection/account-proxy.ts';
import { type MediaReference, readReference } from './media-reference.ts';

const WHATSAPP_HOST = 'mmg.whatsapp.net';
const TIMEOUT_MS = 30_000;
const MAC_BYTES = 10;
/** Padding and MAC of an encrypted file. */
const ENCRYPTION_BYTES = 16 + MAC_BYTES;
/** HTTP statuses for a file that WhatsApp no longer has. */
const GONE = new Set([401, 403, 404, 410]);

export interface DownloadOptions {
  clock: Clock;
  /** Default: WhatsApp's. */
  host?: string;
  /** Longest time of a download in milliseconds. Default 30,000. */
  timeoutMs?: number;
  signal?: AbortSignal;
  /** Absent: it connects directly. */
  proxy?: Pick<AccountProxy, 'dispatcher'>;
}

/**
 * Downloads and decrypts a file, from WhatsApp's host by the path of the reference, without a socket. Baileys' own
 * download has no limit of size or time, uses the host that the sender's message names, and checks neither MAC nor
 * hash.
 * @throws {MediaError} with each of its codes; the sentences contain no address and no key
 * @throws the signal's reason when `signal` aborts
 */
export async function downloadMedia(reference: string, options: DownloadOptions): Promise<Uint8Array> {
  const file = readReference(reference);
  if (!file) throw new MediaError('MEDIA_GONE', 'The message does not say how to get its file.');
  checkSize(file.sizeBytes);
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
    const encrypted = await fetchEncrypted(file.path, options.host ?? WHATSAPP_HOST, {
      signal: limited.signal,
      ...(options.proxy && { dispatcher: options.proxy.dispatcher }),
    });
    return await decryptFile(encrypted, file);
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof MediaError) throw error;
    const what = limited.signal.aborted ? `did not arrive within ${timeoutMs} ms` : 'could not be downloaded';
    const cause = error instanceof Error ? error.cause : undefined;
    const why = cause instanceof ProxyFailedError ? ` ${cause.message}` : '';
    throw new MediaError(
      'MEDIA_UNAVAILABLE',
      `The file of the message ${what} from WhatsApp's servers.${why}`,
      {
        cause: error,
      },
    );
  } finally {
    done.abort();
    signal?.removeEventListener('abort', onAbort);
  }
}

function checkSize(sizeBytes: number | undefined): void {
  if (sizeBytes === undefined || sizeBytes <= MAX_MEDIA_BYTES) return;
  throw new MediaError('MEDIA_TOO_LARGE', `The file of the message has more than ${MAX_MEDIA_BYTES} bytes.`);
}

async function fetchEncrypted(
  path: string,
  host: string,
  init: Pick<RequestInit, 'signal' | 'dispatcher'>,
): Promise<Buffer> {
  const response = await fetch(`https://${host}${path}`, {
    headers: { origin: DEFAULT_ORIGIN },
    redirect: 'manual',
    ...init,
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
    checkSize(size - ENCRYPTION_BYTES);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** Decrypts the file, and checks before and after that it is the one that the sender sent. */
async function decryptFile(encrypted: Buffer, file: MediaReference): Promise<Uint8Array> {
  const broken = (what: string) => new MediaError('MEDIA_BROKEN', `The file of the message ${what}.`);
  if (!sha256(encrypted).equals(file.fileEncSha256))
    throw broken('does not have the hash that the message names');
  const { iv, cipherKey, macKey } = await getMediaKeys(file.mediaKey, file.type);
  if (!macKey || encrypted.length <= MAC_BYTES) throw broken('is not an encrypted file');
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
  if (!sha256(bytes).equals(file.fileSha256))
    throw broken('does not have the hash that the message names once it is decrypted');
  checkSize(bytes.length);
  return bytes;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
