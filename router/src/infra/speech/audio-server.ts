import { AgentProtocolError, AgentUnavailableError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports/clock.ts';
import { withLimit } from '../../core/time-limit.ts';
import { withoutTrailing } from '../../core/without-trailing.ts';
import type { AgentTransport } from '../agents/transport/agent-transport.ts';

const TIMEOUT_MS = 60_000;
/** Attempts while the server is unavailable, and the wait between them. */
const ATTEMPTS = 2;
const WAIT_MS = 1_000;

export interface AudioServerDeps {
  transport: AgentTransport;
  clock: Clock;
}

/** A request to a server of sounds. */
export interface AudioRequest {
  url: string;
  headers: Record<string, string>;
  body: Uint8Array<ArrayBuffer>;
  /** Of the answer. */
  maxBytes: number;
  /** The name of the server in sentences: `transcription server`. */
  server: string;
  /** The setting that names it. */
  setting: string;
}

/**
 * Sends a request, at most twice and at most a minute each time. No sentence has words of the server, which may quote a header.
 * @throws {AgentUnavailableError} {AgentProtocolError} there is no answer · the signal's reason when it aborts
 */
export async function askAudioServer(
  { transport, clock }: AudioServerDeps,
  request: AudioRequest,
  signal: AbortSignal | undefined,
): Promise<{ headers: Headers; body: Buffer }> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await withLimit(clock, TIMEOUT_MS, signal, (limited) => send(transport, request, limited));
    } catch (error) {
      signal?.throwIfAborted();
      if (attempt >= ATTEMPTS || !(error instanceof AgentUnavailableError)) throw error;
      await clock.sleep(WAIT_MS, signal);
    }
  }
}

/** The address of a request: the path is added unless the URL has it. */
export function audioUrl(address: string, path: string): string {
  const url = new URL(address);
  const own = withoutTrailing(url.pathname, '/');
  if (own.endsWith(path)) return address;
  url.pathname = `${/\/v\d/.test(own) ? own : `${own}/v1`}${path}`;
  return url.href;
}

async function send(
  transport: AgentTransport,
  { url, headers, body, maxBytes, server, setting }: AudioRequest,
  signal: AbortSignal,
): Promise<{ headers: Headers; body: Buffer }> {
  const fetched = await transport.fetch(url, {
    ...{ method: 'POST', headers: new Headers(headers), body, signal, maxBytes },
  });
  if (fetched.kind === 'fault') {
    if (fetched.fault === 'refused') {
      const sentence = `The egress rule refuses the address of the ${server}.`;
      throw new AgentProtocolError(sentence, { code: 'AGENT_ADDRESS_REFUSED' });
    }
    if (fetched.fault === 'too-large') throw new AgentProtocolError(`The ${server} answered too much.`);
    throw new AgentUnavailableError(`The ${server} did not answer.`);
  }
  const { status } = fetched;
  if (status === 429 || status >= 500) {
    throw new AgentUnavailableError(`The ${server} answered status ${status}.`);
  }
  if (status < 200 || status > 299) {
    throw new AgentProtocolError(`The ${server} answered status ${status}. Check ${setting}.`);
  }
  return fetched;
}
