import type { Message, Received, Sent } from './chat-types.ts';
import { type Attempt, type TraceStep, traceSteps } from './trace-steps.ts';

/** Why a message waited before its agent was asked, as far as the console knows it. */
type WaitReason = 'earlier' | 'lines' | 'voice' | 'again' | 'turn';

/** A part of the way of a message. Times are epoch milliseconds. */
export type TimelineRow =
  /** `lateMs`: it was written so long before. */
  | { kind: 'received'; atMs: number; lateMs?: number }
  /** `endMs` absent: it still waits. */
  | { kind: 'waited'; atMs: number; endMs?: number; why: WaitReason[] }
  /** The rule that took the message; absent: none did. */
  | { kind: 'route'; chosen?: TraceStep; others: TraceStep[] }
  | { kind: 'step'; step: TraceStep }
  /** `calls`: what the client of the agent says about its request. `isLast`: no other agent was asked after it. */
  | { kind: 'agent'; step: TraceStep; calls: TraceStep[]; isLast: boolean }
  | { kind: 'result'; atMs?: number }
  | { kind: 'reply'; reply: Sent };

/** The way of a message in the order in which it went. */
export interface Timeline {
  rows: TimelineRow[];
  /** From the receipt until WhatsApp had the last answer; the times before and after have no place in the bar. */
  beginMs: number;
  endMs: number;
}

/** WhatsApp says in whole seconds when a message was written, and phones know the time about as well. */
const LATE_MS = 5_000;

/** Without an agent, a shorter wait says nothing. */
const LONG_MS = 1_000;

/**
 * What became of a message: received, waited, route, agent, answers.
 * @param messages of the chat, as far as they are loaded, in any order
 */
export function timelineOf(turn: Received, messages: Iterable<Message>): Timeline {
  const beginMs = Date.parse(turn.receivedAt);
  const finishedMs = turn.finishedAt === undefined ? undefined : Date.parse(turn.finishedAt);
  const known = [...messages];
  const replies = repliesTo(turn, known);
  const steps = traceSteps(turn.trace);
  const attempts = steps.flatMap((step) => step.attempts);
  const rules = steps.filter(({ kind }) => kind === 'rule');
  const agents = steps.filter(({ kind }) => kind === 'agent');
  const lateMs = turn.sentAt === undefined ? 0 : beginMs - Date.parse(turn.sentAt);
  const rows: TimelineRow[] = [
    { kind: 'received', atMs: beginMs, ...(lateMs >= LATE_MS && { lateMs }) },
    ...waitOf(turn, known, steps, attempts[0], finishedMs),
  ];
  for (const step of steps) {
    if (step === rules[0]) rows.push(routeOf(rules));
    if (step.kind === 'step') rows.push({ kind: 'step', step });
    if (step.kind === 'agent') rows.push({ kind: 'agent', step, calls: [], isLast: step === agents.at(-1) });
    if (step.kind === 'call') {
      const agent = rows.findLast((row) => row.kind === 'agent');
      if (agent) agent.calls.push(step);
      else rows.push({ kind: 'step', step });
    }
  }
  if (turn.state !== 'received') {
    rows.push({ kind: 'result', ...(finishedMs !== undefined && { atMs: finishedMs }) });
  }
  rows.push(...replies.map((reply): TimelineRow => ({ kind: 'reply', reply })));
  const ends = [
    finishedMs,
    ...attempts.map(endOf),
    ...replies.map(({ ackedAt, sentAt }) => ackedAt ?? sentAt).map((at) => at && Date.parse(at)),
  ];
  const endMs = Math.max(beginMs, ...ends.filter((end): end is number => typeof end === 'number'));
  return { rows, beginMs, endMs };
}

function routeOf(rules: readonly TraceStep[]): TimelineRow {
  const chosen = rules.find(({ outcome }) => outcome === 'chosen');
  return { kind: 'route', ...(chosen && { chosen }), others: rules.filter((rule) => rule !== chosen) };
}

function repliesTo(turn: Received, known: readonly Message[]): Sent[] {
  const loaded = known.filter(
    (each): each is Sent => each.direction === 'outgoing' && each.messageId === turn.id,
  );
  const others = (turn.replies ?? []).filter((reply) => !loaded.some(({ id }) => id === reply.id));
  return [...loaded, ...others].sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
}

function waitOf(
  turn: Received,
  known: readonly Message[],
  steps: readonly TraceStep[],
  first: Attempt | undefined,
  finishedMs: number | undefined,
): TimelineRow[] {
  const atMs = Date.parse(turn.receivedAt);
  const endMs = first?.atMs ?? finishedMs;
  const isWaiting = turn.state === 'received';
  if (isWaiting ? endMs !== undefined : endMs === undefined || endMs <= atMs) return [];
  if (!isWaiting && first?.atMs === undefined && (endMs ?? 0) - atMs < LONG_MS) return [];
  const has = (title: string) => steps.some((step) => step.kind === 'step' && step.title === title);
  const isQueued = known.some(
    (each) =>
      each.direction === 'incoming' &&
      BigInt(each.id) < BigInt(turn.id) &&
      (each.finishedAt === undefined ? each.state === 'received' : Date.parse(each.finishedAt) > atMs),
  );
  const why: WaitReason[] = [
    ...(isQueued ? (['earlier'] as const) : []),
    ...(has('pace') ? (['lines'] as const) : []),
    ...(has('transcribe') ? (['voice'] as const) : []),
    ...((first?.number ?? 1) > 1 ? (['again'] as const) : []),
  ];
  return [
    { kind: 'waited', atMs, ...(endMs !== undefined && { endMs }), why: why.length > 0 ? why : ['turn'] },
  ];
}

function endOf({ atMs, ms = 0 }: Attempt): number | undefined {
  return atMs === undefined ? undefined : atMs + ms;
}
