import { baseOf, cardAddress, type OwnHeaders, ownHeaders } from '../../card-address.ts';
import type { NpcSettings } from '../npc-settings.ts';
import type { NpcCard } from './npc-card.ts';

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
 * @throws {AgentProtocolError} an address of the card is no http:// or https:// URL
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
