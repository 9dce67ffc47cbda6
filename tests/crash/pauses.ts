import type { TranscriptEntry } from '../whatsapp-emulator/transcript.ts';

/** How long people waited in a span of time, in milliseconds. */
export interface Pauses {
  /** Longest time in which nobody was answered. */
  silenceMs: number;
  /** Longest time from a question to its answer. */
  slowestMs: number;
  /** Questions that were asked in the span and answered, then or later. */
  answered: number;
}

/** Reads from the judge's record how long people waited between two moments. It counts as silence only if they write on. */
export function pausesOf(entries: readonly TranscriptEntry[], fromMs: number, untilMs: number): Pauses {
  const answeredAtMs = new Map<string, number>();
  for (const { kind, text, atMs } of entries) {
    if (kind === 'read' && text !== undefined && !answeredAtMs.has(text)) answeredAtMs.set(text, atMs);
  }
  let lastMs = fromMs;
  let silenceMs = 0;
  for (const atMs of [...answeredAtMs.values(), untilMs].sort((a, b) => a - b)) {
    if (atMs < fromMs || atMs > untilMs) continue;
    silenceMs = Math.max(silenceMs, atMs - lastMs);
    lastMs = atMs;
  }
  const waits = entries.flatMap(({ kind, text, atMs }) => {
    const endMs = kind === 'in' && atMs >= fromMs && atMs <= untilMs && answeredAtMs.get(`Echo: ${text}`);
    return endMs ? [endMs - atMs] : [];
  });
  return { silenceMs, slowestMs: Math.max(0, ...waits), answered: waits.length };
}
