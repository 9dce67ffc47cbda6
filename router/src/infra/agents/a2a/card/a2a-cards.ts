import type { AgentCard, AgentInterface } from '@a2a-js/sdk';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import type { Clock } from '../../../../core/clock.ts';
import { AgentProtocolError } from '../../../../core/errors.ts';
import { say } from '../../../../core/phrases.ts';
import { baseOf, cardAddress, type OwnHeaders, ownHeaders } from '../../card-address.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import type { Fetched } from '../../transport/bounded-fetch.ts';
import { bodyText } from '../../transport/error-text.ts';
import type { A2aSettings } from '../a2a-settings.ts';

const MAX_CARD_BYTES = 512 * 1024;
const FRESH_MS = 300_000;
/** A card that could not be loaded is not asked for again for so long. */
const ABSENT_MS = 30_000;

/** The answer of a server to the request for its card, in the form of version 1.0 whatever its version is. */
export interface A2aCardAnswer {
  card?: AgentCard;
  /** The header in which the card wants an API key; absent when it wants a bearer token or says nothing. */
  keyHeader?: string;
  /** Where the card came from. */
  cardUrl: string;
  /** The last exchange; undefined for a card from the cache. */
  fetched?: Fetched;
}

/** A request for a card. A server may have its cards of both versions at one address. */
interface CardRequest {
  cardUrl: string;
  version: '1.0' | '0.3';
}

/** Where the card of a route may be, the likeliest address and the newest version first. */
export function cardRequestsOf(
  agentEndpoint: string,
  { cardUrl, version = 'auto' }: Pick<A2aSettings, 'cardUrl' | 'version'>,
): CardRequest[] {
  const base = baseOf(agentEndpoint);
  const isCard = /\.json$/.test(new URL(agentEndpoint).pathname);
  const main = cardUrl ?? (isCard ? agentEndpoint : `${base}/.well-known/agent-card.json`);
  const requests: CardRequest[] = [];
  if (version !== '0.3') requests.push({ cardUrl: main, version: '1.0' });
  if (version !== '1.0') requests.push({ cardUrl: main, version: '0.3' });
  // Its address before version 0.3.
  if (main === `${base}/.well-known/agent-card.json` && version !== '1.0') {
    requests.push({ cardUrl: `${base}/.well-known/agent.json`, version: '0.3' });
  }
  return requests;
}

/** Asks for a card at each place where it may be. Never throws for a failure of the server. */
export async function findA2aCard(
  agentEndpoint: string,
  settings: A2aSettings,
  deps: { transport: AgentTransport; signal: AbortSignal },
): Promise<A2aCardAnswer> {
  const { headersFor } = a2aHeaders(agentEndpoint, settings, undefined);
  let answer: A2aCardAnswer = { cardUrl: agentEndpoint };
  for (const request of cardRequestsOf(agentEndpoint, settings)) {
    answer = await fetchCard(request, headersFor(request.cardUrl), deps);
    const isMissing = answer.fetched?.kind === 'answer' && answer.fetched.status < 500 && !answer.card;
    if (!isMissing) break;
  }
  return answer;
}

async function fetchCard(
  { cardUrl, version }: CardRequest,
  headers: Headers,
  { transport, signal }: { transport: AgentTransport; signal: AbortSignal },
): Promise<A2aCardAnswer> {
  headers.set('accept', 'application/json');
  headers.set('a2a-version', version);
  const fetched = await transport.fetch(cardUrl, {
    method: 'GET',
    headers,
    signal,
    maxBytes: MAX_CARD_BYTES,
  });
  if (fetched.kind === 'fault' || fetched.status !== 200) return { cardUrl, fetched };
  return { cardUrl, fetched, ...(await cardOf(bodyText(fetched))) };
}

const cardSchema = z.looseObject({ supportedInterfaces: z.array(z.unknown()).min(1) });

