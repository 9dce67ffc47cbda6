import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, withLimit } from '../../core/clock.ts';
import { detectMediaType } from '../../core/delivery/agent-file.ts';
import { FileRefusedError } from '../../core/errors.ts';
import { Slots } from '../../core/keyed-queue.ts';
import { MAX_MEDIA_BYTES } from '../../core/models.ts';
import { say } from '../../core/phrases.ts';
import type { VoiceEncoder } from '../../core/ports/converters.ts';

const TIMEOUT_MS = 60_000;
/** Longest voice note. */
const MAX_SECONDS = 3_600;
const ENCODINGS_AT_ONCE = 2;

/**
 * The demuxer of ffmpeg for each type. It is named, so that ffmpeg does not guess: formats that name other files, such as
 * playlists, are never opened.
 */
const DEMUXERS: Record<string, string> = {
  'audio/ogg; codecs=opus': 'ogg',
  'audio/ogg': 'ogg',
  'audio/mpeg': 'mp3',
  'audio/aac': 'aac',
  'audio/amr': 'amr',
  'audio/flac': 'flac',
  'audio/wav': 'wav',
  'audio/mp4': 'mov',
  'video/mp4': 'mov',
  'video/3gpp': 'mov',
  'video/quicktime': 'mov',
  'video/webm': 'matroska',
};

interface FfmpegDeps {
  /** Name in PATH, or path. */
  program: string;
  clock: Clock;
  /** Default: one minute. */
  timeoutMs?: number;
}

/**
 * Encodes voice notes with ffmpeg, if this machine has it: as a child process without a shell and without the environment
 * of wa2ai, on a temporary file, which MP4 needs.
 */
export class FfmpegVoiceEncoder implements VoiceEncoder {
  readonly #deps: FfmpegDeps;
  readonly #slots = new Slots(ENCODINGS_AT_ONCE);

  constructor(deps: FfmpegDeps) {
    this.#deps = deps;
  }

  async encode(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array> {
    const demuxer = DEMUXERS[detectMediaType(bytes) ?? ''];
    if (demuxer === undefined) {
      throw new FileRefusedError(say('file.not-sound'));
    }
    return this.#slots.run(async () => {
      signal?.throwIfAborted();
      const folder = await mkdtemp(join(tmpdir(), 'wa2ai-voice-'));
      try {
        const input = join(folder, 'sound');
        await writeFile(input, bytes, { mode: 0o600 });
        const { clock, timeoutMs = TIMEOUT_MS } = this.#deps;
        return await withLimit(clock, timeoutMs, signal, (limited) => this.#run(demuxer, input, limited));
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    });
  }

  #run(demuxer: string, input: string, signal: AbortSignal): Promise<Uint8Array> {
    const child = spawn(this.#deps.program, argumentsOf(demuxer, input), {
      stdio: ['ignore', 'pipe', 'ignore'],
      env: { PATH: process.env.PATH },
    });
    const end = () => child.kill('SIGKILL');
    signal.addEventListener('abort', end, { once: true });
    const chunks: Buffer[] = [];
    let size = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_MEDIA_BYTES) end();
      else chunks.push(chunk);
    });
    return new Promise<Uint8Array>((resolve, reject) => {
      child.once('error', (error) => reject(notStarted(error)));
      child.once('close', (code) => {
        if (signal.aborted) reject(new FileRefusedError(say('file.too-long-to-convert')));
        else if (size > MAX_MEDIA_BYTES) reject(new FileRefusedError(say('file.voice-too-large')));
        else if (code !== 0 || size === 0) reject(new FileRefusedError(say('file.not-converted')));
        else resolve(Buffer.concat(chunks));
      });
    }).finally(() => signal.removeEventListener('abort', end));
  }
}

function argumentsOf(demuxer: string, input: string): string[] {
  return [
    ...['-nostdin', '-hide_banner', '-loglevel', 'error', '-threads', '1'],
    ...['-protocol_whitelist', 'file', '-f', demuxer, '-i', `file:${input}`],
    ...['-map', '0:a:0', '-map_metadata', '-1', '-t', String(MAX_SECONDS), '-ac', '1', '-ar', '48000'],
    ...['-c:a', 'libopus', '-b:a', '32k', '-application', 'voip', '-f', 'ogg', 'pipe:1'],
  ];
}

function notStarted(error: NodeJS.ErrnoException): FileRefusedError {
  const why =
    error.code === 'ENOENT'
      ? say('file.ffmpeg-missing')
      : say('file.ffmpeg-cannot-start', { code: error.code ?? '' });
  return new FileRefusedError(say('file.no-ffmpeg', { why }), { cause: error });
}
