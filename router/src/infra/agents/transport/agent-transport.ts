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

  constructor(egress = new Egress()) {
    this.#egress = egress;
    this.#userAgent = `wa2ai/${packageVersion()}`;
  }

  /** Why the egress policy refuses this URL, when its host is an IP address. */
  refusalOf(url: string): string | undefined {
    return this.#egress.refusalOfUrl(url);
  }

  /** One exchange; see `boundedFetch`. A `user-agent` in the headers of the route is kept. */
  fetch(url: string, options: FetchOptions): Promise<Fetched> {
    return boundedFetch(url, this.#named(options), this.#egress);
  }

  /** One exchange whose answer is a stream of events; see `streamedFetch`. */
  fetchEvents(url: string, options: FetchOptions, onEvent: (data: string) => void): Promise<Fetched> {
    return streamedFetch(url, this.#named(options), this.#egress, onEvent);
  }

  /** As `fetch`, up to the headers of the answer: the caller reads the body, and limits what it reads. */
  open(url: string, options: Omit<FetchOptions, 'maxBytes'>): Promise<Opened> {
    return openFetch(url, this.#named(options), this.#egress);
  }

  #named<Options extends { headers: Headers }>(options: Options): Options {
    const headers = new Headers(options.headers);
    if (!headers.has('user-agent')) headers.set('user-agent', this.#userAgent);
    return { ...options, headers };
  }
}
