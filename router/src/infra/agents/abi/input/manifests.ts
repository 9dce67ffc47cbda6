import { LRUCache } from 'lru-cache';
import { type Clock, orAbort } from '../../../../core/clock.ts';
import { AgentProtocolError, AgentUnavailableError } from '../../../../core/errors.ts';
import { say } from '../../../../core/phrases.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import { redirectHint } from '../../transport/bounded-fetch.ts';
import { bodyText } from '../../transport/error-text.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_MANIFESTS = 200;
const FRESH_MS = 5 * 60_000;
/** Longest wait for the first fetch of a manifest, and for a refresh, without which the cached manifest is used. */
const FETCH_LIMIT_MS = 10_000;
const REFRESH_LIMIT_MS = 2_000;
/** After a failed fetch, the cached manifest is used for this long. */
const RETRY_AFTER_MS = 30_000;

interface CachedManifest {
  entries: unknown[];
  freshUntilMs: number;
}

/** Cache of ABIs that routes name by URL: fetched at first use, fresh for five minutes, and longer while the server is unavailable. */
export class Manifests {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #transport: AgentTransport;
  readonly #cache = new LRUCache<string, CachedManifest>({ max: MAX_MANIFESTS });
  readonly #pending = new Map<string, Promise<unknown[]>>();

  constructor(clock: Pick<Clock, 'monotonicMs'>, transport: AgentTransport) {
    this.#clock = clock;
    this.#transport = transport;
  }

  /**
   * The entries of the ABI at the URL: a JSON ABI, or an object with one under `abi`. The same array as long as it is
   * fresh; concurrent callers share one request.
   * @param transport sends the request; default: that of all manifests
   * @throws {AgentUnavailableError} it cannot be fetched now, or not before `signal` aborts
   * @throws {AgentProtocolError} the URL has no ABI, or its address is refused
   */
  async entriesOf(url: string, signal: AbortSignal, transport = this.#transport): Promise<unknown[]> {
    const cached = this.#cache.get(url);
    if (cached && this.#clock.monotonicMs() < cached.freshUntilMs) return cached.entries;
    try {
      const limitMs = cached ? REFRESH_LIMIT_MS : FETCH_LIMIT_MS;
      return await orAbort(this.#fetchEntries(url, limitMs, transport), signal);
    } catch (error) {
      if (signal.aborted) throw new AgentUnavailableError(LATE);
      if (!cached || !(error instanceof AgentUnavailableError)) throw error;
      cached.freshUntilMs = this.#clock.monotonicMs() + RETRY_AFTER_MS;
      return cached.entries;
    }
  }

  #fetchEntries(url: string, limitMs: number, transport: AgentTransport): Promise<unknown[]> {
    const pending = this.#pending.get(url);
    if (pending) return pending;
    const fetching = fetchText(transport, url, AbortSignal.timeout(limitMs))
      .then((text) => {
        const entries = entriesIn(text);
        this.#cache.set(url, { entries, freshUntilMs: this.#clock.monotonicMs() + FRESH_MS });
        return entries;
      })
      .finally(() => this.#pending.delete(url));
    this.#pending.set(url, fetching);
    // Without this a failure after all callers have aborted would be an unhandled rejection.
    fetching.catch(() => undefined);
    return fetching;
  }
}

const LATE = say('abi.manifest-late');

async function fetchText(transport: AgentTransport, url: string, signal: AbortSignal): Promise<string> {
  const headers = new Headers({ accept: 'application/json' });
  const fetched = await transport.fetch(url, { method: 'GET', headers, signal, maxBytes: MAX_BYTES });
  if (fetched.kind === 'fault') {
    if (fetched.fault === 'refused') {
      throw new AgentProtocolError(say('abi.manifest-not-fetched', { why: fetched.detail }), {
        code: 'AGENT_ADDRESS_REFUSED',
      });
    }
    if (fetched.fault === 'too-large') throw new AgentProtocolError(say('abi.manifest-too-large'));
    if (fetched.fault === 'aborted') throw new AgentUnavailableError(LATE);
    throw new AgentUnavailableError(say('abi.manifest-not-fetched', { why: fetched.detail }), {
      isAway: fetched.fault === 'not-connected',
    });
  }
  if (fetched.status === 200) return bodyText(fetched);
  const { status } = fetched;
  const said = say('abi.manifest-status', { status, hint: redirectHint(fetched) ?? '' });
  throw fetched.status >= 500 || fetched.status === 429
    ? new AgentUnavailableError(said, { isAway: [429, 502, 503].includes(fetched.status) })
    : new AgentProtocolError(said);
}

function entriesIn(text: string): unknown[] {
  const entries = abiEntriesOf(parsed(text));
  if (entries) return entries;
  throw new AgentProtocolError(say('abi.manifest-without-abi'));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AgentProtocolError(say('abi.manifest-not-json'));
  }
}

/** The entries of an ABI as JSON: an array, or an object with one under `abi`; undefined for anything else. */
export function abiEntriesOf(json: unknown): unknown[] | undefined {
  const entries = typeof json === 'object' && json !== null && 'abi' in json ? json.abi : json;
  return Array.isArray(entries) ? entries : undefined;
}
