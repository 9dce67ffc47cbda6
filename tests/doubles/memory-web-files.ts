import type { GivenFile } from '../../router/src/core/delivery/agent-file.ts';
import { FileRefusedError } from '../../router/src/core/errors.ts';
import type { WebFiles } from '../../router/src/core/ports/media.ts';

/** Files of the web, by address. */
export class MemoryWebFiles implements WebFiles {
  readonly files = new Map<string, GivenFile>();
  /** Addresses that were asked for, in order. */
  readonly loaded: string[] = [];

  async load(url: string, { signal }: { signal?: AbortSignal } = {}): Promise<GivenFile> {
    signal?.throwIfAborted();
    this.loaded.push(url);
    const file = this.files.get(url);
    if (!file)
      throw new FileRefusedError({
        sentence: `The file was not loaded: ${new URL(url).host} answered status 404.`,
      });
    return file;
  }
}
