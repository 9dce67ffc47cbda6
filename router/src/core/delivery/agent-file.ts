import { z } from 'zod';
import { AgentProtocolError, FileRefusedError } from '../errors.ts';
import { type AgentResponse, MAX_MEDIA_BYTES, type MediaKind, type ReplyFile } from '../models.ts';
import { PHRASES, type Said, say } from '../phrases.ts';

const MAX_NAME_CHARS = 200;
const OPUS_TYPE = 'audio/ogg; codecs=opus';
/** Larger stickers are not shown. */
const MAX_STICKER_BYTES = 1_000_000;

/** A media type as agents write it, with optional parameters. */
export const MEDIA_TYPE = /^[\w.+-]{1,60}\/[\w.+-]{1,60}/;

/** A file as agents write it in JSON. */
export const fileField = z.object({
  mimeType: z.string().regex(MEDIA_TYPE, PHRASES['field.media-type']).describe('Media type: `image/png`.'),
  data: z
    .string()
    .min(1)
    .refine((data) => !/[^A-Za-z0-9+/_=-]/.test(data), PHRASES['field.base64'])
    .describe('The bytes of the file, at most 10 MB, in base64.'),
  fileName: z.string().max(200).nullish().describe('Name of a document.'),
});

/** A file that agents name by URL in JSON. */
export const fileLinkField = z.object({
  url: z
    .string()
    .max(2048)
    .refine((url) => /^https?:\/\//i.test(url) && URL.canParse(url), PHRASES['field.http-or-https-url'])
    .describe('URL of the file. Loaded from the hosts of `config.reply.fileHosts`, else sent as text.'),
  mimeType: z.string().regex(MEDIA_TYPE, PHRASES['field.media-type']).nullish(),
  fileName: z.string().max(200).nullish().describe('Name of a document.'),
});

/** Files of an answer, as agents write them: one or a list, each with its bytes or a URL. */
export const answerFilesField = z
  .union([fileField, fileLinkField])
  .or(z.array(z.union([fileField, fileLinkField])).max(10));

/**
 * The files of an answer.
 * @throws {AgentProtocolError} one is too large to be sent
 */
export function filesOfAnswer(
  given: z.output<typeof answerFilesField> | undefined,
): Pick<AgentResponse, 'files' | 'fileLinks'> {
  const all = given === undefined ? [] : Array.isArray(given) ? given : [given];
  const files = all.flatMap((file) => ('data' in file ? [agentFile(file)] : []));
  const fileLinks = all.flatMap((file) =>
    'url' in file
      ? [
          {
            url: file.url,
            ...(file.mimeType && { mimeType: file.mimeType }),
            ...(file.fileName && { fileName: file.fileName }),
          },
        ]
      : [],
  );
  return { ...(files.length > 0 && { files }), ...(fileLinks.length > 0 && { fileLinks }) };
}

/**
 * A file that an agent answered with.
 * @param data base64, in either alphabet
 * @throws {AgentProtocolError} it is too large to be sent
 */
export function agentFile({
  mimeType,
  data,
  fileName,
}: {
  mimeType: string;
  data: string | Buffer;
  fileName?: string | null;
}): ReplyFile {
  const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data;
  if (bytes.length > MAX_MEDIA_BYTES) {
    throw new AgentProtocolError(say('agent.file-too-large', { bytes: bytes.length, max: MAX_MEDIA_BYTES }));
  }
  const name = fileName?.replace(/[\p{Cc}/\\]/gu, '_').slice(0, MAX_NAME_CHARS);
  return { ...shownAs(mimeType, bytes), ...(name && { fileName: name }), bytes };
}

/** How a chat shows a file of an agent: Opus in OGG is a voice message, and WebP, which is shown as no picture, a sticker. */
export function shownAs(mimeType: string, bytes: Uint8Array): Pick<ReplyFile, 'kind' | 'mimeType'> {
  const type = detectMediaType(bytes);
  if (type === OPUS_TYPE && readOpusFile(bytes)) return { kind: 'voice', mimeType: type };
  if (type === 'image/webp' && bytes.length <= MAX_STICKER_BYTES) return { kind: 'sticker', mimeType: type };
  return { kind: kindOf(mimeType), mimeType };
}

/** How a chat shows a file of this media type. */
export function kindOf(mimeType: string): MediaKind {
  const type = mimeType.toLowerCase();
  if (/^video\/(?:mp4|3gpp)\b/.test(type)) return 'video';
  const [kind] = type.split('/');
  return kind === 'image' || kind === 'audio' ? kind : 'document';
}

/** What WhatsApp shows of a voice note. */
interface VoiceDetails {
  /** Whole seconds, at least one. */
  seconds: number;
  /** How loud it is over its length: 64 values from 0 to 100. */
  waveform: Uint8Array;
}

const BARS = 64;
const LOUDEST = 100;
/** Opus counts time in samples of 48 kHz, whatever it was recorded with (RFC 7845, section 4). */
const SAMPLES_PER_SECOND = 48_000;
const HEADER_BYTES = 27;
const UNKNOWN_GRANULE = 0xffff_ffff_ffff_ffffn;

/**
 * Length and waveform of a file of Opus in OGG (RFC 7845); undefined when it is none. Nothing is decoded: the encoder gives
 * loud moments longer packets, so that the lengths of the packets show the waveform.
 */
export function readOpusFile(bytes: Uint8Array): VoiceDetails | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const read = packetsOf(file);
  const [head, tags, ...sounds] = read?.packets ?? [];
  if (!read || !head?.subarray(0, 8).equals(Buffer.from('OpusHead')) || head.length < 12) return undefined;
  if (!tags?.subarray(0, 8).equals(Buffer.from('OpusTags')) || sounds.length === 0) return undefined;
  const samples = Number(read.lastGranule) - head.readUInt16LE(10);
  if (samples <= 0 || samples > Number.MAX_SAFE_INTEGER) return undefined;
  return {
    seconds: Math.max(Math.round(samples / SAMPLES_PER_SECOND), 1),
    waveform: waveformOf(sounds.map(({ length }) => length)),
  };
}

