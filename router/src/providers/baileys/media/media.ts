import { createDecipheriv, createHash, createHmac, timingSafeEqual } from 'node:crypto';
import {
  type AnyMessageContent,
  type BaileysEventMap,
  DEFAULT_ORIGIN,
  decryptMediaRetryData,
  encryptMediaRetryRequest,
  generateWAMessageContent,
  getMediaKeys,
  proto,
  type WASocket,
} from '@whiskeysockets/baileys';
import { z } from 'zod';
import { type Clock, within } from '../../../core/clock.ts';
import { readOpusFile } from '../../../core/delivery/agent-file.ts';
import {
  MediaError,
  NotConnectedError,
  ProxyFailedError,
  SendRefusedError,
  UploadFailedError,
} from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { MAX_MEDIA_BYTES, type OutgoingMessage, type ReplyMedia } from '../../../core/models.ts';
import { type Said, say, together } from '../../../core/phrases.ts';
import type { AccountProxy } from '../connection/account-proxy.ts';
import { createBaileysLogger } from '../connection/open-socket.ts';
import { field } from '../messages/proto-values.ts';

const WHATSAPP_HOST = 'mmg.whatsapp.net';
const TIMEOUT_MS = 30_000;
const MAC_BYTES = 10;
/** Padding and MAC of an encrypted file. */
const ENCRYPTION_BYTES = 16 + MAC_BYTES;
/** HTTP statuses for a file that WhatsApp no longer has. */
const GONE = new Set([401, 403, 404, 410]);

interface DownloadOptions {
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
  if (!file) throw new MediaError('MEDIA_GONE', say('media.unknown-way'));
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
    const cause = error instanceof Error ? error.cause : undefined;
    const failed = limited.signal.aborted
      ? say('media.late', { ms: timeoutMs })
      : say('media.not-downloaded');
    const said = cause instanceof ProxyFailedError ? together([failed, cause.said]) : failed;
    throw new MediaError('MEDIA_UNAVAILABLE', said, { cause: error });
  } finally {
    done.abort();
    signal?.removeEventListener('abort', onAbort);
  }
}

function checkSize(sizeBytes: number | undefined): void {
  if (sizeBytes === undefined || sizeBytes <= MAX_MEDIA_BYTES) return;
  throw new MediaError('MEDIA_TOO_LARGE', say('media.too-large', { max: MAX_MEDIA_BYTES }));
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
    throw new MediaError(code, say('media.servers-status', { status: response.status }));
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
  const broken = (said: Said) => new MediaError('MEDIA_BROKEN', said);
  if (!sha256(encrypted).equals(file.fileEncSha256)) throw broken(say('media.wrong-hash'));
  const { iv, cipherKey, macKey } = await getMediaKeys(file.mediaKey, file.type);
  if (!macKey || encrypted.length <= MAC_BYTES) throw broken(say('media.not-encrypted'));
  const ciphertext = encrypted.subarray(0, -MAC_BYTES);
  const mac = createHmac('sha256', macKey).update(iv).update(ciphertext).digest().subarray(0, MAC_BYTES);
  if (!timingSafeEqual(mac, encrypted.subarray(-MAC_BYTES))) throw broken(say('media.wrong-mac'));
  let bytes: Buffer;
  try {
    const decipher = createDecipheriv('aes-256-cbc', cipherKey, iv);
    bytes = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  } catch (error) {
    throw new MediaError('MEDIA_BROKEN', say('media.not-decrypted'), { cause: error });
  }
  if (!sha256(bytes).equals(file.fileSha256)) throw broken(say('media.wrong-plain-hash'));
  checkSize(bytes.length);
  return bytes;
}

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}

/** Longest wait for the phone, which may be switched off. */
const ANSWER_TIMEOUT_MS = 15_000;

interface ReloadOptions {
  clock: Clock;
  /** The account's own JID. */
  ownJid: string;
  /** Longest wait for the phone, in milliseconds. Default: 15,000. */
  timeoutMs?: number;
}

