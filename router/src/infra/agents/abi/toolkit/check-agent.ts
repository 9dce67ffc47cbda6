import { Wa2aiError } from '../../../../core/errors.ts';
import type { CheckReport, CheckResult } from '../../agent-tools.ts';
import type { AgentTransport } from '../../transport/agent-transport.ts';
import type { FaultKind } from '../../transport/bounded-fetch.ts';
import { bodyJson, bodyText } from '../../transport/error-text.ts';
import { AbiDecodeError, decodeValues } from '../codec/abi-decode.ts';
import { callUrl, type Envelope, envelopeOf, outputsIn, requestBody } from '../codec/abi-rules.ts';
import { type AbiFunction, type AgentAbi, encodeCall } from '../codec/abi-signature.ts';
import { exampleValue } from '../input/abi-example.ts';
import { knownDefect } from '../output/read-outputs.ts';

const CONCURRENT = 20;
const LIMIT_BYTES = 10 * 1024 * 1024;
/** Below the limit, with room for the rest of a JSON envelope. */
const ALLOWED_BYTES = LIMIT_BYTES - 1024;
/** Containers must stay under this, five seconds below the host's limit. */
const SLOW_MS = 25_000;

/**
 * Checks an agent against the container specification: health, each function with sample arguments, what it refuses (unknown
 * selectors, short and malformed bodies, more than 10 MB) and accepts, concurrent calls, and response times. Each function
 * of the ABI is called. An agent that cannot be reached gets one request.
 */
export async function checkAgent(probe: Probe, abi: AgentAbi): Promise<CheckReport> {
  const checks = new Checks(probe, abi);
  if (!(await checks.health('health: GET /health answers 200 with JSON'))) return checks.report();
  for (const target of abi.functions) await checks.sampleCall(target);
  await checks.refusal('unknown selector is refused with 400', unknownSelector(abi));
  await checks.refusal('body of 3 bytes is refused with 400', Buffer.from('aabbcc', 'hex'));
  await checks.refusal('empty body is refused with 400', Buffer.alloc(0));
  for (const target of abi.functions.filter(({ inputs }) => inputs.length > 0)) {
    const half = Buffer.concat([Buffer.from(target.selector.slice(2), 'hex'), Buffer.alloc(16, 0xff)]);
    await checks.refusal(`${target.name}: broken ABI encoding is refused with 400`, half);
  }
  const large = Buffer.alloc(probe.envelope === 'json' ? ALLOWED_BYTES / 2 : ALLOWED_BYTES);
  unknownSelector(abi).copy(large);
  await checks.refusal('body just below 10 MB is read: its unknown selector is refused with 400', large);
  await checks.tooLarge();
  await checks.concurrent();
  checks.time();
  await checks.health('health after all checks: GET /health answers 200 with JSON');
  return checks.report();
}

type Probe = Pick<AgentProbe, 'url' | 'envelope' | 'health' | 'call' | 'outputsOf'>;

class Checks {
  readonly #probe: Probe;
  readonly #abi: AgentAbi;
  readonly #results: CheckResult[] = [];
  /** Functions whose sample call worked, with its calldata and answer. */
  readonly #working: Array<{ target: AbiFunction; calldata: Buffer; answer: ProbeAnswer }> = [];

  constructor(probe: Probe, abi: AgentAbi) {
    this.#probe = probe;
    this.#abi = abi;
  }

