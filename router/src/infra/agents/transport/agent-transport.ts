import { packageVersion } from '../../../config/package-version.ts';
import { OWN_REQUEST_HEADER } from '../../../core/access/caller.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../core/errors.ts';
import { changed, type Said, say } from '../../../core/phrases.ts';
import {
  boundedFetch,
  type Fetched,
  type FetchOptions,
  type Opened,
  openFetch,
  redirectHint,
  streamedFetch,
} from './bounded-fetch.ts';
import { Egress } from './egress.ts';
import { bodyText, errorText } from './error-text.ts';
import type { TransportRecorder } from './exchange-mask.ts';

/**
 * Sends every request to an agent: with limits, without redirects, only to addresses that the egress policy allows, and
 * with the user agent `wa2ai/<version>` and the header OWN_REQUEST_HEADER. All clients of a process share one.
 */
export class AgentTransport {
  readonly #egress: Egress;
  readonly #userAgent: string;
  readonly #recorder: TransportRecorder | undefined;
  /** The server of an agent that wa2ai runs. */
  readonly #own: { origin: string; egress: Egress } | undefined;
  /** For such servers: one for all, because it keeps connections. */
  #anywhere: Egress | undefined;

  /** @param recorder gets the exchanges of attempts; absent: they are not recorded */
  constructor(egress = new Egress(), recorder?: TransportRecorder, own?: { origin: string; egress: Egress }) {
    this.#egress = egress;
    this.#recorder = recorder;
    this.#own = own;
    this.#userAgent = `wa2ai/${packageVersion()}`;
  }

