import { LRUCache } from 'lru-cache';
import { AgentProtocolError, AgentUnavailableError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { boundedFetch } from '../bounded-fetch.ts';

const MAX_BYTES = 1024 * 1024;
const MAX_MANIFESTS = 200;
const FRESH_MS = 5 * 60_000;

/** ABIs that routes name by URL: fetched at their first use, kept for five minutes, and longer while their server is away. */
export class Manifests {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #kept = new LRUCache<string, { entries: unknown[]; readMs: number }>({ max: MAX_MANIFESTS });

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * The entries of the ABI at the URL: a JSON ABI, or an object with one under `abi`. The same array as long as it is
   * fresh.
   * @throws {AgentUnavailableError} it cannot be fetched now
   * @throws {AgentProtocolError} what is there is no ABI
   */
  async entriesOf(url: string, signal: AbortSignal): Promise<unknown[]> {
    const kept = this.#kept.get(url);
    if (kept && this.#clock.monotonicMs() - kept.readMs < FRESH_MS) return kept.entries;
    try {
      const entries = entriesIn(await fetchText(url, signal));
      this.#kept.set(url, { entries, readMs: this.#clock.monotonicMs() });
      return entries;
    } catch (error) {
      if (kept && error instanceof AgentUnavailableError) return kept.entries;
      throw error;
    }
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  const headers = new Headers({ accept: 'application/json' });
  const fetched = await boundedFetch(url, { method: 'GET', headers, signal, maxBytes: MAX_BYTES });
  if (fetched.kind === 'fault') {
    if (fetched.stage === 'too-large')
      throw new AgentProtocolError("The ABI agent's manifest is larger than 1 MB.");
    throw new AgentUnavailableError(`The ABI agent's manifest cannot be fetched: ${fetched.detail}.`);
  }
  if (fetched.status === 200) return fetched.body.toString('utf8');
  const sentence = `The ABI agent's manifest cannot be fetched: status ${fetched.status}.`;
  throw fetched.status >= 500 || fetched.status === 429
    ? new AgentUnavailableError(sentence)
    : new AgentProtocolError(sentence);
}

function entriesIn(text: string): unknown[] {
  const manifest = parsed(text);
  const hasAbi = typeof manifest === 'object' && manifest !== null && 'abi' in manifest;
  const entries = hasAbi ? manifest.abi : manifest;
  if (Array.isArray(entries)) return entries;
  throw new AgentProtocolError(
    'The ABI agent\'s manifest holds no ABI: an array, or an object with one under "abi".',
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new AgentProtocolError("The ABI agent's manifest is not JSON.");
  }
}