  report(): CheckReport {
    const isConforming = this.#results.every(({ result }) => result !== 'fail');
    return { url: this.#probe.url, isConforming, results: this.#results };
  }

  /** @returns whether the agent can be reached */
  async health(check: string): Promise<boolean> {
    const answer = await this.#probe.health();
    const isGood = answer.status === 200 && isJson(answer.body);
    const isThere = answer.fault !== 'not-connected';
    const note = !isThere ? 'no other check ran' : answer.status === 200 && !isGood ? 'no JSON' : undefined;
    this.#add(check, isGood ? 'pass' : 'fail', answer, note);
    return isThere;
  }

  async sampleCall(target: AbiFunction): Promise<void> {
    const check = `${target.name}: a call answers 200 with the ABI's outputs`;
    const calldata = encodeCall(
      this.#abi,
      target,
      target.inputs.map(({ type }) => exampleValue(type)),
    );
    const answer = await this.#probe.call(calldata);
    if (answer.status !== 200) {
      const defect = knownDefect(target, answer.status, bodyText(answer), this.#abi.codec);
      const isOpinion = answer.status === 400 && !defect;
      const note = isOpinion ? 'the sample arguments were refused' : defect;
      this.#add(check, isOpinion ? 'warn' : 'fail', answer, note);
      return;
    }
    const problem = this.#decodingProblem(target, answer);
    this.#add(check, problem ? 'fail' : 'pass', answer, problem);
    if (!problem) this.#working.push({ target, calldata, answer });
  }

  async refusal(check: string, body: Buffer): Promise<void> {
    const answer = await this.#probe.call(body);
    this.#add(check, answer.status === 400 ? 'pass' : 'fail', answer);
  }

  async tooLarge(): Promise<void> {
    const answer = await this.#probe.call(Buffer.alloc(LIMIT_BYTES + 1, 0xff));
    // Closing the connection during such a body is a refusal too.
    const isCut = answer.fault === 'no-answer' || answer.fault === 'broken';
    const isRefused = isCut || (answer.status >= 400 && answer.status < 500);
    this.#add('body above 10 MB is refused', isRefused ? 'pass' : 'fail', answer);
  }

  async concurrent(): Promise<void> {
    const [first] = this.#working;
    const check = `${CONCURRENT} concurrent calls get the same answer`;
    if (!first) {
      this.#results.push({ check, result: 'warn', found: 'not run, because no call succeeded', ms: 0 });
      return;
    }
    const startMs = performance.now();
    const answers = await Promise.all(
      Array.from({ length: CONCURRENT }, () => this.#probe.call(first.calldata)),
    );
    const ms = Math.round(performance.now() - startMs);
    const bad = answers.find((answer) => answer.status !== 200);
    const isSame = answers.every(({ body }) => body.equals(first.answer.body));
    const found = bad
      ? answerText(bad)
      : isSame
        ? 'all equal'
        : 'answers differ (expected when outputs depend on time or chance)';
    this.#results.push({ check, result: bad ? 'fail' : isSame ? 'pass' : 'warn', found, ms });
  }

  time(): void {
    const slowest = Math.max(0, ...this.#results.map(({ ms }) => ms));
    const found = `the slowest took ${slowest} ms`;
    const result = slowest > SLOW_MS ? 'fail' : 'pass';
    this.#results.push({
      check: `every answer comes within ${SLOW_MS / 1_000} s`,
      result,
      found,
      ms: slowest,
    });
  }

  #decodingProblem(target: AbiFunction, answer: ProbeAnswer): string | undefined {
    if (target.outputs.length === 0) return undefined;
    try {
      const encoded = this.#probe.outputsOf(answer);
      if (encoded.length === 0) return 'the answer is empty';
      decodeValues(target.outputs, encoded, this.#abi.codec);
      return undefined;
    } catch (error) {
      if (error instanceof AbiDecodeError) return `the answer ${error.message}`;
      if (error instanceof Wa2aiError) return error.message;
      throw error;
    }
  }

  #add(check: string, result: CheckResult['result'], answer: ProbeAnswer, note?: string): void {
    const found = note ? `${answerText(answer)} (${note})` : answerText(answer);
    this.#results.push({ check, result, found, ms: answer.ms });
  }
}

function unknownSelector(abi: AgentAbi): Buffer {
  const selector = ['ffffffff', 'fffffffe'].find((candidate) => !abi.bySelector.has(`0x${candidate}`));
  return Buffer.from(`${selector}${'00'.repeat(32)}`, 'hex');
}

function isJson(body: Buffer): boolean {
  return typeof bodyJson({ body }) === 'object';
}

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
