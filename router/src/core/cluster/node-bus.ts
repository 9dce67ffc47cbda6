import { z } from 'zod';
import type { NodeId } from '../chat-id.ts';
import { type Clock, within } from '../clock.ts';
import { type ErrorCode, Wa2aiError } from '../errors.ts';
import { type Phrase, say } from '../phrases.ts';

/** What nodes send each other, as JSON: its kind and fields. */
export interface NodeMessage {
  readonly kind: string;
}

/**
 * A kind of message between nodes; called with the fields, it makes one. Every message may be lost: a receiver that relies on
 * one also polls the database. Some are sent by PostgreSQL, from the functions in `prisma/functions`.
 */
export interface NodeMessageKind<Fields extends object> {
  (...fields: keyof Fields extends never ? [] : [fields: Fields]): NodeMessage;
  readonly kind: string;
  readonly fields: z.ZodType<Fields>;
}

/**
 * A kind of message between nodes, named by the part that receives it.
 * @param kind nodes of other versions send it too: it never changes its meaning
 */
export function nodeMessage(kind: string): NodeMessageKind<Record<never, never>>;
export function nodeMessage<Shape extends z.ZodRawShape>(
  kind: string,
  shape: Shape,
): NodeMessageKind<z.output<z.ZodObject<Shape>>>;
export function nodeMessage(kind: string, shape: z.ZodRawShape = {}): unknown {
  const make = (fields?: object) => ({ kind, ...fields });
  return Object.assign(make, { kind, fields: z.object(shape) });
}

const envelope = z.object({ from: z.string(), message: z.looseObject({ kind: z.string() }) });

/** What carries messages between the nodes of one database. */
export interface NodeTransport {
  /** Sends to all nodes, this one too; returns immediately, and it may be lost. */
  publish(payload: unknown): void;
}

/** What a transport calls. */
export interface NodeTransportEvents {
  onMessage(payload: unknown): void;
  /** The connection is back after a break, in which messages were lost. */
  onBack(): void;
}

/** Messages between the nodes of one database: parts publish what others must know, and subscribe to what concerns them. */
export class NodeBus<Transport extends NodeTransport = NodeTransport> {
  readonly nodeId: NodeId;
  readonly transport: Transport;
  readonly #handlers = new Map<string, Array<(message: object, from: NodeId) => void>>();
  readonly #onBack: Array<() => void> = [];

  /** @param connect makes the transport */
  constructor(nodeId: NodeId, connect: (events: NodeTransportEvents) => Transport) {
    this.nodeId = nodeId;
    this.transport = connect({
      onMessage: (payload) => this.#receive(payload),
      onBack: () => {
        for (const handler of this.#onBack) handler();
      },
    });
  }

  /** Sends to all other nodes; returns immediately, and no node may receive it. */
  publish(message: NodeMessage): void {
    this.transport.publish({ from: this.nodeId, message });
  }

  /** Calls this node's handlers, and sends to all other nodes. */
  broadcast(message: NodeMessage): void {
    this.#handle(message, this.nodeId);
    this.publish(message);
  }

  /** Handles messages of one kind from other nodes; `from` is the sending node. One whose fields are wrong is ignored. */
  on<Fields extends object>(
    { kind, fields }: Pick<NodeMessageKind<Fields>, 'kind' | 'fields'>,
    handler: (message: Fields, from: NodeId) => void,
  ): void {
    const handle = (message: object, from: NodeId) => {
      const { success, data } = fields.safeParse(message);
      if (success) handler(data, from);
    };
    this.#handlers.set(kind, [...(this.#handlers.get(kind) ?? []), handle]);
  }

  /** Calls `handler` each time the transport is back after a break. */
  onBack(handler: () => void): void {
    this.#onBack.push(handler);
  }

  /** Ignores this node's own messages and those of a version of wa2ai that has other ones. */
  #receive(payload: unknown): void {
    const parsed = envelope.safeParse(payload);
    if (!parsed.success || parsed.data.from === this.nodeId) return;
    this.#handle(parsed.data.message, parsed.data.from);
  }

  #handle(message: NodeMessage, from: NodeId): void {
    for (const handler of this.#handlers.get(message.kind) ?? []) handler(message, from);
  }
}

interface NodeCallsDeps {
  bus: NodeBus;
  clock: Pick<Clock, 'sleep'>;
  /** A fresh id for a call. */
  newId(): string;
}

/** A method that this node offers: JSON in, JSON out. */
type Method = (args: unknown) => Promise<unknown>;

/** A part of what `NodeCalls` sends to the node `to`: part `number`, from 0, of `of`. */
const part = {
  id: z.string(),
  to: z.string(),
  number: z.int().min(0).max(999),
  of: z.int().min(1).max(1_000),
  text: z.string(),
};
export const nodeCall = nodeMessage('call', part);
const callResult = nodeMessage('call-result', part);
type Part = z.output<typeof nodeCall.fields>;

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
    bus.on(nodeCall, (part, from) => {
      if (part.to !== bus.nodeId) return;
      const call = this.#complete(nodeCall.kind, part);
      if (call) void this.#run(part.id, from, call as { method: string; args: unknown });
    });
    bus.on(callResult, (part) => {
      if (!this.#waiting.has(part.id)) return;
      const outcome = this.#complete(callResult.kind, part);
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
      this.#publish(nodeCall, id, node, encoded({ method, args }));
      const outcome = await within(this.#deps.clock, waitMs, arrived);
      if (!outcome?.error) return outcome && { value: outcome.value };
      const { code, isLater, message: sentence, phrase } = outcome.error;
      throw new Wa2aiError(code, isLater ? 'retry' : 'dead', { sentence, ...(phrase && { phrase }) });
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
    this.#publish(callResult, id, from, text);
  }

  #publish(kind: typeof nodeCall, id: string, to: NodeId, all: string): void {
    const of = Math.ceil(all.length / PART_CHARS);
    for (let number = 0; number < of; number += 1) {
      const text = all.slice(number * PART_CHARS, (number + 1) * PART_CHARS);
      this.#deps.bus.publish(kind({ id, to, number, of, text }));
    }
  }

  /** The content when this was its last part. */
  #complete(kind: string, { id, number, of, text }: Part): object | undefined {
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
  error?: { code: ErrorCode; isLater: boolean; message: string; phrase?: Phrase };
}

/** @throws {Wa2aiError} it is larger than nodes send */
function encoded(content: object): string {
  const text = Buffer.from(JSON.stringify(content)).toString('base64');
  if (text.length <= MAX_CHARS) return text;
  throw new Wa2aiError('TOO_LARGE_FOR_NODE', 'dead', say('node.too-large'));
}

/** An unknown error stays at this node. */
function faultOf(error: unknown): Outcome['error'] {
  const known = error instanceof Wa2aiError ? error : undefined;
  const { sentence: message, phrase } = known?.said ?? say('node.fault');
  const isLater = known?.disposition !== 'dead';
  return { code: known?.code ?? 'INTERNAL', isLater, message, ...(phrase && { phrase }) };
}
