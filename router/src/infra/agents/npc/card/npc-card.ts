import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Clock } from '../../../../core/clock.ts';
import type { Said } from '../../../../core/phrases.ts';
import { baseOf, cardAddress, type OwnHeaders, ownHeaders } from '../../card-address.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import { bodyJson } from '../../transport/error-text.ts';
import type { NpcSettings } from '../npc-settings.ts';

const MAX_CAPABILITIES = 200;
const MAX_DESCRIPTION_CHARS = 1_000;

/** A header name that carries an API key. */
const headerName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/);

const cardSchema = z.looseObject({
  id: z.string().nullish(),
  name: z.string().nullish(),
  version: z.string().nullish(),
  description: z.string().nullish(),
  capabilities: z.array(z.string()),
  transports: z.array(z.looseObject({ type: z.string(), url: z.string() })).nullish(),
  authentication: z.looseObject({ type: z.string().nullish(), header: z.string().nullish() }).nullish(),
});

/** What wa2ai reads of an agent card of the NPC Engine. */
export interface NpcCard {
  name?: string;
  version?: string;
  description?: string;
  /** Standard capabilities (`duel`) and `custom:` ones, in the order of the card. */
  capabilities: string[];
  rpcUrl?: string;
  /** With the placeholder `{taskId}`. */
  streamUrl?: string;
  /** What the card wants as a proof, such as `api_key`; absent when it names nothing. */
  authType?: string;
  /** The header of the API key; `X-API-Key` unless the card names another one. */
  keyHeader: string;
}

/** Reads a card; undefined when it is none of the NPC Engine. The card of A2A has an object as `capabilities`. */
export function npcCardOf(json: unknown): NpcCard | undefined {
  const parsed = cardSchema.safeParse(json);
  if (!parsed.success) return undefined;
  const { name, version, description, capabilities, transports, authentication } = parsed.data;
  const urlOf = (type: string) => transports?.find((transport) => transport.type === type)?.url;
  const known = capabilities.filter((capability) => /^(?:custom:)?[A-Za-z][\w.-]{0,99}$/.test(capability));
  const header = headerName.safeParse(authentication?.header).data;
  const [rpcUrl, streamUrl] = [urlOf('http'), urlOf('sse')];
  return {
    ...(name && { name: name.slice(0, 200) }),
    ...(version && { version: version.slice(0, 50) }),
    ...(description && { description: description.slice(0, MAX_DESCRIPTION_CHARS) }),
    capabilities: [...new Set(known)].slice(0, MAX_CAPABILITIES),
    ...(rpcUrl && { rpcUrl }),
    ...(streamUrl && { streamUrl }),
    ...(authentication?.type && { authType: authentication.type.slice(0, 50) }),
    keyHeader: header ?? 'X-API-Key',
  };
}

const MAX_CARD_BYTES = 256 * 1024;
const FRESH_MS = 300_000;
/** A card that could not be loaded is not asked for again for so long. */
const ABSENT_MS = 60_000;

/** The answer of a server to the request for its card. `card` absent: it has none, or it did not answer. */
export interface CardAnswer {
  card?: NpcCard;
  /** Absent: there was no answer, for the reason `problem`. */
  status?: number;
  problem?: Said;
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
    return { problem: fetched.detail };
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

/** Where the requests of a route go, and what they carry. */
export interface NpcServer extends OwnHeaders {
  rpcUrl: string;
  /** Address of the events of a task. */
  streamUrl(taskId: string): string;
}

/** Address of the card of a route. */
export function cardUrlOf(agentEndpoint: string, { cardUrl }: NpcSettings): string {
  return cardUrl ?? `${baseOf(agentEndpoint)}/.well-known/agent-card`;
}

/**
 * The addresses of a route's agent: those of the settings, else of the card, else the ones of the specification below
 * agentEndpoint. A card that names a loopback address although it came from another host was written for development: its
 * path is used with the host of the card.
 * @throws {AgentProtocolError} an address of the card is not an http:// or https:// URL
 */
export function npcServer(
  agentEndpoint: string,
  settings: NpcSettings,
  card: NpcCard | undefined,
): NpcServer {
  const cardUrl = cardUrlOf(agentEndpoint, settings);
  const ofCard = (url: string | undefined) => (url === undefined ? undefined : cardAddress(url, cardUrl));
  const rpcUrl = settings.rpcUrl ?? ofCard(card?.rpcUrl) ?? `${baseOf(agentEndpoint)}/rpc`;
  const streamUrl = ofCard(card?.streamUrl) ?? new URL('stream/{taskId}', rpcUrl).href;
  const { apiKey, headers = {} } = settings;
  const key: Array<[string, string]> = apiKey === undefined ? [] : [[card?.keyHeader ?? 'X-API-Key', apiKey]];
  return {
    rpcUrl,
    // The parser of URLs encodes the placeholder.
    streamUrl: (taskId) =>
      streamUrl.replace(/(?:\{|%7B)taskId(?:\}|%7D)/gi, () => encodeURIComponent(taskId)),
    ...ownHeaders([...Object.entries(headers), ...key], [agentEndpoint, settings.cardUrl, settings.rpcUrl]),
  };
}
