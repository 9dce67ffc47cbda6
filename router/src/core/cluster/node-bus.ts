import { z } from 'zod';
import type { NodeId } from '../chat-id.ts';
import { type Clock, within } from '../clock.ts';
import { type ErrorCode, Wa2aiError } from '../errors.ts';
import { LIVE_EVENT_TYPES, type LiveEvent } from '../live/live-event.ts';
import type { AccountStatus } from '../ports/chat-provider.ts';

const status = z.custom<AccountStatus>(
  (value) => typeof value === 'object' && value !== null && 'accountId' in value && 'state' in value,
);
const accountId = z.string();
const liveEvent = z.custom<LiveEvent>(
  (value) =>
    typeof value === 'object' &&
    value !== null &&
    'at' in value &&
    'type' in value &&
    isLiveEventType(value.type),
);
/** Part `number`, from 0, of `of`. */
const part = {
  id: z.string(),
  to: z.string(),
  number: z.int().min(0).max(999),
  of: z.int().min(1).max(1_000),
  text: z.string(),
};
const claim = z.object({ chatId: z.string(), node: z.string(), epoch: z.number() });

/**
 * What nodes send each other. Every message may be lost: a receiver that relies on one also polls the database.
 * - `accounts-changed`: accounts or nodes changed, check immediately
 * - `replies-queued`: the outbox has replies for the account's node
 * - `typing`: show or hide "typing..." through the account's node
 * - `presence`: mark a message as read through the account's node, or react to it
 * - `chat`: the claim's node may have something to do in the chat; `changed`: a message of it was edited or deleted
 * - `stop-turn`: the claim's node ends the call of the agent that runs in the chat
 * - `status`, `status-request`: the status of an account; a node that started asks for all of them
 * - `routes-changed`, `keys-changed`: PostgreSQL sends it after every change of a route or of a key of the API; `from` is empty
 * - `users-changed`: likewise for users of the console and their sessions
 * - `settings-changed`, `served-task-changed`, `question-changed`: likewise for settings of servers, tasks for programs, and
 *   questions to people; `npc-task`: for tasks of the NPC server
 * - `webhooks-changed`, `webhook-event`: likewise for webhooks, and for events that were stored for them
 * - `live-events-wanted`: the sender has streams of live events; `live-events`: a batch of them, see `EventBatch`
 * - `playground-input`: an invented person wrote something; `playground-changed`: a chat of the playground changed
 * - `agent-task-changed`: an agent notified of a change of a task (a hash of its id)
 * - `mcp-cancelled`: an MCP client ended a call that the sender does not have
 * - `call`, `call-result`: a part of what `NodeCalls` sends to the node `to`
 */
const nodeMessage = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('accounts-changed') }),
  z.object({ kind: z.literal('replies-queued'), accountId }),
  z.object({ kind: z.literal('typing'), accountId, to: z.string(), isTyping: z.boolean() }),
  z.object({
    kind: z.literal('presence'),
    accountId,
    key: z.object({
      chat: z.string(),
      waMessageId: z.string(),
      from: z.string(),
      fromLid: z.string().optional(),
    }),
    emoji: z.string().optional(),
  }),
  z.object({ kind: z.literal('chat'), claim, isRepeat: z.boolean(), changed: z.string().optional() }),
  z.object({ kind: z.literal('stop-turn'), claim }),
  z.object({ kind: z.literal('status'), status }),
  z.object({ kind: z.literal('status-request') }),
  z.object({ kind: z.literal('routes-changed') }),
  z.object({ kind: z.literal('keys-changed') }),
  z.object({ kind: z.literal('users-changed') }),
  z.object({ kind: z.literal('settings-changed') }),
  z.object({ kind: z.literal('webhooks-changed') }),
  z.object({ kind: z.literal('webhook-event') }),
  z.object({ kind: z.literal('live-events-wanted') }),
  z.object({
    kind: z.literal('live-events'),
    run: z.string(),
    number: z.number(),
    events: z.array(liveEvent),
  }),
  z.object({ kind: z.literal('npc-task'), taskId: z.string() }),
  z.object({ kind: z.literal('served-task-changed'), taskId: z.string() }),
  z.object({ kind: z.literal('question-changed'), taskId: z.string() }),
  z.object({ kind: z.literal('playground-input') }),
  z.object({ kind: z.literal('playground-changed'), chatId: z.string() }),
  z.object({ kind: z.literal('agent-task-changed'), task: z.string() }),
  z.object({ kind: z.literal('mcp-cancelled'), call: z.string() }),
  z.object({ kind: z.literal('call'), ...part }),
  z.object({ kind: z.literal('call-result'), ...part }),
]);
const envelope = z.object({ from: z.string(), message: nodeMessage });

function isLiveEventType(type: unknown): boolean {
  return LIVE_EVENT_TYPES.some((known) => known === type);
}

export type NodeMessage = z.infer<typeof nodeMessage>;
type Kind = NodeMessage['kind'];
type Of<K extends Kind> = Extract<NodeMessage, { kind: K }>;

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
  readonly #handlers = new Map<Kind, Array<(message: never, from: NodeId) => void>>();
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

  /** Handles messages of one kind from other nodes; `from` is the sending node. */
  on<K extends Kind>(kind: K, handler: (message: Of<K>, from: NodeId) => void): void {
    this.#handlers.set(kind, [...(this.#handlers.get(kind) ?? []), handler]);
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
    for (const handler of this.#handlers.get(message.kind) ?? []) handler(message as never, from);
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
