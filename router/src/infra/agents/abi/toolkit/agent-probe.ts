import type { AgentTransport } from '../../transport/agent-transport.ts';
import type { FaultKind } from '../../transport/bounded-fetch.ts';
import { callUrl, type Envelope, envelopeOf, outputsIn, requestBody } from '../codec/abi-wire.ts';

const MAX_BYTES = 21 * 1024 * 1024;

/** Answer to one request, or why there was none (`status` 0). */
export interface ProbeAnswer {
  status: number;
  body: Buffer;
  ms: number;
  fault?: FaultKind;
  problem?: string;
}

/** Sends single requests to one agent and measures them. */
export class AgentProbe {
  readonly url: string;
  readonly envelope: Envelope;
  readonly #timeoutMs: number;
  readonly #transport: AgentTransport;

  constructor(url: string, options: { envelope?: Envelope; timeoutMs: number; transport: AgentTransport }) {
    this.url = url;
    this.envelope = options.envelope ?? 'raw';
    this.#timeoutMs = options.timeoutMs;
    this.#transport = options.transport;
  }

  /** Posts calldata in the envelope. */
  call(calldata: Uint8Array): Promise<ProbeAnswer> {
    const { contentType, body } = requestBody(this.envelope, Buffer.from(calldata), 'wa2ai-check');
    return this.#send('POST', callUrl(this.url, undefined), contentType, body);
  }

  health(): Promise<ProbeAnswer> {
    return this.#send('GET', callUrl(this.url, '/health'));
  }

  /** Encoded outputs of an answer with status 200. @throws {AgentProtocolError} the JSON envelope contains none */
  outputsOf(answer: ProbeAnswer): Buffer {
    return outputsIn(this.envelope, answer.body);
  }

  /** Detects the envelope that the agent expects, from its answer to raw bytes. */
  async detectEnvelope(): Promise<Envelope> {
    const { contentType, body } = requestBody('raw', Buffer.from('ffffffff', 'hex'), 'wa2ai-inspect');
    const answer = await this.#send('POST', callUrl(this.url, undefined), contentType, body);
    return envelopeOf(answer.body) ? 'json' : 'raw';
  }

  async #send(
    method: 'GET' | 'POST',
    url: string,
    contentType?: string,
    body?: string | Uint8Array,
  ): Promise<ProbeAnswer> {
    const headers = new Headers(contentType ? { 'content-type': contentType } : {});
    const signal = AbortSignal.timeout(this.#timeoutMs);
    const startMs = performance.now();
    const fetched = await this.#transport.fetch(url, { method, headers, body, signal, maxBytes: MAX_BYTES });
    const ms = Math.round(performance.now() - startMs);
    if (fetched.kind === 'answer') return { status: fetched.status, body: fetched.body, ms };
    const { fault, detail } = fetched;
    const problem = fault === 'aborted' ? `no answer within ${this.#timeoutMs} ms` : detail;
    return { status: 0, body: Buffer.alloc(0), ms, fault, problem };
  }
}

/** `status 400: Unknown function selector`, for a report. */
export function answerText({ status, body, problem }: ProbeAnswer): string {
  if (problem) return problem;
  const text = body
    .toString('utf8', 0, 200)
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim();
  return text === '' || status === 200 ? `status ${status}` : `status ${status}: ${text.slice(0, 120)}`;
}
