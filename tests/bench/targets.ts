import { round } from './statistics.ts';

/** What the bench measured; `reference` is the bare bot's value, or wa2ai's own in the simpler case. */
export interface Measured {
  wa2ai: number;
  reference?: number;
}

/** Every measurement of `npm run bench`, in the order of the table. */
export const TARGETS = {
  p50: {
    title: 'round trip at 20 messages/s, p50',
    unit: 'ms',
    // 5 ms more than the bare bot's 11.2 ms on the machine of the first measurements
    ratio: { atMost: 1.45 },
  },
  p95: { title: 'the same, p95', unit: 'ms', ratio: { atMost: 1.72 } },
  saturated: { title: 'saturated, 100 chats', unit: 'messages/s', ratio: { atLeast: 1 } },
  nodeCpu: { title: 'processor time per message at 20/s, node', unit: 'ms', ratio: { atMost: 1.1 } },
  postgresCpu: {
    title: 'the same, PostgreSQL (beside the bare bot)',
    unit: 'ms',
    // 2 ms beside the bare bot's 14 ms
    ratio: { atMost: 0.143 },
  },
  strangers: { title: 'first message of 300 people at once', unit: 'messages/s', ratio: { atLeast: 1 } },
  idle: { title: 'idle and connected, node and PostgreSQL', unit: '% of a core', value: { atMost: 0.7 } },
  startMb: { title: 'resident memory of the node after its start', unit: 'MB', value: { atMost: 130 } },
  laterMb: { title: 'the same after 15,000 messages', unit: 'MB', value: { atMost: 220 } },
  start: {
    title: 'start until connected',
    unit: 'ms',
    // 0.9 s beside the bare bot's 0.58 s
    ratio: { atMost: 1.55 },
  },
  recovery: {
    title: 'SIGKILL under load: start again and answer 4 s of messages',
    unit: 'ms',
    // 2 s beside 1.05 s: the bare bot's start, and its time for as many messages
    ratio: { atMost: 1.9 },
  },
  threeNodes: {
    title: 'three nodes with three accounts, processor time per message (beside one node)',
    unit: 'ms',
    ratio: { atMost: 1.1 },
  },
  routes: { title: 'p50 with 100,000 routes (beside one)', unit: 'ms', ratio: { atMost: 1.2 } },
  chats: { title: 'p50 with 100,000 chats (beside few)', unit: 'ms', ratio: { atMost: 1.2 } },
  turns: {
    title: 'p50 at the end of 10,000 turns in a chat (beside its start)',
    unit: 'ms',
    ratio: { atMost: 1.2 },
  },
  unanswered: { title: 'unanswered messages', unit: '', value: { atMost: 0 } },
} as const satisfies Record<string, Target>;

export type MeasureName = keyof typeof TARGETS;

interface Limit {
  atMost?: number;
  atLeast?: number;
}

/** One row of the table, with the limit of wa2ai's value, or of its ratio to the reference. */
export interface Target {
  title: string;
  unit: string;
  value?: Limit;
  ratio?: Limit;
}

/** A measurement beside its target. */
export interface Verdict {
  name: MeasureName;
  target: Target;
  measured: Measured;
  /** wa2ai's value divided by the reference. */
  ratio?: number;
  isMet: boolean;
}

/** @param results some or all measurements; those that are missing get no verdict */
export function judge(results: Partial<Record<MeasureName, Measured>>): Verdict[] {
  return (Object.keys(TARGETS) as MeasureName[]).flatMap((name) => {
    const measured = results[name];
    if (measured === undefined) return [];
    const target: Target = TARGETS[name];
    const ratio = measured.reference === undefined ? undefined : measured.wa2ai / measured.reference;
    const isMet = isWithin(measured.wa2ai, target.value) && isWithin(ratio, target.ratio);
    return [{ name, target, measured, ratio, isMet }];
  });
}

/** A value that was not measured (NaN, undefined) meets no limit. */
function isWithin(value: number | undefined, limit: Limit | undefined): boolean {
  if (limit === undefined) return true;
  const { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY } = limit;
  return value !== undefined && value <= atMost && value >= atLeast;
}

/** `<= 1.1x` */
export function limitText({ value, ratio }: Target): string {
  const limit: Limit = value ?? ratio ?? {};
  const sign = limit.atMost === undefined ? '>=' : '<=';
  const number = limit.atMost ?? limit.atLeast ?? 0;
  return ratio === undefined ? `${sign} ${number}` : `${sign} ${number}x`;
}

/** Digits that a reader can compare: 107, 20.2, 0.63. */
export function shown(value: number): number {
  return round(value, value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