/** A card of any version; empty for something else, such as the card of the NPC Engine. */
async function cardOf(text: string): Promise<Pick<A2aCardAnswer, 'card' | 'keyHeader'>> {
  const [{ AgentCard: cards }, { DefaultAgentCardResolver }] = await Promise.all([
    import('@a2a-js/sdk'),
    import('@a2a-js/sdk/client'),
  ]);
  try {
    const json: unknown = JSON.parse(text);
    const resolver = new DefaultAgentCardResolver({ legacyCompat: { enabled: true } });
    const isCurrent = cardSchema.safeParse(json).success;
    const card = isCurrent ? cards.fromJSON(json) : resolver.normalizeAgentCard(json);
    if (card.supportedInterfaces.length === 0) return {};
    const keyHeader = keyHeaderIn(json);
    return { card, ...(keyHeader !== undefined && { keyHeader }) };
  } catch {
    return {};
  }
}

const keyFields = z.looseObject({
  name: z.string().regex(/^[\w!#$%&'*+.^`|~-]{1,100}$/),
  in: z.string().optional(),
  location: z.string().optional(),
});
const keySchema = z.union([
  keyFields.extend({ type: z.literal('apiKey') }),
  z.looseObject({ apiKeySecurityScheme: keyFields }).transform((scheme) => scheme.apiKeySecurityScheme),
  // As servers of the JavaScript SDK write it.
  z
    .looseObject({ scheme: z.looseObject({ $case: z.literal('apiKeySecurityScheme'), value: keyFields }) })
    .transform(({ scheme }) => scheme.value),
]);

/** The header of the first API key in a header that a card declares, in any of the forms that servers write. */
function keyHeaderIn(json: unknown): string | undefined {
  const schemes = z.looseObject({ securitySchemes: z.record(z.string(), z.unknown()) }).safeParse(json).data;
  for (const scheme of Object.values(schemes?.securitySchemes ?? {})) {
    const key = keySchema.safeParse(scheme).data;
    if (key && (key.in ?? key.location)?.toLowerCase() === 'header') return key.name;
  }
  return undefined;
}

/**
 * The cards of agents: fetched at the first message, again after five minutes. While a server does not send its card, the
 * one that it sent last is used.
 */
export class A2aCards {
  readonly #cards = new LRUCache<string, { answer: A2aCardAnswer; untilMs: number }>({ max: 500 });
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #transport: AgentTransport;

  constructor(clock: Pick<Clock, 'monotonicMs'>, transport: AgentTransport) {
    this.#clock = clock;
    this.#transport = transport;
  }

  /**
   * @param transport sends the request; default: that of all cards
   * @throws the reason of `signal` when it aborts
   */
  async cardOf(
    agentEndpoint: string,
    settings: A2aSettings,
    signal: AbortSignal,
    transport = this.#transport,
  ): Promise<A2aCardAnswer> {
    const key = JSON.stringify([agentEndpoint, settings.cardUrl, settings.version]);
    const known = this.#cards.get(key);
    const nowMs = this.#clock.monotonicMs();
    if (known && nowMs < known.untilMs) return known.answer;
    let answer = await findA2aCard(agentEndpoint, settings, { transport, signal });
    signal.throwIfAborted();
    if (!answer.card && known?.answer.card) answer = known.answer;
    this.#cards.set(key, { answer, untilMs: nowMs + (answer.card ? FRESH_MS : ABSENT_MS) });
    return answer;
  }
}

const BINDINGS = { jsonrpc: 'JSONRPC', rest: 'HTTP+JSON' } as const;

/** The interface of an agent that a route uses, and what requests to it carry. */
export interface A2aServer extends OwnHeaders {
  /** With this one interface, whose address is absolute. */
  card: AgentCard;
  url: string;
  version: '1.0' | '0.3';
  canStream: boolean;
}

/**
 * The headers of a route, with its key.
 * @param keyHeader the header in which the card wants the key; absent: as a bearer token
 */
export function a2aHeaders(
  agentEndpoint: string,
  { apiKey, headers = {}, cardUrl }: A2aSettings,
  keyHeader: string | undefined,
): OwnHeaders {
  const key: Array<[string, string]> =
    apiKey === undefined
      ? []
      : [keyHeader === undefined ? ['authorization', `Bearer ${apiKey}`] : [keyHeader, apiKey]];
  return ownHeaders([...key, ...Object.entries(headers)], [agentEndpoint, cardUrl]);
}

/**
 * Chooses the interface of a card by the settings of the route. Without a card, settings that name version and transport
 * are enough: agentEndpoint is then the address of the calls.
 * @param isHosted wa2ai runs the agent
 * @throws {AgentProtocolError} the card has no such interface
 */
export function a2aServer(
  agentEndpoint: string,
  settings: A2aSettings,
  found: { card?: AgentCard; cardUrl: string; keyHeader?: string },
  isHosted = false,
): A2aServer {
  const { version = 'auto', transport = 'auto' } = settings;
  const card = found.card ?? cardBySettings(agentEndpoint, settings);
  const fitting = card.supportedInterfaces.filter(
    ({ protocolBinding, protocolVersion }) =>
      (transport === 'auto'
        ? Object.values(BINDINGS).some((binding) => isSame(binding, protocolBinding))
        : isSame(BINDINGS[transport], protocolBinding)) &&
      (version === 'auto'
        ? versionOf(protocolVersion) !== undefined
        : versionOf(protocolVersion) === version),
  );
  const chosen =
    fitting.find(({ protocolVersion }) => versionOf(protocolVersion) === '1.0') ??
    // Version 0.3 over HTTP has no place for the marks of thoughts and tool calls.
    fitting.find(({ protocolBinding }) => isSame(BINDINGS.jsonrpc, protocolBinding)) ??
    fitting[0];
  if (!chosen) {
    const has = card.supportedInterfaces
      .map((one) => `${one.protocolBinding} ${one.protocolVersion}`)
      .join(', ');
    throw new AgentProtocolError(say('a2a.no-interface', { version, transport, has: has.slice(0, 300) }));
  }
  const url = cardAddress(chosen.url, found.cardUrl, isHosted);
  const used: AgentInterface = { ...chosen, url };
  return {
    ...a2aHeaders(agentEndpoint, settings, found.keyHeader),
    card: { ...card, supportedInterfaces: [used] },
    url,
    version: versionOf(chosen.protocolVersion) ?? '1.0',
    canStream: (card.capabilities?.streaming ?? false) && settings.streaming !== false,
  };
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** Every 1.x and every 0.3.x is spoken, and 0.2.x, whose requests are those of 0.3; an empty version is 0.3 in the protocol. */
function versionOf(written: string): '1.0' | '0.3' | undefined {
  if (/^1(?:\.|$)/.test(written)) return '1.0';
  return written === '' || /^0\.[23](?:\.|$)/.test(written) ? '0.3' : undefined;
}

function cardBySettings(agentEndpoint: string, settings: A2aSettings): AgentCard {
  const { version = 'auto', transport = 'auto', streaming = false } = settings;
  if (version === 'auto' || transport === 'auto') {
    throw new AgentProtocolError(say('a2a.without-card'));
  }
  const protocolBinding = BINDINGS[transport];
  return {
    name: '',
    description: '',
    version: '',
    provider: undefined,
    capabilities: { streaming, extensions: [] },
    securitySchemes: {},
    securityRequirements: [],
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    signatures: [],
    supportedInterfaces: [{ url: agentEndpoint, protocolBinding, protocolVersion: version, tenant: '' }],
  };
}

/** Whether the agent takes a file of this media type, as its card says. */
export function takesMedia({ defaultInputModes, skills }: AgentCard, mimeType: string): boolean {
  const type = mimeType.toLowerCase().split(';')[0]?.trim() ?? '';
  const modes = [...defaultInputModes, ...skills.flatMap(({ inputModes }) => inputModes)];
  return modes.some((mode) => {
    const written = mode.toLowerCase().split(';')[0]?.trim() ?? '';
    if (written === '*/*' || written === '*' || written === 'file') return true;
    return written === type || (written.endsWith('/*') && type.startsWith(written.slice(0, -1)));
  });
}
