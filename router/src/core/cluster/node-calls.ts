import { type ErrorCode, Wa2aiError } from '../errors.ts';
import type { NodeId } from '../ids.ts';
import type { Clock } from '../ports/clock.ts';
import { within } from '../time-limit.ts';
import type { NodeBus, NodeMessage } from './node-bus.ts';

export interface NodeCallsDeps {
  bus: NodeBus;
  clock: Pick<Clock, 'sleep'>;
  /** A fresh id for a call. */
  newId(): string;
}

/** A method that this node offers: JSON in, JSON out. */
type Method = (args: unknown) => Promise<unknown>;
type Part = Extract<NodeMessage, { kind: 'call' | 'call-result' }>;

/** A message between nodes has at most 8,000 bytes. */
const PART_CHARS = 6_000;
/** Characters of a call or a result, in base64. */
const MAX_CHARS = 2_000_000;
/** Calls and results of which some parts have arrived; the oldest is dropped first. */
const MAX_INCOMPLETE = 100;

/**
 * Calls of one node to another, over the bus. A call or its result may be lost: then nothing is known of what was done, so a
 * method must bear being called again.
 */
export class NodeCalls {
  readonly #deps: NodeCallsDeps;
  readonly #methods = new Map<string, Method>();
  readonly #waiting = new Map<string, (outcome: Outcome) => void>();
  readonly #incomplete = new Map<string, string[]>();

  constructor(deps: NodeCallsDeps) {
    this.#deps = deps;
    const { bus } = deps;
    bus.on('call', (part, from) => {
      if (part.to !== bus.nodeId) return;
      const call = this.#complete(part);
      if (call) void this.#run(part.id, from, call as { method: string; args: unknown });
    });
    bus.on('call-result', (part) => {
      if (!this.#waiting.has(part.id)) return;
      const outcome = this.#complete(part);
      if (outcome) this.#waiting.get(part.id)?.(outcome as Outcome);
    });
  }

  /** Offers a method to other nodes. */
  serve(method: string, run: Method): void {
    this.#methods.set(method, run);
  }

  /**
   * Calls a method of another node.
   * @returns its result; undefined when none came within `waitMs`
   * @throws {Wa2aiError} what the method threw
   */
  async call(
    node: NodeId,
    method: string,
    args: unknown,
    waitMs: number,
  ): Promise<{ value: unknown } | undefined> {
    const id = this.#deps.newId();
    try {
      const arrived = new Promise<Outcome>((resolve) => this.#waiting.set(id, resolve));
      this.#publish('call', id, node, encoded({ method, args }));
      const outcome = await within(this.#deps.clock, waitMs, arrived);
      if (!outcome?.error) return outcome && { value: outcome.value };
      const { code, isLater, message } = outcome.error;
      throw new Wa2aiError(code, isLater ? 'retry' : 'dead', message);
    } finally {
      this.#waiting.delete(id);
    }
  }

  async #run(id: string, from: NodeId, { method, args }: { method: string; args: unknown }): Promise<void> {
    const run = this.#methods.get(method);
    if (!run) return;
    let text: string;
    try {
      text = encoded({ value: await run(args) });
    } catch (error) {
      text = encoded({ error: faultOf(error) });
    }
    this.#publish('call-result', id, from, text);
  }

  #publish(kind: Part['kind'], id: string, to: NodeId, all: string): void {
    const of = Math.ceil(all.length / PART_CHARS);
    for (let number = 0; number < of; number += 1) {
      const text = all.slice(number * PART_CHARS, (number + 1) * PART_CHARS);
      this.#deps.bus.publish({ kind, id, to, number, of, text });
    }
  }

  /** The content when this was its last part. */
  #complete({ kind, id, number, of, text }: Part): object | undefined {
    const key = `${kind} ${id}`;
    const parts = this.#incomplete.get(key) ?? [];
    parts[number] = text;
    if (Object.keys(parts).length < of) {
      this.#incomplete.set(key, parts);
      const [oldest] = this.#incomplete.keys();
      if (this.#incomplete.size > MAX_INCOMPLETE && oldest !== undefined) this.#incomplete.delete(oldest);
      return undefined;
    }
    this.#incomplete.delete(key);
    return JSON.parse(Buffer.from(parts.join(''), 'base64').toString()) as object;
  }
}

interface Outcome {
  value?: unknown;
  error?: { code: ErrorCode; isLater: boolean; message: string };
}

/** @throws {Wa2aiError} it is larger than nodes send */
function encoded(content: object): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64');
  if (text.length <= MAX_CHARS) return text;
  throw new Wa2aiError(
    'TOO_LARGE_FOR_NODE',
    'dead',
    'This is too large to be sent from one node to another.',
  );
}

/** An unknown error stays at this node. */
function faultOf(error: unknown): Outcome['error'] {
  const known = error instanceof Wa2aiError ? error : undefined;
  const message = known?.message ?? 'The other node failed; its log has the cause.';
  return { code: known?.code ?? 'INTERNAL', isLater: known?.disposition !== 'dead', message };
}
