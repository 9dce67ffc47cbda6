import type { ServerResponse } from 'node:http';
import type { WhatsAppEmulator } from './emulator.ts';
import type { TranscriptEntry } from './transcript.ts';

/** Sends new lines of the transcript to its watchers. */
export class TranscriptFeed {
  readonly #emulator: WhatsAppEmulator;
  readonly #watchers = new Set<() => void>();
  #isPending = false;

  constructor(emulator: WhatsAppEmulator) {
    this.#emulator = emulator;
    for (const event of ['stanza', 'reply', 'unreadable', 'receipt'] as const) {
      emulator.events.on(event, () => this.nudge());
    }
  }

  /** Called when lines may have been added; watchers are notified after the current work. */
  nudge(): void {
    if (this.#isPending || this.#watchers.size === 0) return;
    this.#isPending = true;
    setImmediate(() => {
      this.#isPending = false;
      for (const watcher of [...this.#watchers]) watcher();
    });
  }

  /** Entries with a higher `seq`, in order. */
  after(seq: number): TranscriptEntry[] {
    return this.#emulator.transcript().filter((entry) => entry.seq > seq);
  }

  /** The same, but waits for the first one; returns an empty list when none arrives in time. */
  async waitAfter(seq: number, waitMs: number): Promise<TranscriptEntry[]> {
    const entries = this.after(seq);
    if (entries.length > 0 || waitMs === 0) return entries;
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#watchers.delete(watcher);
        resolve();
      };
      const watcher = () => {
        if (this.after(seq).length > 0) done();
      };
      const timer = setTimeout(done, waitMs);
      this.#watchers.add(watcher);
    });
    return this.after(seq);
  }

  /** Server-sent events, one per entry with its `seq` as `id`, until the reader disconnects. */
  stream(response: ServerResponse, seq: number): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(': the transcript of the emulator\n\n');
    let last = seq;
    const watcher = () => {
      for (const entry of this.after(last)) {
        last = entry.seq;
        response.write(`id: ${entry.seq}\ndata: ${JSON.stringify(entry)}\n\n`);
      }
    };
    this.#watchers.add(watcher);
    response.on('close', () => this.#watchers.delete(watcher));
    watcher();
  }
}
