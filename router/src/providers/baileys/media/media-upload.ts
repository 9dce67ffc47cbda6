import {
  type AnyMessageContent,
  generateWAMessageContent,
  proto,
  type WASocket,
} from '@whiskeysockets/baileys';
import { readOpusFile } from '../../../core/delivery/opus-file.ts';
import { NotConnectedError, SendRefusedError, UploadFailedError } from '../../../core/errors.ts';
import type { OutgoingMessage, ReplyMedia } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { within } from '../../../core/time-limit.ts';
import type { AccountProxy } from '../connection/account-proxy.ts';
import { createBaileysLogger } from '../connection/baileys-logger.ts';
import { field } from '../field.ts';

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
  if (!media) throw new SendRefusedError('The message has no file.');
  try {
    const uploading = generateWAMessageContent(contentOf(media, Buffer.from(bytes), message.text), {
      upload: (path, options) => socket.waUploadToServer(path, { ...options, timeoutMs: UPLOAD_TIMEOUT_MS }),
      logger: createBaileysLogger(log, message.accountId),
      jid: message.to,
    });
    const content = await within(clock, WHOLE_TIMEOUT_MS, uploading);
    if (!content) throw new UploadFailedError(`The file was not uploaded within ${WHOLE_TIMEOUT_MS} ms.`);
    return proto.Message.encode(content).finish();
  } catch (error) {
    if (error instanceof UploadFailedError) throw error;
    if (field(field(error, 'output'), 'statusCode') === CONNECTION_CLOSED) {
      throw new NotConnectedError(message.accountId, { cause: error });
    }
    const why = proxy?.failure ? ` ${proxy.failure.message}` : '';
    throw new UploadFailedError(`The file could not be uploaded to WhatsApp's servers.${why}`, {
      cause: error,
    });
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
