import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { AgentProtocolError, AgentUnavailableError } from '../../core/errors.ts';
import type { TranscribeSettings } from '../../core/policies/media-fields.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { MediaSource } from '../../core/ports/media.ts';
import type { Transcripts } from '../../core/ports/transcripts.ts';
import { withLimit } from '../../core/time-limit.ts';
import type { PendingTurn } from '../../core/turns/turn.ts';
import type { AgentTransport } from '../agents/transport/agent-transport.ts';

const PATH = '/audio/transcriptions';
const DEFAULT_MODEL = 'whisper-1';
const TIMEOUT_MS = 60_000;
const MAX_BYTES = 1024 * 1024;
/** Longest transcript, in characters: more than an hour of speech. */
const MAX_CHARS = 100_000;
/** Transcripts in memory. */
const CACHED = 500;
/** Attempts while the server is unavailable, and the wait between them. */
const ATTEMPTS = 2;
const WAIT_MS = 1_000;

export interface HttpTranscriptsDeps {
  media: Pick<MediaSource, 'load'>;
  transport: AgentTransport;
  clock: Clock;
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
    const { media, clock } = this.#deps;
    const bytes = await media.load(turn, signal);
    const hash = createHash('sha256').update(bytes).digest('hex');
    const key = JSON.stringify([settings.url, settings.model, hash]);
    let text = this.#known.get(key);
    for (let attempt = 1; text === undefined; attempt += 1) {
      try {
        text = await withLimit(clock, TIMEOUT_MS, signal, (limited) =>
          this.#ask(bytes, turn.message.media?.mimeType, settings, limited),
        );
      } catch (error) {
        signal.throwIfAborted();
        if (attempt >= ATTEMPTS || !(error instanceof AgentUnavailableError)) throw error;
        await clock.sleep(WAIT_MS, signal);
      }
    }
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
    form.append('file', new Blob([Uint8Array.from(bytes)], { type }), `voice.${extensionOf(type)}`);
    form.append('model', model);
    form.append('response_format', 'json');
    const encoded = new Response(form);
    const fetched = await this.#deps.transport.fetch(transcriptionUrl(url), {
      method: 'POST',
      headers: new Headers({ ...headers, 'content-type': encoded.headers.get('content-type') ?? '' }),
      body: new Uint8Array(await encoded.arrayBuffer()),
      signal,
      maxBytes: MAX_BYTES,
    });
    // The server's own words may quote a header, so no sentence has them.
    if (fetched.kind === 'fault') {
      if (fetched.fault === 'refused')
        throw new AgentProtocolError('The egress rule refuses the address of the transcription server.', {
          code: 'AGENT_ADDRESS_REFUSED',
        });
      if (fetched.fault === 'too-large')
        throw new AgentProtocolError('The transcription server answered too much.');
      throw new AgentUnavailableError('The transcription server did not answer.');
    }
    const { status } = fetched;
    if (status === 429 || status >= 500)
      throw new AgentUnavailableError(`The transcription server answered status ${status}.`);
    if (status < 200 || status > 299)
      throw new AgentProtocolError(
        `The transcription server answered status ${status}. Check config.media.transcribe.`,
      );
    return transcriptIn(fetched.body.toString('utf8'), fetched.headers.get('content-type') ?? '');
  }
}

/** The address of the request: the path is added unless the URL has it. */
export function transcriptionUrl(address: string): string {
  const url = new URL(address);
  const path = url.pathname.replace(/\/+$/, '');
  if (path.endsWith(PATH)) return address;
  url.pathname = `${/\/v\d/.test(path) ? path : `${path}/v1`}${PATH}`;
  return url.href;
}

function transcriptIn(body: string, contentType: string): string {
  let text: unknown = body;
  if (/\bjson\b/.test(contentType) || body.trimStart().startsWith('{')) {
    try {
      text = (JSON.parse(body) as { text?: unknown } | null)?.text;
    } catch {
      text = undefined;
    }
  }
  if (typeof text !== 'string')
    throw new AgentProtocolError('The transcription server answered without a text.');
  return text.trim().slice(0, MAX_CHARS);
}

function extensionOf(mimeType: string): string {
  const known: Record<string, string> = { 'audio/mpeg': 'mp3', 'audio/mp4': 'm4a', 'audio/wav': 'wav' };
  return known[mimeType] ?? 'ogg';
}
