import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { Wa2aiError } from '../../../core/errors.ts';
import { say } from '../../../core/phrases.ts';
import { type AgentDeps, agentKind, findingOf, type ProbeFinding, reachFinding } from '../agent-kind.ts';
import {
  type AgentTools,
  type CheckReport,
  type CheckResult,
  checkText,
  type Inspection,
  inspectionText,
  type ToolInput,
  ToolkitError,
  type ToolOption,
  ToolUsageError,
} from '../agent-tools.ts';
import { ExactJsonError, parseExactJson } from '../lenient-json.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import type { FaultKind } from '../transport/bounded-fetch.ts';
import { bodyJson, bodyText } from '../transport/error-text.ts';
import { AbiAgentClient } from './abi-agent-client.ts';
import { type AbiSettings, abiSettings } from './abi-settings.ts';
import { AbiDecodeError, decodeValues } from './codec/abi-decode.ts';
import {
  abiSettingsProblems,
  callUrl,
  type Envelope,
  envelopeOf,
  outputsIn,
  readable,
  renderOutputs,
  requestBody,
  rulesOf,
} from './codec/abi-rules.ts';
import {
  type AbiFunction,
  AbiProblemsError,
  type AgentAbi,
  createAbi,
  encodeCall,
  findFunction,
} from './codec/abi-signature.ts';
import { AbiDefinitionError } from './codec/abi-type.ts';
import { coerceAll } from './codec/abi-value.ts';
import { exampleValue } from './input/abi-example.ts';
import { AbiInputError } from './input/abi-input.ts';
import { abiEntriesOf, Manifests } from './input/manifests.ts';
import { knownDefect } from './output/read-outputs.ts';

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

const MAX_PROBE_BYTES = 21 * 1024 * 1024;

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
    const fetched = await this.#transport.fetch(url, {
      method,
      headers,
      body,
      signal,
      maxBytes: MAX_PROBE_BYTES,
    });
    const ms = Math.round(performance.now() - startMs);
    if (fetched.kind === 'answer') return { status: fetched.status, body: fetched.body, ms };
    const { fault, detail } = fetched;
    const problem = fault === 'aborted' ? `no answer within ${this.#timeoutMs} ms` : detail.sentence;
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

const abi: ToolOption = { name: 'abi', value: 'FILE', help: 'a file with the ABI or the signatures' };
const envelope: ToolOption = {
  name: 'envelope',
  value: 'raw|json',
  help: 'form of the request: calldata or JSON (default raw)',
};
const method: ToolOption = { name: 'method', value: 'NAME', help: 'the function to call' };
const input: ToolOption = { name: 'input', value: 'JSON', help: 'its arguments (default {})' };

/** Tools for people who write ABI agents. */
const abiTools: AgentTools = {
  async detect(toolInput) {
    return isAbiHealth(await probeOf(toolInput).health());
  },
  test: {
    summary: 'calls one function and shows the outputs',
    options: [abi, method, input, envelope],
    async run(toolInput) {
      const { method: name, input: values = '{}' } = toolInput.options;
      if (name === undefined) throw new ToolUsageError('--method is missing: the function to call');
      const given = { method: name, input: values };
      const report = await testAgent(probeOf(toolInput), await abiOf(toolInput), given);
      const lines = [
        `${report.function} ${report.selector}, ${report.ms} ms`,
        `calldata ${report.calldata}`,
        report.reply ?? '(no outputs)',
      ];
      return { report, text: lines.join('\n'), isGood: true };
    },
  },
  inspect: {
    summary: 'shows health, methods, envelope and selectors, without a call',
    options: [abi, envelope],
    async run(toolInput) {
      const known = toolInput.options.abi === undefined ? undefined : await abiFileOf(toolInput);
      const report = await inspectAgent(probeOf(toolInput), known);
      const details = [
        `envelope      ${report.envelope ?? '(not reachable)'}`,
        ...report.functions.map(
          ({ selector, signature, isListed }) =>
            `${selector}  ${signature}${isListed === false ? '  (not listed by /health)' : ''}`,
        ),
      ];
      return { report, text: inspectionText(report, details), isGood: report.isReachable };
    },
  },
  check: {
    summary: 'checks the whole container specification; calls each function',
    options: [abi, envelope],
    async run(toolInput) {
      const report = await checkAgent(probeOf(toolInput), await abiOf(toolInput));
      return { report, text: checkText(report), isGood: report.isConforming };
    },
  },
};

async function abiOf(input: ToolInput): Promise<AgentAbi> {
  return (await abiFileOf(input)).abi;
}

async function abiFileOf({ options }: ToolInput): Promise<AbiFile> {
  if (options.abi === undefined) {
    throw new ToolUsageError('--abi is missing: a file with the ABI or the signatures');
  }
  return await readAbiFile(options.abi);
}

