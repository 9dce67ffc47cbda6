import type { Logger } from '../../../core/ports/logger.ts';
import type { Earlier } from '../messages/stanza.ts';
import type { OrderedLanes, Slot } from './ordered-lanes.ts';

/** A message's place in its chat's lane; later ones of the chat wait until it is filled or given up. */
export interface Place extends Earlier {
  readonly slot: Slot;
}

/** The message that wants a place, and its chat's lane. */
interface PlaceWanted extends Earlier {
  lane: string;
}

/** What an unfilled place waits for. */
type Awaited = 'decryption' | 'retry' | 'redelivery';

interface KeptPlace extends Place {
  awaits: Awaited;
  /** Deliveries of the message that are to be decrypted. */
  underWay: number;
  retryTimer: NodeJS.Timeout | undefined;
  onGivenUp: (() => void) | undefined;
}

/** A phone that is there sends a message again within a second or two; one that is not must not silence its chat. */
const RETRY_WITHIN_MS = 5_000;

/**
 * The places of messages that are not decrypted yet, so that no later one of the chat is handed on before: neither while
 * decryption is under way, nor while the sender was asked to send it again (for 5 s), nor after a connection or process
 * ended in between, until WhatsApp has delivered again what it keeps.
 */
export class KeptPlaces {
  readonly #lanes: OrderedLanes;
  readonly #log: Logger;
  readonly #byKey = new Map<string, KeptPlace>();
  /** The same places by lane, in the order in which they were taken. */
  readonly #byLane = new Map<string, Set<KeptPlace>>();

  constructor(lanes: OrderedLanes, log: Logger) {
    this.#lanes = lanes;
    this.#log = log;
  }

  /** Unfilled places. */
  get size(): number {
    return this.#byKey.size;
  }

  /** A delivery of the message is to be decrypted: its place is the one kept for it, else the lane's next. */
  begin(wanted: PlaceWanted): Place {
    const place = this.#byKey.get(wanted.key) ?? this.#take(wanted, 'decryption');
    clearTimeout(place.retryTimer);
    place.awaits = 'decryption';
    place.onGivenUp = undefined;
    place.underWay += 1;
    return place;
  }

  /**
   * Keeps the lane's next place for a message that an earlier process had not decrypted.
   * @param onGivenUp it was not delivered again
   */
  keep(wanted: PlaceWanted, onGivenUp?: () => void): void {
    const place = this.#take(wanted, 'redelivery');
    place.onGivenUp = onGivenUp;
    this.#tell(place, 'a place is kept');
  }

  /** The message is there; its work runs in its place, or next in its lane when that was given up or filled before. */
  fill(place: Place, work: () => Promise<void>): void {
    const kept = this.#byKey.get(place.key);
    if (kept?.slot === place.slot) this.#forget(kept);
    this.#lanes.fill(place.slot, work);
  }

  /** A delivery could not be read, and the message's sender is asked to send it again. */
  asked(place: Place): void {
    const kept = this.#endDelivery(place);
    if (!kept) return;
    kept.awaits = 'retry';
    kept.retryTimer = setTimeout(() => this.#giveUp(kept), RETRY_WITHIN_MS).unref();
    this.#tell(kept, 'a place is kept');
  }

  /** A delivery ended unread and WhatsApp was told nothing, so it will deliver the message again. */
  lost(place: Place): void {
    const kept = this.#endDelivery(place);
    if (kept) this.#awaitRedelivery(kept);
  }

  /** Nothing comes of a delivery. */
  nothing(place: Place): void {
    const kept = this.#endDelivery(place);
    if (kept) this.#giveUp(kept);
  }

  /** Its sender, who was asked for it, will not send it again. */
  giveUp(key: string): void {
    const kept = this.#byKey.get(key);
    if (kept?.awaits === 'retry') this.#giveUp(kept);
  }

  /** The unfilled places of the chat that this one waits for. */
  before(place: Place): Earlier[] {
    const before: Earlier[] = [];
    for (const { key, order } of this.#byLane.get(place.slot.lane) ?? []) {
      if (key === place.key) break;
      if (order < place.order) before.push({ key, order });
    }
    return before;
  }

  /**
   * What was not decrypted will be delivered again, after the next login; what is asked for may come then too. Of the
   * deliveries of this connection, only that a message is there after all counts from now on.
   */
  connectionClosed(): void {
    for (const place of this.#byKey.values()) {
      place.underWay = 0;
      if (place.awaits !== 'redelivery') this.#awaitRedelivery(place);
    }
  }

  /** WhatsApp has delivered all that it kept, or never will: what is not here by now does not come again. */
  deliveredAgain(): void {
    for (const place of [...this.#byKey.values()]) if (place.awaits === 'redelivery') this.#giveUp(place);
  }

  #take({ key, order, lane }: PlaceWanted, awaits: Awaited): KeptPlace {
    const place: KeptPlace = {
      key,
      order,
      slot: this.#lanes.reserve(lane),
      awaits,
      underWay: 0,
      retryTimer: undefined,
      onGivenUp: undefined,
    };
    this.#byKey.set(key, place);
    const ofLane = this.#byLane.get(lane) ?? new Set();
    this.#byLane.set(lane, ofLane.add(place));
    return place;
  }

  /** @returns the place when no other delivery of the message is under way */
  #endDelivery({ key }: Place): KeptPlace | undefined {
    const kept = this.#byKey.get(key);
    if (!kept || kept.underWay === 0) return undefined;
    kept.underWay -= 1;
    return kept.underWay > 0 ? undefined : kept;
  }

  #awaitRedelivery(place: KeptPlace): void {
    clearTimeout(place.retryTimer);
    place.awaits = 'redelivery';
    this.#tell(place, 'a place is kept');
  }

  #giveUp(place: KeptPlace): void {
    this.#tell(place, 'a place is given up');
    this.#forget(place);
    this.#lanes.release(place.slot);
    place.onGivenUp?.();
  }

  #forget(place: KeptPlace): void {
    clearTimeout(place.retryTimer);
    this.#byKey.delete(place.key);
    const { lane } = place.slot;
    const ofLane = this.#byLane.get(lane);
    ofLane?.delete(place);
    if (ofLane?.size === 0) this.#byLane.delete(lane);
  }

  #tell({ key, order, awaits }: KeptPlace, what: string): void {
    const waMessageId = key.slice(key.lastIndexOf(' ') + 1);
    this.#log.debug({ waMessageId, order: String(order), awaits }, what);
  }
}