  /**
   * The same transport, which also sends to the scheme, host and port of this URL, whatever the policy says: that of an
   * agent that wa2ai itself started there. The policy is for addresses that people and agents write.
   */
  alsoTo(url: string): AgentTransport {
    this.#anywhere ??= this.#egress.anywhere();
    const own = { origin: new URL(url).origin, egress: this.#anywhere };
    return new AgentTransport(this.#egress, this.#recorder, own);
  }

  /** Why the egress policy refuses this URL, when its host is an IP address. */
  refusalOf(url: string): Said | undefined {
    return this.#egressFor(url).refusalOfUrl(url);
  }

  /** One exchange; see `boundedFetch`. A `user-agent` in the headers of the route is kept. */
  async fetch(url: string, options: FetchOptions): Promise<Fetched> {
    const named = this.#named(options);
    const record = this.#recorder?.begin(url, named);
    const fetched = await boundedFetch(url, named, this.#egressFor(url));
    record?.ended(fetched);
    return fetched;
  }

  /** One exchange whose answer is a stream of events; see `streamedFetch`. */
  async fetchEvents(url: string, options: FetchOptions, onEvent: (data: string) => void): Promise<Fetched> {
    const named = this.#named(options);
    const record = this.#recorder?.begin(url, named);
    const onBoth = (data: string) => {
      record?.event(data);
      onEvent(data);
    };
    const fetched = await streamedFetch(url, named, this.#egressFor(url), record ? onBoth : onEvent);
    record?.ended(fetched);
    return fetched;
  }

  /** As `fetch`, up to the headers of the answer: the caller reads the body, and limits what it reads. */
  async open(url: string, options: Omit<FetchOptions, 'maxBytes'>): Promise<Opened> {
    const named = this.#named(options);
    const record = this.#recorder?.begin(url, named);
    const opened = await openFetch(url, named, this.#egressFor(url));
    return record?.opened(opened) ?? opened;
  }

  #egressFor(url: string): Egress {
    const isOwn = this.#own && URL.canParse(url) && new URL(url).origin === this.#own.origin;
    return (isOwn && this.#own?.egress) || this.#egress;
  }

  #named<Options extends { headers: Headers }>(options: Options): Options {
    const headers = new Headers(options.headers);
    if (!headers.has('user-agent')) headers.set('user-agent', this.#userAgent);
    headers.set(OWN_REQUEST_HEADER, 'wa2ai');
    return { ...options, headers };
  }
}

/** The error for a status after which the agent has not run the request (429, 503; most likely 502); else undefined. */
export function rejectedError(
  { status, headers }: { status: number; headers: Headers },
  said: Said,
  nowMs: number,
): AgentUnavailableError | undefined {
  if (status !== 429 && status !== 502 && status !== 503) return undefined;
  const waitMs = status === 502 ? undefined : retryAfterMs(headers, nowMs);
  return new AgentUnavailableError(said, {
    retryAfterMs: waitMs,
    isAway: true,
    mayHaveRun: status === 502,
  });
}

/**
 * `Retry-After` in milliseconds from now; the header contains seconds or a date (RFC 9110), and some model servers send the
 * more exact `retry-after-ms` beside it. Undefined without a usable one.
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  const exact = headers.get('retry-after-ms')?.trim();
  if (exact && /^\d+$/.test(exact)) return Number(exact);
  const value = headers.get('retry-after')?.trim();
  if (!value) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const atMs = Date.parse(value);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
}

/** What the error for an exchange says. */
interface ExchangeContext {
  /** As a sentence names it: `NPC agent`. */
  agent: Said;
  /** The sentence for an exchange that a time limit ended. */
  aborted: Said;
  nowMs: number;
  redact: Redact;
}

/** The error for an exchange without a usable answer: a fault, or a status. */
export function exchangeError(
  fetched: Fetched,
  { agent, aborted, nowMs, redact }: ExchangeContext,
): Wa2aiError {
  if (fetched.kind === 'answer') {
    const { status } = fetched;
    const details = detailsOf(errorText(bodyText(fetched)), redirectHint(fetched), redact);
    const said = say('agent.answered-status', { agent, status, details });
    const rejected = rejectedError(fetched, said, nowMs);
    if (rejected) return rejected;
    if (status === 504) return new AgentTimeoutError(said);
    const code = status === 401 || status === 403 ? 'AGENT_ACCESS_DENIED' : undefined;
    return new AgentProtocolError(said, code === undefined ? undefined : { code });
  }
  const { fault, cause } = fetched;
  if (fault === 'aborted') return new AgentTimeoutError(aborted);
  const why = changed(fetched.detail, redact);
  const said = say('agent.cannot-be-reached', { agent, why });
  if (fault === 'refused') return new AgentProtocolError(said, { code: 'AGENT_ADDRESS_REFUSED' });
  if (fault === 'too-large') return new AgentProtocolError(say('agent.failed', { agent, why }));
  if (fault === 'broken') return new AgentTimeoutError(said, { cause });
  const isAway = fault === 'not-connected';
  return new AgentUnavailableError(said, { cause, isAway, mayHaveRun: !isAway });
}

/** What an agent said, for the end of a sentence, as `: text`, and a hint. `` for neither. */
export function detailsOf(text: string, hint: Said | undefined, redact: Redact): Said {
  const said = redact(text && `: ${text}`);
  return hint ? say('fetch.details', { text: said, hint: changed(hint, redact) }) : { sentence: said };
}

/** Shorter values are not redacted, because they would match parts of ordinary words. */
const MIN_SECRET_CHARS = 8;

/** Removes the person's text and number and the route's secrets from a text of an agent. */
export type Redact = (text: string) => string;

/** Values that wa2ai sent to an agent, and that the agent may quote. */
interface Sensitive {
  text: string;
  userId: string;
  sessionId: string;
  /** Header values, keys, passwords. */
  secrets: readonly string[];
}

/** Returns the function that replaces each of these values with its name in brackets. */
export function redactor({ text, userId, sessionId, secrets }: Sensitive): Redact {
  const hidden: Array<[string, string]> = [
    ...secrets.map((secret): [string, string] => [secret, '[secret]']),
    [text, '[message text]'],
    [JSON.stringify(text).slice(1, -1), '[message text]'],
    [sessionId, '[session]'],
    [userId, '[user]'],
  ];
  const known = hidden.filter(([value]) => value.length >= MIN_SECRET_CHARS);
  return (written) => known.reduce((shown, [value, name]) => shown.replaceAll(value, name), written);
}
