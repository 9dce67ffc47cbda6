import { createHash } from 'node:crypto';
import { type Clock, withLimit } from '../../core/clock.ts';
import {
  checkSize,
  type GivenFile,
  isVoiceNote,
  sendableFile,
  type WantedFile,
} from '../../core/delivery/agent-file.ts';
import type { FileToSend } from '../../core/delivery/send-message.ts';
import { FileRefusedError } from '../../core/errors.ts';
import { Slots } from '../../core/keyed-queue.ts';
import { MAX_MEDIA_BYTES, type MediaKind, type ReplyFile } from '../../core/models.ts';
import { type Said, say } from '../../core/phrases.ts';
import type { VoiceEncoder } from '../../core/ports/converters.ts';
import type { WebFiles } from '../../core/ports/media.ts';
import type { AgentTransport } from '../agents/transport/agent-transport.ts';
import type { Fetched } from '../agents/transport/bounded-fetch.ts';

const MAX_REDIRECTS = 3;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Longest time for a file, redirects included. */
const TIMEOUT_MS = 20_000;
/** Files in memory at a time, however many requests name one. */
const LOADS_AT_ONCE = 4;

interface WebFilesDeps {
  /** Its egress rule decides which addresses are allowed, at each redirect again. */
  transport: AgentTransport;
  clock: Clock;
}

/** Loads files over HTTP. Addresses may contain secrets, so neither sentences nor logs have more of them than the host. */
export class HttpWebFiles implements WebFiles {
  readonly #deps: WebFilesDeps;
  readonly #slots = new Slots(LOADS_AT_ONCE);

  constructor(deps: WebFilesDeps) {
    this.#deps = deps;
  }

  load(
    url: string,
    { signal, hosts }: { signal?: AbortSignal; hosts?: readonly string[] } = {},
  ): Promise<GivenFile> {
    return this.#slots.run(async () => {
      signal?.throwIfAborted();
      return withLimit(this.#deps.clock, TIMEOUT_MS, signal, async (limited) => {
        const file = await this.#follow(url, limited, hosts);
        signal?.throwIfAborted();
        return file;
      });
    });
  }

  async #follow(
    address: string,
    signal: AbortSignal,
    hosts: readonly string[] | undefined,
  ): Promise<GivenFile> {
    let url = address;
    for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
      if (hosts && !hosts.includes(new URL(url).host)) throw refused(url, say('web-file.not-a-host'));
      const fetched = await this.#deps.transport.fetch(url, {
        method: 'GET',
        headers: new Headers({ accept: '*/*' }),
        signal,
        maxBytes: MAX_MEDIA_BYTES,
      });
      if (fetched.kind === 'fault') throw refused(url, REASONS[fetched.fault]);
      const location = REDIRECTS.has(fetched.status) ? fetched.headers.get('location') : null;
      if (location === null) return fileOf(url, fetched);
      if (!URL.canParse(location, url) || !/^https?:$/.test(new URL(location, url).protocol)) {
        throw refused(url, say('web-file.redirects-elsewhere'));
      }
      url = new URL(location, url).href;
    }
    throw refused(url, say('web-file.too-many-redirects', { max: MAX_REDIRECTS }));
  }
}

const REASONS: Record<Extract<Fetched, { kind: 'fault' }>['fault'], Said> = {
  refused: say('web-file.refused'),
  'not-connected': say('web-file.not-connected'),
  'no-answer': say('web-file.no-answer'),
  broken: say('web-file.broken'),
  'too-large': say('web-file.too-large', { megabytes: MAX_MEDIA_BYTES / 1_000_000 }),
  aborted: say('web-file.aborted', { seconds: TIMEOUT_MS / 1_000 }),
};

function fileOf(url: string, { status, headers, body }: Extract<Fetched, { kind: 'answer' }>): GivenFile {
  if (status !== 200) throw refused(url, say('web-file.status', { status }));
  const mimeType = headers.get('content-type') ?? undefined;
  const name = nameIn(url);
  return { bytes: body, ...(mimeType && { mimeType }), ...(name && { fileName: name }) };
}

function nameIn(url: string): string {
  const last = new URL(url).pathname.split('/').at(-1) ?? '';
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

function refused(url: string, why: Said): FileRefusedError {
  return new FileRefusedError(say('web-file.not-loaded', { host: new URL(url).host, why }));
}

interface FilesToSendDeps {
  webFiles: WebFiles;
  voice: VoiceEncoder;
}

/** Makes the files of programs ready to be sent. */
export class FilesToSend {
  readonly #deps: FilesToSendDeps;

  constructor(deps: FilesToSendDeps) {
    this.#deps = deps;
  }

  /** Nothing is loaded or converted before `load`. */
  prepare(kind: MediaKind, wanted: WantedFile): FileToSend {
    return {
      kind,
      source: `${kind} ${sourceOf(wanted)}`,
      load: () => this.#load(kind, wanted),
    };
  }

  async #load(kind: MediaKind, wanted: WantedFile): Promise<ReplyFile> {
    const given = 'url' in wanted ? await this.#fromWeb(wanted) : wanted;
    checkSize(given.bytes.length);
    const bytes =
      kind === 'voice' && given.bytes.length > 0 && !isVoiceNote(given.bytes)
        ? await this.#deps.voice.encode(given.bytes)
        : given.bytes;
    return sendableFile(kind, { ...given, bytes });
  }

  async #fromWeb(wanted: { url: string; fileName?: string }): Promise<GivenFile> {
    const loaded = await this.#deps.webFiles.load(wanted.url);
    return wanted.fileName === undefined ? loaded : { ...loaded, fileName: wanted.fileName };
  }
}

/** By which a repeat of the same request is found; of an address only its hash is stored. */
function sourceOf(wanted: WantedFile): string {
  const hash = createHash('sha256');
  return 'url' in wanted
    ? `url ${hash.update(wanted.url).digest('hex')}`
    : `bytes ${hash.update(wanted.bytes).digest('hex')}`;
}
