import { packageVersion } from '../../../config/package-version.ts';
import {
  boundedFetch,
  type Fetched,
  type FetchOptions,
  type Opened,
  openFetch,
  streamedFetch,
} from './bounded-fetch.ts';
import { Egress } from './egress.ts';

/**
 * Sends every request to an agent: with limits, without redirects, only to addresses that the egress policy allows, and
 * with the user agent `wa2ai/<version>`. All clients of a process share one.
 */
export class AgentTransport {
  readonly #egress: Egress;
  readonly #userAgent: string;
  /** The server of an agent that wa2ai runs. */
  readonly #own: { origin: string; egress: Egress } | undefined;
  /** For such servers: one for all, because it keeps connections. */
  #anywhere: Egress | undefined;

  constructor(egress = new Egress(), own?: { origin: string; egress: Egress }) {
    this.#egress = egress;
    this.#own = own;
    this.#userAgent = `wa2ai/${packageVersion()}`;
  }

  /**
   * The same transport, which also sends to the scheme, host and port of this URL, whatever the policy says: that of an
   * agent that wa2ai itself started there. The policy is for addresses that people and agents write.
   */
  alsoTo(url: string): AgentTransport {
    this.#anywhere ??= new Egress('any');
    return new AgentTransport(this.#egress, { origin: new URL(url).origin, egress: this.#anywhere });
  }

  /** Why the egress policy refuses this URL, when its host is an IP address. */
  refusalOf(url: string): string | undefined {
    return this.#egressFor(url).refusalOfUrl(url);
  }

  /** One exchange; see `boundedFetch`. A `user-agent` in the headers of the route is kept. */
  fetch(url: string, options: FetchOptions): Promise<Fetched> {
    return boundedFetch(url, this.#named(options), this.#egressFor(url));
  }

  /** One exchange whose answer is a stream of events; see `streamedFetch`. */
  fetchEvents(url: string, options: FetchOptions, onEvent: (data: string) => void): Promise<Fetched> {
    return streamedFetch(url, this.#named(options), this.#egressFor(url), onEvent);
  }

  /** As `fetch`, up to the headers of the answer: the caller reads the body, and limits what it reads. */
  open(url: string, options: Omit<FetchOptions, 'maxBytes'>): Promise<Opened> {
    return openFetch(url, this.#named(options), this.#egressFor(url));
  }

  #egressFor(url: string): Egress {
    const isOwn = this.#own && URL.canParse(url) && new URL(url).origin === this.#own.origin;
    return (isOwn && this.#own?.egress) || this.#egress;
  }

  #named<Options extends { headers: Headers }>(options: Options): Options {
    const headers = new Headers(options.headers);
    if (!headers.has('user-agent')) headers.set('user-agent', this.#userAgent);
    return { ...options, headers };
  }
}
