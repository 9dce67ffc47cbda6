import { z } from 'zod';
import type { NodeId } from '../../core/chat-id.ts';
import { type Clock, within } from '../../core/clock.ts';
import { accountStatus, accountsChanged, statusRequest } from '../../core/cluster/cluster-view.ts';
import { type NodeBus, nodeMessage } from '../../core/cluster/node-bus.ts';
import type { Change, Changes, LiveEvent } from '../../core/live/live-event.ts';
import type { AccountStatus } from '../../core/ports/chat-provider.ts';
import { type EventBatch, EventBatches, EventRing } from './event-batches.ts';

/** Events that a client can miss and still continue: some minutes of a busy service. */
const RING_EVENTS = 4_000;
/** Events of so long reach a stream in one write. */
const GATHER_MS = 10;
/** How often a node with streams says so; it also shows which events were lost. */
const ANNOUNCE_MS = 20_000;
/** After this without an announcement, a node publishes no more events for another one. */
const INTEREST_MS = 60_000;
/** Announcements after the last stream has ended: a client that connects again in this time continues. */
const LINGER_ROUNDS = 3;
/** How long the first stream waits until the other nodes publish. */
const GREETING_MS = 1_000;

/** The sender has streams of live events. */
const liveEventsWanted = nodeMessage('live-events-wanted');

/** An `EventBatch`. */
const eventBatch = nodeMessage('live-events', {
  run: z.string(),
  number: z.number(),
  events: z.array(
    z.custom<LiveEvent>(
      (value) => typeof value === 'object' && value !== null && 'at' in value && 'type' in value,
    ),
  ),
});

interface LiveFeedDeps {
  bus: Pick<NodeBus, 'on' | 'onBack' | 'publish'>;
  /** What this node's stores report. */
  changes: Changes;
  /** The other nodes that are alive. */
  otherNodes(): NodeId[];
  /** Letters and digits that no other call returns. */
  newRun(): string;
  clock: Clock;
}

/** A stream of this node. */
export interface FeedReader {
  /** The ring has new events. */
  onEvents(): void;
  /** The process stops. */
  onStop(): void;
}

/**
 * The live events of all nodes, for the streams of this node. Without a stream on any node, nothing is collected and nothing
 * is published. While a node has streams it announces that, and the other nodes publish their events in batches. Events that
 * were lost on the way are noticed, and become the event `reset`.
 */
export class LiveFeed {
  readonly #deps: LiveFeedDeps;
  readonly #batches: EventBatches;
  readonly #readers = new Set<FeedReader>();
  /** Nodes with streams, and until when that counts. */
  readonly #wantedBy = new Map<NodeId, number>();
  /** The last batch of each other node, while this node has streams. */
  readonly #heard = new Map<NodeId, Pick<EventBatch, 'run' | 'number'>>();
  /** Ends what runs while this node has streams. */
  #open: AbortController | undefined;
  #greeted: Promise<unknown> = Promise.resolve();
  #isGreeted = false;
  #onGreeting: () => void = () => undefined;
  #ring: EventRing;
  #isGathering = false;

