/** One line of the answer to a pull. Docker and podman use different words, and both report failures in such a line. */
export interface PullLine {
  id?: string;
  status?: string;
  error?: string;
  progressDetail?: { current?: number; total?: number };
}

/** Adds up what a pull reports of its layers. */
export class PullProgress {
  readonly #layers = new Map<string, number>();

  /** Why the pull failed, when the line says so: it may be part of an answer with status 200. */
  errorIn(line: PullLine): string | undefined {
    return line.error?.trim() || undefined;
  }

  /** The share that is done after this line, from 0 to 1; it may go back when the engine finds another layer. */
  shareAfter({ id, status = '', progressDetail }: PullLine): number {
    if (id !== undefined && id !== 'latest' && !/[./:]/.test(id)) {
      const { current = 0, total = 0 } = progressDetail ?? {};
      const isDone = /^(?:pull complete|already exists|download complete)$/i.test(status);
      const part = total > 0 ? Math.min(current / total, 1) : 0;
      this.#layers.set(id, Math.max(this.#layers.get(id) ?? 0, isDone ? 1 : part));
    }
    if (this.#layers.size === 0) return 0;
    let sum = 0;
    for (const part of this.#layers.values()) sum += part;
    return sum / this.#layers.size;
  }
}