/**
 * Requests from the account's phone, which has the message too, to upload a file again that WhatsApp's servers have
 * deleted. Baileys' own function keeps its listener when no response arrives.
 * @returns the reference with the file's new path
 * @throws {MediaError} MEDIA_GONE: the phone no longer has it, or did not answer
 */
export async function reloadFile(
  reference: string,
  socket: Pick<WASocket, 'ev' | 'sendNode'>,
  options: ReloadOptions,
): Promise<string> {
  const file = readReference(reference);
  if (!file?.message) throw gone(say('media.unknown-message'));
  const { message, mediaKey } = file;
  const { clock, ownJid, timeoutMs = ANSWER_TIMEOUT_MS } = options;
  const done = new AbortController();
  const answer = untilAnswered(socket.ev, message.id, done.signal);
  try {
    await socket.sendNode(encryptMediaRetryRequest({ ...message, fromMe: false }, mediaKey, ownJid));
    const update = await within(clock, timeoutMs, answer);
    if (!update) throw gone(say('media.phone-silent'));
    if (!update.media) throw gone(say('media.phone-without-file'));
    const { result, directPath } = decryptMediaRetryData(update.media, mediaKey, message.id);
    if (result !== proto.MediaRetryNotification.ResultType.SUCCESS || !directPath?.startsWith('/')) {
      throw gone(say('media.phone-failed'));
    }
    return changeReference(reference, { path: directPath });
  } catch (error) {
    if (error instanceof MediaError) throw error;
    throw gone(say('media.not-requested'), error);
  } finally {
    done.abort();
  }
}

type MediaUpdate = BaileysEventMap['messages.media-update'][number];

function untilAnswered(ev: WASocket['ev'], id: string, signal: AbortSignal): Promise<MediaUpdate> {
  return new Promise((resolve) => {
    const listener = (updates: MediaUpdate[]) => {
      const update = updates.find(({ key }) => key.id === id);
      if (update) resolve(update);
    };
    ev.on('messages.media-update', listener);
    signal.addEventListener('abort', () => ev.off('messages.media-update', listener), { once: true });
  });
}

function gone(said: Said, cause?: unknown): MediaError {
  return new MediaError('MEDIA_GONE', said, { cause });
}

/** Which of WhatsApp's keys a file is encrypted with (MEDIA_HKDF_KEY_MAPPING of Baileys). */
const FILE_TYPES = ['image', 'video', 'audio', 'document', 'sticker'] as const;
export type FileType = (typeof FILE_TYPES)[number];

const base64 = (bytes: number) =>
  z
    .base64()
    .transform((text) => Buffer.from(text, 'base64'))
    .refine((value) => value.length === bytes);

const storedReference = z.object({
  type: z.enum(FILE_TYPES),
  path: z.string().startsWith('/').max(4_096),
  mediaKey: base64(32),
  fileSha256: base64(32),
  fileEncSha256: base64(32),
  sizeBytes: z.number().optional(),
  /** The message with the file: a request to the phone names it. */
  message: z.object({ id: z.string(), remoteJid: z.string(), participant: z.string().optional() }).optional(),
});

/** Where a file is stored, its key and its hashes. The key makes it a secret. */
type MediaReference = z.output<typeof storedReference>;

/**
 * The reference to a file, as text for the inbox; `` when the message does not have all that a download needs.
 * Of a URL only the path is stored: wa2ai chooses the host, not the message. A URL of a foreign host gives no
 * reference.
 */
export function writeReference(type: FileType, media: Record<string, unknown>, sizeBytes?: number): string {
  const path = pathOf(media);
  const [mediaKey, fileSha256, fileEncSha256] = [media.mediaKey, media.fileSha256, media.fileEncSha256].map(
    (value) =>
      value instanceof Uint8Array && value.length === 32 ? Buffer.from(value).toString('base64') : '',
  );
  if (!path || !mediaKey || !fileSha256 || !fileEncSha256) return '';
  return JSON.stringify({ type, path, mediaKey, fileSha256, fileEncSha256, sizeBytes });
}