/** The packets of an OGG file, in order (RFC 3533, section 6); undefined when a page is damaged. */
function packetsOf(file: Buffer): { packets: Buffer[]; lastGranule: bigint } | undefined {
  const packets: Buffer[] = [];
  let open: Buffer[] = [];
  let lastGranule = 0n;
  for (let at = 0; at < file.length; ) {
    if (file.length - at < HEADER_BYTES || file.toString('latin1', at, at + 4) !== 'OggS') return undefined;
    const granule = file.readBigUInt64LE(at + 6);
    if (granule !== UNKNOWN_GRANULE) lastGranule = granule;
    const segments = file[at + 26] ?? 0;
    const lacing = file.subarray(at + HEADER_BYTES, at + HEADER_BYTES + segments);
    at += HEADER_BYTES + segments;
    for (const length of lacing) {
      if (at + length > file.length) return undefined;
      open.push(file.subarray(at, at + length));
      at += length;
      // A packet goes on in the next segment when its segment is full.
      if (length === 255) continue;
      packets.push(Buffer.concat(open));
      open = [];
    }
  }
  return { packets, lastGranule };
}

function waveformOf(lengths: readonly number[]): Uint8Array {
  const bars = Array.from({ length: BARS }, (_, bar) => {
    const from = Math.floor((bar * lengths.length) / BARS);
    const part = lengths.slice(from, Math.max(Math.floor(((bar + 1) * lengths.length) / BARS), from + 1));
    return part.reduce((sum, length) => sum + length, 0) / part.length;
  });
  const highest = Math.max(...bars);
  const lowest = Math.min(...bars);
  // A constant bit rate says nothing about loudness: a flat line.
  const range = Math.max(highest - lowest, 1);
  return Uint8Array.from(bars, (bar) => Math.round(((bar - lowest) / range) * LOUDEST));
}

