/** One packet of Opus: 20 ms of silence, full band, one channel. */
const SILENCE = Buffer.from([0xf8, 0xff, 0xfe]);
const SAMPLES = 960;
const PRE_SKIP = 312;

/** A picture of one pixel. */
export const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
/** The beginning of an MP4 file, with zeros after it. */
export const MP4 = Buffer.concat([
  Buffer.from('\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41', 'latin1'),
  Buffer.alloc(500),
]);
/** The beginning of an MP3 file, with zeros after it. */
export const MP3 = Buffer.concat([Buffer.from('ID3\x04\0\0\0\0\0\0', 'latin1'), Buffer.alloc(500)]);
/** The beginning of a WebP picture, with zeros after it. */
export const WEBP = Buffer.concat([Buffer.from('RIFF\0\x01\0\0WEBPVP8 ', 'latin1'), Buffer.alloc(300)]);

/**
 * A file of Opus in OGG (RFC 7845) with checksums.
 * @param packets default: a quiet second, then a second with longer packets
 */
export function opusFile(packets: Buffer[] = [...quiet(50), ...loud(50)]): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead', 'latin1');
  head.set([1, 1], 8);
  head.writeUInt16LE(PRE_SKIP, 10);
  head.writeUInt32LE(48_000, 12);
  const tags = Buffer.concat([Buffer.from('OpusTags\x04\0\0\0test\0\0\0\0', 'latin1')]);
  const pages = [page(2, 0n, 0, [head]), page(0, 0n, 1, [tags])];
  const perPage = 50;
  for (let at = 0; at < packets.length; at += perPage) {
    const part = packets.slice(at, at + perPage);
    const granule = BigInt((at + part.length) * SAMPLES + PRE_SKIP);
    const isLast = at + perPage >= packets.length;
    pages.push(page(isLast ? 4 : 0, granule, pages.length, part));
  }
  return Buffer.concat(pages);
}

/** Packets of silence. */
export function quiet(count: number): Buffer[] {
  return Array.from({ length: count }, () => SILENCE);
}

/** Packets as long as those of loud moments; 300 bytes need two segments. */
export function loud(count: number): Buffer[] {
  return Array.from({ length: count }, () =>
    Buffer.concat([SILENCE.subarray(0, 1), Buffer.alloc(299, 0x5a)]),
  );
}

function page(type: number, granule: bigint, sequence: number, packets: Buffer[]): Buffer {
  const lacing = packets.flatMap(({ length }) => [
    ...Array.from({ length: Math.floor(length / 255) }, () => 255),
    length % 255,
  ]);
  const header = Buffer.alloc(27);
  header.write('OggS', 'latin1');
  header[5] = type;
  header.writeBigUInt64LE(granule, 6);
  header.writeUInt32LE(1, 14);
  header.writeUInt32LE(sequence, 18);
  header[26] = lacing.length;
  const bytes = Buffer.concat([header, Buffer.from(lacing), ...packets]);
  bytes.writeUInt32LE(checksum(bytes), 22);
  return bytes;
}

/** CRC-32 of OGG: polynomial 0x04c11db7, not reflected. */
function checksum(bytes: Buffer): number {
  let crc = 0;
  for (const byte of bytes) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000_0000 ? (crc << 1) ^ 0x04c1_1db7 : crc << 1;
  }
  return crc >>> 0;
}
