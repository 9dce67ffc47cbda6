const MAX_LINES = 2_000;
/** Of all lines together. */
const MAX_CHARS = 4_000_000;

/** A line of the log, as it was written. */
interface RingLine {
  /** One more than that of the line before, from 1. */
  position: number;
  /** JSON. */
  text: string;
}

/**
 * The newest lines of the log of this process, as pino wrote them: redacted, and serialised once. A line costs the log no more than
 * its place in an array; it is parsed when somebody reads it.
 */
export class LogRing {
  /** Of this process; positions of another one are none of this ring. */
  readonly run: string;
  readonly #lines: Array<string | undefined> = new Array(MAX_LINES);
  #last = 0;
  /** Position of the oldest line that is here. */
  #first = 1;
  #chars = 0;
  readonly #waiting = new Set<() => void>();
  #isStopped = false;

  /** @param run letters and digits that no other process has */
  constructor(run: string) {
    this.run = run;
  }

  /** Position of the newest line; 0: there is none. */
  get last(): number {
    return this.#last;
  }

  /** Position of the oldest line that is here; one more than `last`: there is none. */
  get first(): number {
    return this.#first;
  }

  /** Nobody waits for lines any more. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Ends all waits: the process stops. Lines are still added. */
  stop(): void {
    this.#isStopped = true;
    for (const wake of [...this.#waiting]) wake();
  }

  /** Adds a line, with or without the line break. Never throws. */
  add(text: string): void {
    if (this.#last - this.#first + 1 === MAX_LINES) this.#drop();
    this.#last += 1;
    this.#lines[this.#last % MAX_LINES] = text;
    this.#chars += text.length;
    while (this.#chars > MAX_CHARS) this.#drop();
    if (this.#waiting.size > 0) for (const wake of [...this.#waiting]) wake();
  }

  /** The line at a position; undefined: it is not here yet, or not any more. */
  at(position: number): RingLine | undefined {
    if (position < this.#first || position > this.#last) return undefined;
    const text = this.#lines[position % MAX_LINES];
    return text === undefined ? undefined : { position, text };
  }

  /** Resolves when there is a line after this position, when the ring was stopped, or when the signal aborts. */
  async after(position: number, signal: AbortSignal): Promise<void> {
    if (position < this.#last || signal.aborted || this.#isStopped) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        this.#waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', wake);
    });
  }

  #drop(): void {
    const index = this.#first % MAX_LINES;
    this.#chars -= this.#lines[index]?.length ?? 0;
    this.#lines[index] = undefined;
    this.#first += 1;
  }
}