/** First bytes (Latin-1, at an offset) and media types of the formats that phones show or play. */
const SIGNATURES: Array<[at: number, start: string, mimeType: string]> = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png'],
  [0, '\xff\xd8\xff', 'image/jpeg'],
  [0, 'GIF8', 'image/gif'],
  [8, 'WEBP', 'image/webp'],
  [28, 'OpusHead', 'audio/ogg; codecs=opus'],
  [0, 'OggS', 'audio/ogg'],
  [0, 'ID3', 'audio/mpeg'],
  [0, '#!AMR', 'audio/amr'],
  [0, 'fLaC', 'audio/flac'],
  [8, 'WAVE', 'audio/wav'],
  [4, 'ftypM4A', 'audio/mp4'],
  [4, 'ftypM4B', 'audio/mp4'],
  [4, 'ftyp3g', 'video/3gpp'],
  [4, 'ftypqt', 'video/quicktime'],
  [4, 'ftyphei', 'image/heic'],
  [4, 'ftypmif1', 'image/heic'],
  [4, 'ftypavif', 'image/avif'],
  [4, 'ftyp', 'video/mp4'],
  [0, '\x1aE\xdf\xa3', 'video/webm'],
  [0, '%PDF-', 'application/pdf'],
];

/** The media type that the first bytes of a file show; undefined for formats that phones do not show. */
export function detectMediaType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 40)).toString('latin1');
  const found = SIGNATURES.find(([at, start]) => head.startsWith(start, at))?.[2];
  return found ?? streamType(bytes);
}

/** Sound without a container: the frame header of MPEG audio and of AAC begins with 11 or 12 set bits. */
function streamType([first = 0, second = 0]: Uint8Array): string | undefined {
  if (first !== 0xff || (second & 0xe0) !== 0xe0) return undefined;
  if ((second & 0xf6) === 0xf0) return 'audio/aac';
  return (second & 0x06) === 0 ? undefined : 'audio/mpeg';
}

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
const FORMATS: Record<Exclude<MediaKind, 'document'>, { types: RegExp; why: Said }> = {
  image: {
    types: /^image\/(?:jpeg|png)$/,
    why: say('file.not-picture'),
  },
  video: {
    types: /^video\/(?:mp4|3gpp)$/,
    why: say('file.not-video'),
  },
  audio: {
    types: /^audio\/(?:mpeg|mp4|aac|amr|ogg; codecs=opus)$/,
    why: say('file.not-audio'),
  },
  voice: { types: /^audio\/ogg; codecs=opus$/, why: say('file.not-voice') },
  sticker: { types: /^image\/webp$/, why: say('file.not-sticker') },
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
  if (bytes.length === 0) throw new FileRefusedError(say('file.empty'));
  checkSize(bytes.length, kind === 'sticker' ? MAX_STICKER_BYTES : MAX_MEDIA_BYTES);
  const detected = typeAs(kind, detectMediaType(bytes));
  if (kind === 'document') {
    const named = MEDIA_TYPE.exec(mimeType)?.[0];
    const name = fileName?.replace(/[\p{Cc}/\\]/gu, '_').slice(0, MAX_NAME_CHARS);
    return { kind, mimeType: detected ?? named ?? UNKNOWN_TYPE, ...(name && { fileName: name }), bytes };
  }
  const { types, why } = FORMATS[kind];
  if (detected === undefined || !types.test(detected)) {
    throw new FileRefusedError(
      detected ? say('file.not-of-kind-but', { why, type: detected }) : say('file.not-of-kind', { why }),
    );
  }
  if (kind === 'voice' && !readOpusFile(bytes)) throw new FileRefusedError(say('file.ogg-damaged'));
  return { kind, mimeType: detected, bytes };
}

/** @throws {FileRefusedError} */
export function checkSize(bytes: number, most = MAX_MEDIA_BYTES): void {
  if (bytes <= most) return;
  throw new FileRefusedError(say('file.too-large', { megabytes: most / 1_000_000 }));
}

/** MP4 has one form for videos and for sound. */
function typeAs(kind: MediaKind, detected: string | undefined): string | undefined {
  return kind === 'audio' && detected === 'video/mp4' ? 'audio/mp4' : detected;
}