  constructor(deps: LiveFeedDeps) {
    this.#deps = deps;
    const { bus, changes, clock } = deps;
    this.#ring = new EventRing(deps.newRun(), RING_EVENTS);
    this.#batches = new EventBatches({
      run: deps.newRun(),
      publish: (batch) => bus.publish(eventBatch(batch)),
      clock,
    });
    changes.onReport((change) => this.#report(change));
    bus.on(liveEventsWanted, (_, from) => this.#want(from));
    bus.on(eventBatch, (batch, from) => this.#receive(batch, from));
    // A node that starts does not know yet who wants events.
    bus.on(statusRequest, () => this.#announce());
    bus.onBack(() => {
      this.#lost();
      this.#announce();
      if (this.#wantedBy.size > 0) this.#batches.greet();
    });
    bus.on(accountStatus, ({ status }) => this.noteStatus(status));
    bus.on(accountsChanged, () => this.note({ type: 'account' }));
  }

  /** The events that streams read; the same as long as a stream is open. */
  get ring(): EventRing {
    return this.#ring;
  }

  /**
   * Adds a stream. When this resolves, the changes of all nodes reach the ring; it takes no longer than a second.
   * @returns ends the stream
   */
  async open(reader: FeedReader): Promise<() => void> {
    this.#readers.add(reader);
    if (!this.#open) this.#begin();
    await this.#greeted;
    return () => void this.#readers.delete(reader);
  }

  /** Adds a change of which every node learns by itself. */
  note(change: Change): void {
    if (this.#open) this.#add(this.#eventOf(change));
  }

  /** The status of an account of this node changed; other nodes get it otherwise. */
  noteStatus({ accountId, state }: AccountStatus): void {
    this.note({ type: 'account', accountId, id: accountId, state });
  }

  /** Takes a fresh view of the other nodes: what an ended one did not publish is lost. */
  onClusterView(): void {
    if (!this.#open || this.#heard.size === 0) return;
    const alive = new Set(this.#deps.otherNodes());
    const gone = [...this.#heard.keys()].filter((node) => !alive.has(node));
    for (const node of gone) this.#heard.delete(node);
    if (gone.length > 0) this.#lost();
  }

  /** Ends all streams. */
  stop(): void {
    for (const reader of [...this.#readers]) reader.onStop();
    this.#readers.clear();
    this.#end();
  }

  /** Publishes what waits for other nodes: the process stops. */
  flush(): void {
    this.#batches.flush();
  }

  #begin(): void {
    const opened = new AbortController();
    this.#open = opened;
    this.#heard.clear();
    this.#isGreeted = false;
    const { clock, otherNodes } = this.#deps;
    const greeting = new Promise<void>((resolve) => {
      this.#onGreeting = () => {
        if (otherNodes().every((node) => this.#heard.has(node))) resolve();
      };
    });
    this.#update();
    this.#announce();
    this.#onGreeting();
    this.#greeted = within(clock, GREETING_MS, greeting).then(() => {
      this.#isGreeted = true;
    });
    void this.#keepOpen(opened.signal);
  }

  async #keepOpen(signal: AbortSignal): Promise<void> {
    let idleRounds = 0;
    try {
      while (idleRounds < LINGER_ROUNDS) {
        await this.#deps.clock.sleep(ANNOUNCE_MS, signal);
        idleRounds = this.#readers.size > 0 ? 0 : idleRounds + 1;
        if (idleRounds < LINGER_ROUNDS) this.#announce();
      }
      this.#end();
    } catch {
      // The process stops.
    }
  }

  /** No id of this ring can be continued from: nothing is collected from now on. */
  #end(): void {
    this.#open?.abort();
    this.#open = undefined;
    this.#ring = new EventRing(this.#deps.newRun(), RING_EVENTS);
    this.#update();
  }

  #announce(): void {
    if (this.#open) this.#deps.bus.publish(liveEventsWanted());
  }

  #want(from: NodeId): void {
    this.#wantedBy.set(from, this.#deps.clock.monotonicMs() + INTEREST_MS);
    this.#update();
    this.#batches.greet();
  }

  #receive({ run, number, events }: EventBatch, from: NodeId): void {
    if (!this.#open) return;
    const before = this.#heard.get(from);
    this.#heard.set(from, { run, number });
    const expected = (before?.number ?? 0) + (events.length > 0 ? 1 : 0);
    // The first batch of a node that did not publish when the streams began.
    const isLate = !before && this.#isGreeted;
    if (isLate || (before && (before.run !== run || number !== expected))) this.#lost();
    for (const event of events) this.#add(event);
    if (!before) this.#onGreeting();
  }

  #report(change: Change): void {
    const event = this.#eventOf(change);
    if (this.#open) this.#add(event);
    if (this.#isWantedByOthers()) this.#batches.add(event);
  }

  #isWantedByOthers(): boolean {
    if (this.#wantedBy.size === 0) return false;
    const nowMs = this.#deps.clock.monotonicMs();
    for (const [node, untilMs] of this.#wantedBy) if (untilMs <= nowMs) this.#wantedBy.delete(node);
    if (this.#wantedBy.size > 0) return true;
    this.#batches.skip();
    this.#update();
    return false;
  }

  #update(): void {
    this.#deps.changes.setWanted(this.#open !== undefined || this.#wantedBy.size > 0);
  }

  #eventOf({ type, ...change }: Change): LiveEvent {
    return { type, at: new Date(this.#deps.clock.now()).toISOString(), ...change };
  }

  #lost(): void {
    this.note({ type: 'reset' });
  }

  #add(event: LiveEvent): void {
    this.#ring.add(event);
    if (this.#isGathering) return;
    this.#isGathering = true;
    void this.#deps.clock.sleep(GATHER_MS).then(() => {
      this.#isGathering = false;
      for (const reader of [...this.#readers]) reader.onEvents();
    });
  }
}
