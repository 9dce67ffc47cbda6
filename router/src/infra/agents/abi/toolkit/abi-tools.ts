import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import {
  type AgentTools,
  checkText,
  type Inspection,
  inspectionText,
  type ToolInput,
  ToolkitError,
  type ToolOption,
  ToolUsageError,
} from '../../agent-tools.ts';
import { ExactJsonError, parseExactJson } from '../../lenient-json.ts';
import { bodyJson, bodyText } from '../../transport/error-text.ts';
import { AbiDecodeError, decodeValues } from '../codec/abi-decode.ts';
import { type Envelope, readable, renderOutputs } from '../codec/abi-rules.ts';
import {
  type AbiFunction,
  AbiProblemsError,
  type AgentAbi,
  createAbi,
  encodeCall,
  findFunction,
} from '../codec/abi-signature.ts';
import { AbiDefinitionError } from '../codec/abi-type.ts';
import { coerceAll } from '../codec/abi-value.ts';
import { AbiInputError } from '../input/abi-input.ts';
import { abiEntriesOf } from '../input/manifests.ts';
import { knownDefect } from '../output/read-outputs.ts';
import { AgentProbe, answerText, checkAgent, type ProbeAnswer } from './check-agent.ts';

const abi: ToolOption = { name: 'abi', value: 'FILE', help: 'a file with the ABI or the signatures' };
const envelope: ToolOption = {
  name: 'envelope',
  value: 'raw|json',
  help: 'form of the request: calldata or JSON (default raw)',
};
const method: ToolOption = { name: 'method', value: 'NAME', help: 'the function to call' };
const input: ToolOption = { name: 'input', value: 'JSON', help: 'its arguments (default {})' };

/** Tools for people who write ABI agents. */
export const abiTools: AgentTools = {
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