function probeOf({ url, options, timeoutMs, transport }: ToolInput): AgentProbe {
  const packed = options.envelope ?? 'raw';
  if (packed !== 'raw' && packed !== 'json') throw new ToolUsageError('--envelope must be raw or json');
  return new AgentProbe(url, { envelope: packed, timeoutMs, transport });
}

/** An ABI with the entries that it was made of, as a route has them. */
interface AbiFile {
  abi: AgentAbi;
  entries: unknown[];
}

/**
 * Reads an ABI from a file: a JSON ABI, a manifest with one under `abi`, a JSON list of signatures, or plain text with one
 * signature per line (`#` and `//` begin comments).
 * @throws {ToolkitError} the file cannot be read or contains no usable ABI
 */
export async function readAbiFile(path: string): Promise<AbiFile> {
  let text: string;
  try {
    text = (await readFile(path, 'utf8')).replace(/^\ufeff/, '');
  } catch (error) {
    throw new ToolkitError(`The ABI file ${path} cannot be read: ${(error as NodeJS.ErrnoException).code}.`);
  }
  const entries = entriesIn(text);
  try {
    return { abi: await createAbi(entries), entries };
  } catch (error) {
    if (!(error instanceof AbiProblemsError)) throw error;
    throw new ToolkitError(`${path} contains no usable ABI: ${error.message}.`);
  }
}

