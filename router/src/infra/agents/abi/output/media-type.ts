import type { ReplyMediaKind } from '../../../../core/models.ts';

/** First bytes (latin 1, at an offset) of the formats that phones show or play, and their types. */
const SIGNATURES: Array<[at: number, start: string, mimeType: string]> = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png'],
  [0, '\xff\xd8\xff', 'image/jpeg'],
  [0, 'GIF8', 'image/gif'],
  [8, 'WEBP', 'image/webp'],
  [0, 'OggS', 'audio/ogg; codecs=opus'],
  [0, 'ID3', 'audio/mpeg'],
  [0, '\xff\xfb', 'audio/mpeg'],
  [8, 'WAVE', 'audio/wav'],
  [4, 'ftypM4A', 'audio/mp4'],
  [0, '%PDF-', 'application/pdf'],
];

const USUAL: Record<ReplyMediaKind, string> = {
  image: 'image/jpeg',
  audio: 'audio/mpeg',
  document: 'application/octet-stream',
};

/** The type of a file whose agent names none: by its first bytes where these say one of its kind, else the usual one. */
export function mediaTypeOf(bytes: Uint8Array, kind: ReplyMediaKind): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const found = SIGNATURES.find(([at, start]) => head.startsWith(start, at))?.[2];
  return found && (kind === 'document' || found.startsWith(kind)) ? found : USUAL[kind];
}
