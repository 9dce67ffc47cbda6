import type { ReplyMediaKind } from '../../../../core/models.ts';

/** First bytes (Latin-1, at an offset) and media types of the formats that phones show or play. */
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

const DEFAULT_TYPE: Record<ReplyMediaKind, string> = {
  image: 'image/jpeg',
  audio: 'audio/mpeg',
  document: 'application/octet-stream',
};

/** Media type of a file without a declared one: detected from the first bytes when it fits the kind, else the kind's default. */
export function mediaTypeOf(bytes: Uint8Array, kind: ReplyMediaKind): string {
  const head = Buffer.from(bytes.subarray(0, 16)).toString('latin1');
  const found = SIGNATURES.find(([at, start]) => head.startsWith(start, at))?.[2];
  return found && (kind === 'document' || found.startsWith(kind)) ? found : DEFAULT_TYPE[kind];
}
