import type { GivenFile } from '../delivery/sendable-file.ts';

/** Files of web servers. */
export interface WebFiles {
  /**
   * Loads a file. Follows a few redirects; each address is checked by the egress rule.
   * @param url http:// or https://
   * @param options.hosts the only hosts that may be asked, redirects included; absent: every one
   * @throws {FileRefusedError} it was not loaded; the sentence names the host at most
   * @throws the signal's reason when it aborts
   */
  load(url: string, options?: { signal?: AbortSignal; hosts?: readonly string[] }): Promise<GivenFile>;
}
