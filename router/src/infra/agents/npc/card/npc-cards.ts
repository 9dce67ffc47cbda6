import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../../core/ports/clock.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import { bodyJson } from '../../transport/body-text.ts';
import { type NpcCard, npcCardOf } from './npc-card.ts';

const MAX_CARD_BYTES = 256 * 1024;
const FRESH_MS = 300_000;
/** A card that could not be loaded is not asked for again for so long. */
const ABSENT_MS = 60_000;

/** The answer of a server to the request for its card. `card` absent: it has none, or it did not answer. */
export interface CardAnswer {
  card?: NpcCard;
  /** Absent: there was no answer, for the reason `problem`. */
  status?: number;
  problem?: string;
}

/** Asks for a card. Never throws for a failure of the server. */
export async function fetchCard(
  cardUrl: string,
  headers: Headers,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<CardAnswer> {
  const fetched = await transport.fetch(cardUrl, {
    method: 'GET',
    headers,
    signal,
    maxBytes: MAX_CARD_BYTES,
  });
  if (fetched.kind === 'fault') {
    return { problem: fetched.fault === 'aborted' ? 'no answer in time' : fetched.detail };
  }
  const card = fetched.status === 200 ? npcCardOf(bodyJson(fetched)) : undefined;
  return { status: fetched.status, ...(card && { card }) };
}

/**
 * The cards of agents by their URL: fetched at the first message, again after five minutes. While a server does not send
 * its card, the one that it sent last is used.
 */
export class NpcCards {
  readonly #cards = new LRUCache<string, { card: NpcCard | undefined; untilMs: number }>({ max: 500 });
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #transport: AgentTransport;

  constructor(clock: Pick<Clock, 'monotonicMs'>, transport: AgentTransport) {
    this.#clock = clock;
    this.#transport = transport;
  }

  /** The card; undefined when the server has none. @throws nothing but the abort reason of `signal` */
  async cardAt(cardUrl: string, headers: Headers, signal: AbortSignal): Promise<NpcCard | undefined> {
    const known = this.#cards.get(cardUrl);
    const nowMs = this.#clock.monotonicMs();
    if (known && nowMs < known.untilMs) return known.card;
    const answer = await fetchCard(cardUrl, headers, { transport: this.#transport, signal });
    signal.throwIfAborted();
    const card = answer.card ?? known?.card;
    this.#cards.set(cardUrl, { card, untilMs: nowMs + (answer.card ? FRESH_MS : ABSENT_MS) });
    return card;
  }
}
