import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { type Clock, withLimit } from '../../core/clock.ts';
import { detectMediaType } from '../../core/delivery/agent-file.ts';
import { AgentProtocolError, AgentUnavailableError } from '../../core/errors.ts';
import { type Said, say } from '../../core/phrases.ts';
import type { TranscribeSettings } from '../../core/policies/conversation-fields.ts';
import type { Transcripts } from '../../core/ports/converters.ts';
import type { MediaSource } from '../../core/ports/media.ts';
import { withoutTrailing } from '../../core/text.ts';
import type { PendingTurn } from '../../core/turns/turn.ts';
import type { AgentTransport } from '../agents/transport/agent-transport.ts';
import { bodyText, parsedJson } from '../agents/transport/error-text.ts';

const DEFAULT_MODEL = 'whisper-1';
const MAX_BYTES = 1024 * 1024;
/** Longest transcript, in characters: more than an hour of speech. */
const MAX_CHARS = 100_000;
/** Transcripts in memory. */
const CACHED = 500;

interface HttpTranscriptsDeps extends AudioServerDeps {
  media: Pick<MediaSource, 'load'>;
}

/**
 * Transcripts from an OpenAI-compatible server. The same file, such as a forwarded one, is sent once: its transcript is
 * cached by the hash of the file.
 */
export class HttpTranscripts implements Transcripts {
  readonly #deps: HttpTranscriptsDeps;
  readonly #known = new LRUCache<string, string>({ max: CACHED });

  constructor(deps: HttpTranscriptsDeps) {
    this.#deps = deps;
  }

  async textOf(turn: PendingTurn, settings: TranscribeSettings, signal: AbortSignal): Promise<string> {
    const bytes = await this.#deps.media.load(turn, signal);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const key = JSON.stringify([settings.url, settings.model, hash]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const text = await this.#ask(bytes, turn.message.media?.mimeType, settings, signal);
    this.#known.set(key, text);
    return text;
  }

  async #ask(
    bytes: Uint8Array,
    mimeType = 'audio/ogg',
    { url, model = DEFAULT_MODEL, headers = {} }: TranscribeSettings,
    signal: AbortSignal,
  ): Promise<string> {
    const form = new FormData();
    const type = mimeType.split(';')[0]?.trim() ?? '';
    form.append('file', new Blob([Uint8Array.from(bytes)], { type }), `voice.${extensionOf(type, bytes)}`);
    form.append('model', model);
    form.append('response_format', 'json');
    const encoded = new Response(form);
    const request = {
      url: audioUrl(url, '/audio/transcriptions'),
      headers: { ...headers, 'content-type': encoded.headers.get('content-type') ?? '' },
      body: new Uint8Array(await encoded.arrayBuffer()),
      ...{
        maxBytes: MAX_BYTES,
        server: say('audio.transcription-server'),
        setting: 'config.media.transcribe',
      },
    };
    const answer = await askAudioServer(this.#deps, request, signal);
    return transcriptIn(bodyText(answer), answer.headers.get('content-type') ?? '');
  }
}

function transcriptIn(body: string, contentType: string): string {
  const json = parsedJson(body);
  const isJson = /\bjson\b/.test(contentType) || body.trimStart().startsWith('{');
  const text = isJson ? (json as { text?: unknown } | null | undefined)?.text : body;
  if (typeof text !== 'string') throw new AgentProtocolError(say('audio.no-text'));
  return text.trim().slice(0, MAX_CHARS);
}

/** The endings by which transcription servers know a format, by the type without `x-`. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  ...{
    mpeg: 'mp3',
    mp3: 'mp3',
    mp4: 'm4a',
    m4a: 'm4a',
    'mp4a-latm': 'm4a',
    aac: 'aac',
    amr: 'amr',
    webm: 'webm',
  },
  ...{
    wav: 'wav',
    wave: 'wav',
    'vnd.wave': 'wav',
    flac: 'flac',
    '3gpp': '3gp',
    '3gpp2': '3g2',
    opus: 'ogg',
    ogg: 'ogg',
  },
};

/** By the declared type; by the first bytes when that type has no known ending. */
function extensionOf(mimeType: string, bytes: Uint8Array): string {
  const known = (type: string) => EXTENSIONS[type.toLowerCase().replace(/^\w+\/(?:x-)?/, '')];
  const detected = detectMediaType(bytes)?.split(';')[0] ?? '';
  return known(mimeType) ?? known(detected) ?? 'ogg';
}

const TIMEOUT_MS = 60_000;
/** Attempts while the server is unavailable, and the wait between them. */
const ATTEMPTS = 2;
const WAIT_MS = 1_000;

export interface AudioServerDeps {
  transport: AgentTransport;
  clock: Clock;
}

/** A request to a server of sounds. */
interface AudioRequest {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  /** Of the answer. */
  maxBytes: number;
  /** The name of the server in sentences: `transcription server`. */
  server: Said;
  /** The setting that names it. */
  setting: string;
}

/**
 * Sends a request, at most twice and at most a minute each time. No sentence has words of the server, which may quote a header.
 * @throws {AgentUnavailableError} {AgentProtocolError} there is no answer · the signal's reason when it aborts
 */
export async function askAudioServer(
  { transport, clock }: AudioServerDeps,
  request: AudioRequest,
  signal: AbortSignal | undefined,
): Promise<{ headers: Headers; body: Buffer }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withLimit(clock, TIMEOUT_MS, signal, (limited) => send(transport, request, limited));
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt >= ATTEMPTS || !(error instanceof AgentUnavailableError)) throw error;
      await clock.sleep(WAIT_MS, signal);
    }
  }
}

/** The address of a request: the path is added unless the URL has it. */
export function audioUrl(address: string, path: string): string {
  const url = new URL(address);
  const own = withoutTrailing(url.pathname, '/');
  if (own.endsWith(path)) return address;
  url.pathname = `${/\/v\d/.test(own) ? own : `${own}/v1`}${path}`;
  return url.href;
}

async function send(
  transport: AgentTransport,
  { url, headers, body, maxBytes, server, setting }: AudioRequest,
  signal: AbortSignal,
): Promise<{ headers: Headers; body: Buffer }> {
  const fetched = await transport.fetch(url, {
    ...{ method: 'POST', headers: new Headers(headers), body, signal, maxBytes },
  });
  if (fetched.kind === 'fault') {
    if (fetched.fault === 'refused') {
      throw new AgentProtocolError(say('audio.refused', { server }), { code: 'AGENT_ADDRESS_REFUSED' });
    }
    if (fetched.fault === 'too-large') throw new AgentProtocolError(say('audio.too-much', { server }));
    throw new AgentUnavailableError(say('audio.silent', { server }));
  }
  const { status } = fetched;
  if (status === 429 || status >= 500) {
    throw new AgentUnavailableError(say('audio.status', { server, status }));
  }
  if (status < 200 || status > 299) {
    throw new AgentProtocolError(say('audio.check-setting', { server, status, setting }));
  }
  return fetched;
}
