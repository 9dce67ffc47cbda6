import { createHash } from 'node:crypto';
import type { FileToSend } from '../../core/delivery/send-message.ts';
import {
  checkSize,
  type GivenFile,
  isVoiceNote,
  sendableFile,
  type WantedFile,
} from '../../core/delivery/sendable-file.ts';
import type { MediaKind, ReplyFile } from '../../core/models.ts';
import type { VoiceEncoder } from '../../core/ports/voice-encoder.ts';
import type { WebFiles } from '../../core/ports/web-files.ts';

export interface FilesToSendDeps {
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
