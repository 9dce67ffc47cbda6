import { AgentProtocolError } from '../../../../core/errors.ts';
import type { NpcSettings } from '../npc-settings.ts';
import type { NpcCard } from './npc-card.ts';

/** Where the requests of a route go, and what they carry. */
export interface NpcServer {
  rpcUrl: string;
  /** Address of the events of a task. */
  streamUrl(taskId: string): string;
  /** Headers for a URL: the API key and the route's headers go only to the origins that the route names. */
  headersFor(url: string): Headers;
  /** Values that must not appear in an error. */
  secrets: string[];
}

/** Base of the addresses that are not configured; a trailing slash of the path is removed. */
export function baseUrl(agentEndpoint: string): string {
  const url = new URL(agentEndpoint);
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** Address of the card of a route. */
export function cardUrlOf(agentEndpoint: string, { cardUrl }: NpcSettings): string {
  return cardUrl ?? `${baseUrl(agentEndpoint)}/.well-known/agent-card`;
}

/**
 * The addresses of a route's agent: those of the settings, else of the card, else the ones of the specification below
 * agentEndpoint. A card that names a loopback address although it came from another host was written for development: its
 * path is used with the host of the card.
 * @throws {AgentProtocolError} an address of the card is no http:// or https:// URL
 */
export function npcServer(
  agentEndpoint: string,
  settings: NpcSettings,
  card: NpcCard | undefined,
): NpcServer {
  const cardUrl = cardUrlOf(agentEndpoint, settings);
  const fromCard = (url: string) => {
    const absolute = URL.canParse(url, cardUrl) ? new URL(url, cardUrl) : undefined;
    if (absolute?.protocol !== 'http:' && absolute?.protocol !== 'https:') {
      throw new AgentProtocolError('The agent card names an address that is not an http:// or https:// URL.');
    }
    const isForeignLoopback = isLoopback(absolute.hostname) && !isLoopback(new URL(cardUrl).hostname);
    const origin = isForeignLoopback ? new URL(cardUrl).origin : absolute.origin;
    // The placeholder is encoded by the parser.
    return `${origin}${absolute.pathname}${absolute.search}`.replaceAll(/%7BtaskId%7D/gi, '{taskId}');
  };
  const rpcUrl = settings.rpcUrl ?? (card?.rpcUrl ? fromCard(card.rpcUrl) : `${baseUrl(agentEndpoint)}/rpc`);
  const stream = card?.streamUrl
    ? fromCard(card.streamUrl)
    : new URL('stream/{taskId}', rpcUrl).href.replaceAll(/%7BtaskId%7D/gi, '{taskId}');
  const { apiKey, headers = {} } = settings;
  const own = [agentEndpoint, settings.cardUrl, settings.rpcUrl].flatMap((url) =>
    url ? new URL(url).origin : [],
  );
  return {
    rpcUrl,
    streamUrl: (taskId) => stream.replaceAll('{taskId}', encodeURIComponent(taskId)),
    headersFor: (url) => {
      if (!own.includes(new URL(url).origin)) return new Headers();
      const sent = new Headers(headers);
      if (apiKey !== undefined) sent.set(card?.keyHeader ?? 'X-API-Key', apiKey);
      return sent;
    },
    secrets: [
      ...(apiKey === undefined ? [] : [apiKey]),
      ...Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]),
    ],
  };
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\./.test(hostname);
}
