import type { Phrase } from '../translation/en.ts';

/** One line of the trace of a turn. */
export interface TraceStep {
  title: string;
  /** The title is a word of wa2ai, not the name of a route. */
  isWord?: true;
  outcome?: string;
  sentence?: string;
  phrase?: Phrase;
  /** Requests to the agent. */
  attempts: Array<Record<string, string | number | boolean>>;
  /** What else the step says, such as the call of an ABI agent, as JSON. */
  more?: string;
}

const SHOWN = new Set([
  'step',
  'outcome',
  'sentence',
  'phrase',
  'attempts',
  'routeId',
  'name',
  'channelId',
  'priority',
  'policy',
  'reason',
]);

/** The stored trace of a turn, or that of an explanation, as lines. Total: an unknown entry is shown as JSON. */
export function traceSteps(trace: unknown): TraceStep[] {
  const entries = Array.isArray(trace) ? trace : isRecord(trace) ? [trace] : [];
  return entries.map((entry): TraceStep => {
    if (!isRecord(entry)) return { title: String(entry), attempts: [] };
    const more = Object.fromEntries(Object.entries(entry).filter(([key]) => !SHOWN.has(key)));
    const title =
      word(entry.step) ??
      word(entry.policy) ??
      word(entry.name) ??
      word(entry.channelId) ??
      word(entry.routeId) ??
      '?';
    const attempts = Array.isArray(entry.attempts) ? entry.attempts.filter(isRecord).map(flat) : [];
    return {
      title,
      ...((word(entry.step) ?? word(entry.policy)) !== undefined && { isWord: true }),
      ...(word(entry.outcome) !== undefined && { outcome: word(entry.outcome) }),
      ...(word(entry.sentence) !== undefined && { sentence: word(entry.sentence) }),
      ...(isPhrase(entry.phrase) && { phrase: entry.phrase }),
      attempts,
      ...(Object.keys(more).length > 0 && { more: JSON.stringify(more, null, 2) }),
    };
  });
}

/** The name of a route as the trace has it; undefined when it has none. */
export function routeNameIn(trace: unknown, routeId: string): string | undefined {
  const entries = Array.isArray(trace) ? trace.filter(isRecord) : [];
  return entries.flatMap((entry) => (entry.routeId === routeId ? (word(entry.name) ?? []) : []))[0];
}

/**
 * A time limit for an agent of which attempts ended at the limit, in milliseconds; undefined when none did.
 * @param agentMs how long all attempts took together
 */
export function suggestedLimitMs(trace: unknown, agentMs: number | undefined): number | undefined {
  const attempts = traceSteps(trace).flatMap((step) => step.attempts);
  const ended = attempts.filter(({ code }) => code === 'AGENT_TIMEOUT');
  const longest = Math.max(...ended.map((attempt) => Number(attempt.agentMs)), agentMs ?? 0);
  if (ended.length === 0 || !Number.isFinite(longest)) return undefined;
  return Math.min(Math.ceil((longest * 2) / 10_000) * 10_000, 3_600_000);
}

function isPhrase(value: unknown): value is Phrase {
  return isRecord(value) && typeof value.code === 'string';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function flat(attempt: Record<string, unknown>): Record<string, string | number | boolean> {
  return Object.fromEntries(
    Object.entries(attempt).map(([key, value]) => [
      key,
      typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
        ? value
        : JSON.stringify(value),
    ]),
  );
}
