import type { Phrase } from '../translation/en.ts';

/** A sentence of the service. */
interface Sentence {
  text: string;
  phrase?: Phrase;
}

/** A request to the agent. */
export interface Attempt {
  /** From 1, over all turns of the message. Absent: no request was sent. */
  number?: number;
  atMs?: number;
  /** How long it took. */
  ms?: number;
  /** Why it failed, and what that means for the message. */
  code?: string;
  disposition?: string;
  error?: string;
  phrase?: Phrase;
  /** The wait before the next one. */
  waitMs?: number;
}

/** One line of the trace of a turn. */
export interface TraceStep {
  /** `rule` says whether a route took the message, `call` is what the client of the agent says about its request. */
  kind: 'rule' | 'step' | 'agent' | 'call';
  /** The name of a rule, else a word of wa2ai. */
  title: string;
  routeId?: string;
  outcome?: string;
  sentence?: Sentence;
  /** What a rule asked of the message, and whether it was so. */
  conditions: Array<Sentence & { holds: boolean }>;
  attempts: Attempt[];
  /** What else the step says, such as the call of an ABI agent, as JSON. */
  more?: string;
}

const SHOWN = new Set([
  ...['step', 'policy', 'outcome', 'sentence', 'phrase', 'attempts', 'conditions', 'reason'],
  ...['routeId', 'name', 'channelId', 'priority'],
]);

/** The stored trace of a turn, or that of an explanation, as lines. Total: of an unknown entry `more` has all. */
export function traceSteps(trace: unknown): TraceStep[] {
  const entries = Array.isArray(trace) ? trace : isRecord(trace) ? [trace] : [];
  return entries.map((entry): TraceStep => {
    if (!isRecord(entry)) return { kind: 'step', title: String(entry), conditions: [], attempts: [] };
    const more = Object.fromEntries(Object.entries(entry).filter(([key]) => !SHOWN.has(key)));
    const step = word(entry.step) ?? word(entry.policy);
    const routeId = word(entry.routeId);
    const outcome = word(entry.outcome);
    const sentence = sentenceOf(entry);
    return {
      kind:
        step === 'agent' ? 'agent' : step !== undefined ? 'step' : routeId !== undefined ? 'rule' : 'call',
      title: step ?? word(entry.name) ?? word(entry.channelId) ?? routeId ?? '?',
      ...(routeId !== undefined && { routeId }),
      ...(outcome !== undefined && { outcome }),
      ...(sentence && { sentence }),
      conditions: recordsOf(entry.conditions).flatMap((each) => {
        const said = sentenceOf(each);
        return said ? [{ ...said, holds: each.holds === true }] : [];
      }),
      attempts: recordsOf(entry.attempts).map(attemptOf),
      ...(Object.keys(more).length > 0 && { more: JSON.stringify(more, null, 2) }),
    };
  });
}

/** The name of a route as the trace has it; undefined when it has none. */
export function routeNameIn(trace: unknown, routeId: string): string | undefined {
  const entries = recordsOf(trace);
  return entries.flatMap((entry) => (entry.routeId === routeId ? (word(entry.name) ?? []) : []))[0];
}

/**
 * A time limit for an agent of which attempts ended at the limit, in milliseconds; undefined when none did.
 * @param agentMs how long all attempts took together
 */
export function suggestedLimitMs(trace: unknown, agentMs: number | undefined): number | undefined {
  const attempts = traceSteps(trace).flatMap((step) => step.attempts);
  const ended = attempts.filter(({ code }) => code === 'AGENT_TIMEOUT');
  if (ended.length === 0) return undefined;
  const longest = Math.max(...ended.map(({ ms = 0 }) => ms), agentMs ?? 0);
  return Math.min(Math.ceil((longest * 2) / 10_000) * 10_000, 3_600_000);
}

function attemptOf(entry: Record<string, unknown>): Attempt {
  const atMs = Date.parse(word(entry.at) ?? '');
  return Object.fromEntries(
    Object.entries({
      number: count(entry.attempt),
      atMs: count(atMs),
      ms: count(entry.agentMs),
      code: word(entry.code),
      disposition: word(entry.disposition),
      error: word(entry.error),
      phrase: isPhrase(entry.phrase) ? entry.phrase : undefined,
      waitMs: count(entry.waitMs),
    }).filter(([, value]) => value !== undefined),
  );
}

function sentenceOf({ sentence, phrase }: Record<string, unknown>): Sentence | undefined {
  const text = word(sentence);
  return text === undefined ? undefined : { text, ...(isPhrase(phrase) && { phrase }) };
}

function isPhrase(value: unknown): value is Phrase {
  return isRecord(value) && typeof value.code === 'string';
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function recordsOf(value: unknown): Array<Record<string, unknown>> {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

function word(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
}
