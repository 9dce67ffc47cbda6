/** What WhatsApp shows of a voice note. */
export interface VoiceDetails {
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
