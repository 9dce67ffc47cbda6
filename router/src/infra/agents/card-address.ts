import { AgentProtocolError } from '../../core/errors.ts';
import { say } from '../../core/phrases.ts';
import { withoutTrailing } from '../../core/text.ts';

/**
 * An address that an agent's card names, as wa2ai calls it: relative to the card, and with the card's own host when the card
 * names a loopback address although it came from another host, as cards that were written for development do.
 * @param isHosted wa2ai runs the agent: a loopback address in its card is the agent itself, as its container sees it
 * @throws {AgentProtocolError} it is not an http:// or https:// URL
 */
export function cardAddress(url: string, cardUrl: string, isHosted = false): string {
  const absolute = URL.canParse(url, cardUrl) ? new URL(url, cardUrl) : undefined;
  if (absolute?.protocol !== 'http:' && absolute?.protocol !== 'https:') {
    throw new AgentProtocolError(say('card.bad-address'));
  }
  const card = new URL(cardUrl);
  const isForeignLoopback = isLoopback(absolute.hostname) && (isHosted || !isLoopback(card.hostname));
  return `${isForeignLoopback ? card.origin : absolute.origin}${absolute.pathname}${absolute.search}`;
}

function isLoopback(hostname: string): boolean {
  return ['localhost', '[::1]', '[::]', '0.0.0.0'].includes(hostname) || /^127\./.test(hostname);
}

/** Origin and path of an endpoint, without a trailing slash, query or fragment. */
export function baseOf(agentEndpoint: string): string {
  const { origin, pathname } = new URL(agentEndpoint);
  return `${origin}${withoutTrailing(pathname, '/')}`;
}

/** The secrets of a route and the addresses that it names. */
export interface OwnHeaders {
  /** Headers for a URL: empty unless the route itself names the origin of the URL. */
  headersFor(url: string): Headers;
  /** Values that must not appear in an error. */
  secrets: string[];
}

/**
 * Limits headers with secrets to the origins that the route names: a card cannot make wa2ai send them elsewhere.
 * @param headers name and value; a later one replaces an earlier one of the same name
 */
export function ownHeaders(
  headers: ReadonlyArray<readonly [name: string, value: string]>,
  addresses: ReadonlyArray<string | undefined>,
): OwnHeaders {
  const own = new Set(addresses.flatMap((url) => (url === undefined ? [] : [new URL(url).origin])));
  const sent = new Headers();
  for (const [name, value] of headers) sent.set(name, value);
  const secrets = headers.flatMap(([, value]) => [value, ...value.split(' ').slice(1)]);
  return {
    headersFor: (url) => new Headers(own.has(new URL(url).origin) ? sent : undefined),
    secrets: [...new Set(secrets)],
  };
}