function entriesIn(text: string): unknown[] {
  if (!/^\s*[[{]/.test(text)) {
    const lines = text.split(/\r?\n/).map((line) => line.split(/#|\/\//, 1)[0]?.trim() ?? '');
    return lines.filter((line) => line !== '');
  }
  const entries = abiEntriesOf(parse(text));
  if (entries) return entries;
  throw new ToolkitError('The ABI file contains no ABI: an array, or an object with one under "abi".');
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ToolkitError('The ABI file is neither JSON nor a list of signatures.');
  }
}

/** Facts about an agent that need no call of a function. */
interface InspectReport extends Inspection {
  /** Names that /health lists. */
  methods: string[];
  envelope?: Envelope;
  /** Functions of the ABI, when one was given. `isListed`: /health names it; absent when /health names none. */
  functions: Array<{ signature: string; selector: string; isListed?: boolean }>;
}

/** Requests /health and sends an unknown selector to detect the envelope. Never throws for an agent's failure. */
export async function inspectAgent(probe: AgentProbe, file: AbiFile | undefined): Promise<InspectReport> {
  const health = await probe.health();
  const isReachable = health.status !== 0;
  const said = health.status === 200 ? healthIn(health.body) : undefined;
  const methods = said?.methods ?? [];
  const envelope = isReachable ? await probe.detectEnvelope() : undefined;
  const abi = { functions: file?.entries, ...(envelope === 'json' && { envelope }) };
  return {
    kind: 'abi',
    url: probe.url,
    isReachable,
    answer: answerText(health),
    latencyMs: health.ms,
    ...(said?.version !== undefined && { version: said.version }),
    capabilities: methods.map((name) => `function ${name}`),
    methods,
    ...(envelope && { envelope }),
    ...(file && { route: { channelId: '*', agentEndpoint: probe.url, config: { abi } } }),
    functions: (file?.abi.functions ?? []).map(({ signature, selector, name }) => ({
      signature,
      selector,
      ...(methods.length > 0 && { isListed: methods.includes(name) }),
    })),
  };
}

const healthSchema = z.looseObject({
  status: z.string().nullish().catch(undefined),
  version: z.string().max(100).optional().catch(undefined),
  methods: z
    .array(z.unknown())
    .transform((names) => names.filter((name) => typeof name === 'string'))
    .optional()
    .catch(undefined),
});

/** What an agent says at `/health`; undefined when it is not the JSON of the container specification. */
function healthIn(body: Buffer): z.output<typeof healthSchema> | undefined {
  return healthSchema.safeParse(bodyJson({ body })).data;
}

/** Whether the answer to `/health` is one of the container specification: it names methods, or says `healthy`. */
export function isAbiHealth({ status, body }: Pick<ProbeAnswer, 'status' | 'body'>): boolean {
  const health = status === 200 ? healthIn(body) : undefined;
  return health?.methods !== undefined || health?.status === 'healthy';
}

/** One call and its answer. */
interface TestReport {
  function: string;
  selector: string;
  calldata: string;
  ms: number;
  outputs: unknown;
  /** The outputs as a chat would show them. */
  reply?: string;
}

/**
 * Calls one function with arguments as JSON, by name or by position.
 * @throws {ToolkitError} the method or the input is wrong, or the agent did not answer with the ABI's outputs
 * @throws {AgentProtocolError} the answer is not the JSON envelope, or contains no hex result
 */
export async function testAgent(
  probe: AgentProbe,
  abi: AgentAbi,
  options: { method: string; input: string },
): Promise<TestReport> {
  const { target, calldata } = prepare(abi, options);
  const answer = await probe.call(calldata);
  if (answer.status === 0) throw new ToolkitError(`The agent did not answer: ${answerText(answer)}.`);
  if (answer.status !== 200) {
    const defect = knownDefect(target, answer.status, bodyText(answer), abi.codec);
    throw new ToolkitError(`The agent answered ${answerText(answer)}${defect ? ` (${defect})` : ''}.`);
  }
  try {
    const outputs = decodeValues(target.outputs, probe.outputsOf(answer), abi.codec);
    const reply = renderOutputs(target.outputs, outputs);
    return {
      function: target.signature,
      selector: target.selector,
      calldata: `0x${calldata.toString('hex')}`,
      ms: answer.ms,
      outputs: readable(target.outputs, outputs),
      ...(reply !== undefined && { reply }),
    };
  } catch (error) {
    if (!(error instanceof AbiDecodeError)) throw error;
    throw new ToolkitError(
      `The answer of ${answer.body.length} bytes does not fit the ABI: it ${error.message}.`,
    );
  }
}

function prepare(
  abi: AgentAbi,
  { method, input }: { method: string; input: string },
): { target: AbiFunction; calldata: Buffer } {
  try {
    const target = findFunction(abi, method);
    const values = coerceAll(target.inputs, parseExactJson(input), abi.codec);
    return { target, calldata: encodeCall(abi, target, values) };
  } catch (error) {
    if (error instanceof AbiDefinitionError) throw new ToolkitError(`--method ${error.message}.`);
    if (error instanceof AbiInputError) throw new ToolkitError(`--input: ${error.message}.`);
    if (error instanceof ExactJsonError) throw new ToolkitError(`--input ${error.message}.`);
    throw error;
  }
}

const MAX_BYTES = 256 * 1024;

/** Warnings about a route to this agent: the agent cannot be reached, or its manifest cannot be used. */
async function abiFindings(
  agentEndpoint: string,
  settings: AbiSettings,
  deps: Pick<AgentDeps, 'clock' | 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding[]> {
  const found = await Promise.all([
    endpointFinding(agentEndpoint, settings, deps),
    manifestFinding(settings, deps),
  ]);
  return found.filter((finding) => finding !== undefined);
}

async function endpointFinding(
  agentEndpoint: string,
  { headers }: AbiSettings,
  { transport, signal }: Pick<AgentDeps, 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding | undefined> {
  const health = await transport.fetch(callUrl(agentEndpoint, '/health'), {
    method: 'GET',
    headers: new Headers(headers),
    signal,
    maxBytes: MAX_BYTES,
  });
  const found = health.kind === 'answer' ? { status: health.status } : { problem: health.detail };
  const fields = { address: 'agentEndpoint', headers: 'config.abi.headers' };
  return reachFinding({ kind: 'abi', address: new URL(agentEndpoint).origin }, found, fields);
}

async function manifestFinding(
  settings: AbiSettings,
  { clock, transport, signal }: Pick<AgentDeps, 'clock' | 'transport'> & { signal: AbortSignal },
): Promise<ProbeFinding | undefined> {
  if (typeof settings.functions !== 'string') return undefined;
  const code = 'AGENT_MANIFEST';
  try {
    const entries = await new Manifests(clock, transport).entriesOf(settings.functions, signal);
    const result = await rulesOf(entries, settings);
    if (result.ok) return undefined;
    const [problem] = result.problems;
    const field = `config.abi.${problem?.field}`;
    return findingOf(code, field, say('probe.not-fitting', { why: problem?.said ?? '' }));
  } catch (error) {
    if (!(error instanceof Wa2aiError)) throw error;
    return findingOf(code, 'config.abi.functions', error.said);
  }
}

/** Agents that take ABI calldata over HTTP (agent container specification). */
export const abiKind = agentKind<AbiSettings>({
  name: 'abi',
  description: 'An agent that takes ABI calldata (agent container specification).',
  settings: abiSettings,
  check: abiSettingsProblems,
  endpointOf: (agentEndpoint) => agentEndpoint,
  probe: abiFindings,
  tools: abiTools,
  client: ({ defaultTimeoutMs, log, clock, transport }) => {
    const manifests = new Manifests(clock, transport);
    return (abi, _route, own = transport) =>
      new AbiAgentClient({ abi, timeoutMs: defaultTimeoutMs(), log, clock, manifests, transport: own });
  },
});
