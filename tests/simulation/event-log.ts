import { createHash } from 'node:crypto';
import type { Logger } from '../../router/src/core/logger.ts';
import type { VirtualTime } from './virtual-time.ts';

interface LoggedEvent {
  atMs: number;
  /** A process, `database`, `whatsapp`, `agent`, a person, or `world`. */
  who: string;
  what: string;
}

/** Most lines of one timeline. */
const MAX_LINES = 150;
/** Most characters of one value of a log line. */
const MAX_VALUE_CHARS = 160;

/** Rows are named by table and id, in log lines as in statements. */
const ID_FIELDS: Record<string, string> = { messageId: 'message#', outboxId: 'outbox#', chatId: 'chat#' };

/** Everything that happened in one simulation, in order. */
export class EventLog {
  readonly #time: VirtualTime;
  readonly #events: LoggedEvent[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  get length(): number {
    return this.#events.length;
  }

  add(who: string, what: string): void {
    this.#events.push({ atMs: this.#time.nowMs, who, what });
  }

  /** The same for two simulations in which the same happened at the same times. */
  digest(): string {
    const hash = createHash('sha256');
    for (const { atMs, who, what } of this.#events) hash.update(`${atMs} ${who} ${what}\n`);
    return hash.digest('hex');
  }

  lines(): string[] {
    return this.#events.map(lineOf);
  }

  /** The events that name one of these ids, with the faults between the first and the last of them. */
  timeline(ids: ReadonlySet<string>): string[] {
    const isAbout = ({ what }: LoggedEvent) => what.split(/[^\w.@:#-]+/).some((word) => ids.has(word));
    const about = this.#events.map(isAbout);
    const [first, last] = [about.indexOf(true), about.lastIndexOf(true)];
    if (first < 0) return ['(nothing was logged about it)'];
    const shown = this.#events.filter(
      ({ who }, index) => about[index] || (who === 'world' && index > first && index < last),
    );
    const omitted = shown.length - MAX_LINES;
    const lines = shown.map(lineOf);
    if (omitted <= 0) return lines;
    const half = MAX_LINES / 2;
    return [...lines.slice(0, half), `... ${omitted} more ...`, ...lines.slice(-half)];
  }
}

function lineOf({ atMs, who, what }: LoggedEvent): string {
  return `${atMs.toFixed(1).padStart(10)} ms  ${who}: ${what}`;
}

/** The log of a simulated node. Each line is an event. */
export function simLogger(log: EventLog, who: string, bindings: Record<string, unknown> = {}): Logger {
  const write = (level: string) => (fields: object, message: string) => {
    log.add(who, `${level} "${message}"${textOf({ ...bindings, ...fields })}`);
  };
  return {
    trace: () => undefined,
    debug: write('debug'),
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    child: (more) => simLogger(log, who, { ...bindings, ...more }),
  };
}

function textOf(fields: Record<string, unknown>): string {
  let text = '';
  for (const [name, value] of Object.entries(fields)) {
    if (value === undefined || name === 'mod') continue;
    const prefix = ID_FIELDS[name] ?? '';
    const shown = prefix + (value instanceof Error ? `${value.name}: ${value.message}` : plainText(value));
    text += ` ${name}=${shown.slice(0, MAX_VALUE_CHARS)}`;
  }
  return text;
}

function plainText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value);
  return JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? String(part) : part));
}
