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
