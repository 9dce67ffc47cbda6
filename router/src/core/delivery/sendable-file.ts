import { FileRefusedError } from '../errors.ts';
import { MAX_MEDIA_BYTES, type MediaKind, type ReplyFile } from '../models.ts';
import { MAX_STICKER_BYTES, MEDIA_TYPE } from './agent-file.ts';
import { detectMediaType } from './media-type.ts';
import { readOpusFile } from './opus-file.ts';

const MAX_NAME_CHARS = 200;
const UNKNOWN_TYPE = 'application/octet-stream';

/** A file as a program gave it, or as a server sent it. */
export interface GivenFile {
  bytes: Uint8Array;
  /** As its sender named it; the bytes decide. */
  mimeType?: string;
  fileName?: string;
}

/** A file that a program wants to send: its bytes, or where they are. */
export type WantedFile = GivenFile | { url: string; fileName?: string };

/** The formats that WhatsApp shows for each kind, and what to do with another one. A document may be anything. */
const FORMATS: Record<Exclude<MediaKind, 'document'>, { types: RegExp; sentence: string }> = {
  image: {
    types: /^image\/(?:jpeg|png)$/,
    sentence: 'is no JPEG or PNG picture. Send another format as a document',
  },
  video: {
    types: /^video\/(?:mp4|3gpp)$/,
    sentence: 'is no MP4 or 3GP video. Send another format as a document',
  },
  audio: {
    types: /^audio\/(?:mpeg|mp4|aac|amr|ogg; codecs=opus)$/,
    sentence: 'is no MP3, M4A, AAC, AMR or OGG (Opus) file. Send another format as a document',
  },
  voice: { types: /^audio\/ogg; codecs=opus$/, sentence: 'is no Opus sound in an OGG file' },
  sticker: { types: /^image\/webp$/, sentence: 'is no WebP picture' },
};

/** Whether it can be sent as a voice note as it is. */
export function isVoiceNote(bytes: Uint8Array): boolean {
  return FORMATS.voice.types.test(detectMediaType(bytes) ?? '') && readOpusFile(bytes) !== undefined;
}

/**
 * The file as it is sent. What it is follows from its bytes; only the type of a document whose bytes say nothing is that
 * which its sender named.
 * @throws {FileRefusedError} it is empty, too large, or has a format that WhatsApp does not show as this kind
 */
export function sendableFile(kind: MediaKind, { bytes, mimeType = '', fileName }: GivenFile): ReplyFile {
  if (bytes.length === 0) throw new FileRefusedError('The file is empty.');
  checkSize(bytes.length, kind === 'sticker' ? MAX_STICKER_BYTES : MAX_MEDIA_BYTES);
  const detected = typeAs(kind, detectMediaType(bytes));
  if (kind === 'document') {
    const named = MEDIA_TYPE.exec(mimeType)?.[0];
    const name = fileName?.replace(/[\p{Cc}/\\]/gu, '_').slice(0, MAX_NAME_CHARS);
    return { kind, mimeType: detected ?? named ?? UNKNOWN_TYPE, ...(name && { fileName: name }), bytes };
  }
  const { types, sentence } = FORMATS[kind];
  if (detected === undefined || !types.test(detected)) {
    throw new FileRefusedError(`The file ${sentence}${detected ? ` (it is ${detected})` : ''}.`);
  }
  if (kind === 'voice' && !readOpusFile(bytes)) throw new FileRefusedError('The OGG file is damaged.');
  return { kind, mimeType: detected, bytes };
}

/** @throws {FileRefusedError} */
export function checkSize(bytes: number, most = MAX_MEDIA_BYTES): void {
  if (bytes <= most) return;
  throw new FileRefusedError(`The file is larger than ${most / 1_000_000} MB.`);
}

/** MP4 has one form for videos and for sound. */
function typeAs(kind: MediaKind, detected: string | undefined): string | undefined {
  return kind === 'audio' && detected === 'video/mp4' ? 'audio/mp4' : detected;
}