/** The reference with some fields replaced; `` is returned unchanged. */
export function changeReference(
  reference: string,
  change: Partial<Pick<MediaReference, 'path' | 'message'>>,
): string {
  return reference === '' ? '' : JSON.stringify({ ...JSON.parse(reference), ...change });
}

/** Reads a text of `writeReference`; undefined for any other text. */
export function readReference(text: string): MediaReference | undefined {
  try {
    return storedReference.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

function pathOf({ directPath, url }: Record<string, unknown>): string | undefined {
  if (typeof directPath === 'string' && isPath(directPath)) return directPath;
  if (typeof url !== 'string' || !URL.canParse(url)) return undefined;
  const { protocol, hostname, pathname, search } = new URL(url);
  // WhatsApp does not have a file of a foreign URL: a download and a request to the phone would only take time.
  if (protocol !== 'https:' || !hostname.endsWith('.whatsapp.net')) return undefined;
  return isPath(pathname + search) ? pathname + search : undefined;
}

function isPath(text: string): boolean {
  return /^\/[\x21-\x7e]{1,4000}$/.test(text);
}

/** Longest wait for one response of the upload server. */
const UPLOAD_TIMEOUT_MS = 60_000;
/** Longest time of the whole upload: WhatsApp first names its hosts, and Baileys may use several of them. */
const WHOLE_TIMEOUT_MS = 150_000;
/** DisconnectReason.connectionClosed. */
const CONNECTION_CLOSED = 428;

/**
 * Encrypts and uploads the file of a message.
 * @returns the message that names it, as WhatsApp content; it contains the file's key
 * @throws {NotConnectedError} {UploadFailedError} {SendRefusedError} as ChatProvider.upload
 */
export async function uploadFile(
  message: OutgoingMessage,
  bytes: Uint8Array,
  socket: Pick<WASocket, 'waUploadToServer'>,
  { clock, log, proxy }: { clock: Clock; log: Logger; proxy?: Pick<AccountProxy, 'failure'> },
): Promise<Uint8Array> {
  const { media } = message;
  if (!media) throw new SendRefusedError(say('send.message-without-file'));
  try {
    const uploading = generateWAMessageContent(contentOf(media, Buffer.from(bytes), message.text), {
      upload: (path, options) => socket.waUploadToServer(path, { ...options, timeoutMs: UPLOAD_TIMEOUT_MS }),
      logger: createBaileysLogger(log, message.accountId),
      jid: message.to,
    });
    const content = await within(clock, WHOLE_TIMEOUT_MS, uploading);
    if (!content) throw new UploadFailedError(say('send.upload-late', { ms: WHOLE_TIMEOUT_MS }));
    return proto.Message.encode(content).finish();
  } catch (error) {
    if (error instanceof UploadFailedError) throw error;
    if (field(field(error, 'output'), 'statusCode') === CONNECTION_CLOSED) {
      throw new NotConnectedError(message.accountId, { cause: error });
    }
    const failed = say('send.upload-failed');
    const said = proxy?.failure ? together([failed, proxy.failure.said]) : failed;
    throw new UploadFailedError(said, { cause: error });
  }
}

function contentOf(media: ReplyMedia, bytes: Buffer, text: string): AnyMessageContent {
  const { mimeType: mimetype, fileName } = media;
  const caption = text === '' ? undefined : text;
  switch (media.kind) {
    case 'image':
      return { image: bytes, mimetype, caption };
    case 'video':
      // Baileys would make a preview by a command of the shell; phones make it when they load the video.
      return { video: bytes, mimetype, caption, jpegThumbnail: '' };
    case 'audio':
      return { audio: bytes, mimetype };
    case 'voice':
      return { audio: bytes, mimetype, ptt: true, ...voiceDetails(bytes) };
    case 'sticker':
      return { sticker: bytes, mimetype };
    case 'document':
      return { document: bytes, mimetype, fileName: fileName ?? 'file', caption };
  }
}

/** A damaged voice note is sent all the same. */
function voiceDetails(bytes: Uint8Array): { seconds: number; waveform?: Uint8Array } {
  return readOpusFile(bytes) ?? { seconds: 1 };
}
