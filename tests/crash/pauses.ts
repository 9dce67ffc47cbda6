import type { TranscriptEntry } from '../whatsapp-emulator/transcript.ts';

/** How long people waited in an interval, in milliseconds. */
export interface Pauses {
  /** Longest time without any reply. */
  silenceMs: number;
  /** Longest time from a message to its reply. */
  slowestMs: number;
  /** Messages sent in the interval and answered, then or later. */
  answered: number;
}

/** Computes how long people waited between two moments. Meaningful only while people keep writing. */
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
