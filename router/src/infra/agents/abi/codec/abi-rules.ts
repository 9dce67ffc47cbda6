import { z } from 'zod';
import { AgentProtocolError } from '../../../../core/errors.ts';
import { say } from '../../../../core/phrases.ts';
import { withoutTrailing } from '../../../../core/text.ts';
import type { SettingsProblem } from '../../agent-kind.ts';
import { placeholderProblems } from '../../message-template.ts';
import { bodyJson } from '../../transport/error-text.ts';
import type { AbiSettings } from '../abi-settings.ts';
import { type CallRules, only, sampleOf } from '../input/abi-command.ts';
import { AbiInputError } from '../input/abi-input.ts';
import {
  block,
  type FileTemplate,
  lines,
  type OutputTemplate,
  parseFileOutput,
  parseOutputTemplate,
  renderTemplate,
} from '../output/output-template.ts';
import { AbiProblemsError, type AgentAbi, createAbi, findFunction } from './abi-signature.ts';
import { AbiDefinitionError, type AbiParam, type AbiType, type AbiValue, areNamed } from './abi-type.ts';
import { coerceAll } from './abi-value.ts';

/** The settings of a route, parsed and checked. */
export interface AbiRules extends CallRules {
  /** Template of the reply; it applies only to the outputs of `only(rules)`. */
  output?: OutputTemplate;
  /** Template of a reply that is a file, instead of `output`. */
  file?: FileTemplate;
}

type AbiRulesResult = { ok: true; rules: AbiRules } | { ok: false; problems: SettingsProblem[] };

/**
 * Reads the settings with the entries of their ABI: each function is parsed, `function` looked up, the argument template
 * checked against the function's types and the output template against its outputs. Mistakes are results, not exceptions.
 */
export async function rulesOf(
  entries: readonly unknown[],
  config: Pick<AbiSettings, 'function' | 'args' | 'output'>,
): Promise<AbiRulesResult> {
  let abi: AgentAbi;
  try {
    abi = await createAbi(entries);
  } catch (error) {
    if (!(error instanceof AbiProblemsError)) throw error;
    const problems = error.problems.map(({ path, said }) => ({ field: `functions${path}`, said }));
    return { ok: false, problems };
  }
  const problems: SettingsProblem[] = [];
  const noting = <T>(field: string, work: () => T): T | undefined => {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof AbiDefinitionError)) throw error;
      problems.push({ field, said: error.said });
      return undefined;
    }
  };
  const { function: wanted, args, output } = config;
  const target = wanted === undefined ? undefined : noting('function', () => findFunction(abi, wanted));
  const rules: AbiRules = { abi, ...(target && { target }), ...(args !== undefined && { args }) };
  const sole = only(rules);
  if (!sole && problems.length === 0 && (args ?? output) !== undefined) {
    const said = say('abi-definition.which-function', { count: abi.functions.length });
    problems.push({ field: 'function', said });
  }
  if (sole && args !== undefined) {
    problems.push(...placeholderProblems(args).map((said) => ({ field: 'args', said })));
    if (problems.length === 0) {
      noting('args', () => {
        try {
          coerceAll(sole.inputs, sampleOf(args), abi.codec);
        } catch (error) {
          if (!(error instanceof AbiInputError)) throw error;
          const { signature } = sole;
          throw new AbiDefinitionError(say('abi-definition.args', { signature, why: error.message }));
        }
      });
    }
  }
  if (sole && output !== undefined) {
    if (typeof output === 'string') {
      rules.output = noting('output', () => parseOutputTemplate(output, sole.outputs));
    } else rules.file = noting('output', () => parseFileOutput(output, sole.outputs));
  }
  return problems.length > 0 ? { ok: false, problems } : { ok: true, rules };
}

/** Mistakes in settings that an admin saves. An ABI behind a URL is fetched at its first use, so it is not checked here. */
export async function abiSettingsProblems(config: AbiSettings): Promise<SettingsProblem[]> {
  if (typeof config.functions === 'string') return [];
  const result = await rulesOf(config.functions, config);
  return result.ok ? [] : result.problems;
}

/** Form of the request body: `raw` calldata, or JSON with the calldata in hex. */
export type Envelope = 'raw' | 'json';

/** Body and content type of a request. `requestId` is the message's id, the same for each attempt. */
export function requestBody(envelope: Envelope, calldata: Buffer, requestId: string) {
  if (envelope === 'raw') return { contentType: 'application/octet-stream', body: new Uint8Array(calldata) };
  const body = JSON.stringify({ requestId, request: `0x${calldata.toString('hex')}` });
  return { contentType: 'application/json', body };
}

const step = z.looseObject({ name: z.string().optional() });
const envelopeAnswer = z.looseObject({ steps: z.array(step), result: z.string().nullish() });

/** An answer in the JSON envelope, `{steps, result}`; undefined for anything else. */
export function envelopeOf(body: Buffer): z.output<typeof envelopeAnswer> | undefined {
  // A brace, or the first byte of a byte order mark.
  return body[0] === 0x7b || body[0] === 0xef ? envelopeAnswer.safeParse(bodyJson({ body })).data : undefined;
}

/** Text of the last `error` step of an envelope, or the whole step as JSON; undefined when there is none. */
export function envelopeError(body: Buffer): string | undefined {
  const step = envelopeOf(body)?.steps.findLast(({ name }) => name === 'error');
  if (!step) return undefined;
  const { name: _, ...rest } = step;
  const text = [rest.message, rest.error, rest.detail].find((value) => typeof value === 'string');
  return text ?? (Object.keys(rest).length > 0 ? JSON.stringify(rest) : undefined);
}

/**
 * The ABI-encoded outputs in the body of a 200 answer; `redact` is applied to the parts that an error message quotes.
 * @throws {AgentProtocolError} the JSON envelope contains none
 */
export function outputsIn(
  envelope: Envelope,
  body: Buffer,
  redact: (text: string) => string = (text) => text,
): Buffer {
  if (envelope === 'raw') return body;
  const answer = envelopeOf(body);
  if (!answer) throw new AgentProtocolError(say('abi.no-envelope'));
  const { result } = answer;
  if (typeof result !== 'string' || !/^0x(?:[0-9a-f]{2})*$/i.test(result)) {
    const names = answer.steps.map(({ name }) => name ?? '?').join(', ');
    const said = redact(envelopeError(body) ?? '');
    throw new AgentProtocolError(
      say('abi.no-hex-result', { names: names.slice(0, 200), details: said && `: ${said}` }),
    );
  }
  return Buffer.from(result.slice(2), 'hex');
}

/**
 * URL of a call: the endpoint, with `path` appended. An endpoint without a path gets `/`; the default port is 80 (443 with
 * https).
 * @throws {AgentProtocolError} the endpoint is not an http:// or https:// URL
 */
export function callUrl(endpoint: string, path: string | undefined): string {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new AgentProtocolError(say('abi.bad-address'));
  }
  if (path === undefined) return url.href;
  return `${url.origin}${withoutTrailing(url.pathname, '/')}/${path.replace(/^\/+/, '')}${url.search}`;
}

/** Maximum number of characters that WhatsApp shows of one message. */
const MAX_REPLY_CHARS = 65_536;
/** In the message log a text or bytes value is cut here, and a list after so many items. */
const MAX_LOGGED_CHARS = 2_000;
const MAX_LOGGED_ITEMS = 100;
const MAX_LOGGED_TOTAL = 50_000;

/**
 * The reply for a function's outputs: one text is the reply itself, several outputs are shown one per line, with their
 * names. Numbers are exact and bytes are hex. Undefined when the function has no outputs. A reply that is too long for
 * WhatsApp is cut and ends with a note.
 */
export function renderOutputs(
  outputs: readonly AbiParam[],
  values: readonly AbiValue[],
  template?: OutputTemplate,
): string | undefined {
  if (template) return cut(renderTemplate(template, outputs, values));
  const [first] = outputs;
  if (!first) return undefined;
  if (outputs.length === 1) return cut(block(first.type, values[0] as AbiValue));
  return cut(lines(outputs, values).join('\n'));
}

function cut(reply: string): string {
  if (reply.length <= MAX_REPLY_CHARS) return reply;
  const note = `\n… (cut: the whole answer has ${reply.length} characters)`;
  return `${reply.slice(0, MAX_REPLY_CHARS - note.length).replace(/[\ud800-\udbff]$/, '')}${note}`;
}

/**
 * Values as JSON for the message log and the explain call: by name where all have one, numbers as text. Long values are
 * cut, and after 50,000 characters in total each further value is `…`.
 */
export function readable(params: readonly AbiParam[], values: readonly AbiValue[]): unknown {
  return shownFields(params, values, { charsLeft: MAX_LOGGED_TOTAL });
}

interface Budget {
  charsLeft: number;
}

function shownFields(params: readonly AbiParam[], values: readonly AbiValue[], budget: Budget): unknown {
  const shown = params.map(({ type }, index) => shownValue(type, values[index] as AbiValue, budget));
  return areNamed(params) ? Object.fromEntries(params.map(({ name }, index) => [name, shown[index]])) : shown;
}

function shownValue(type: AbiType, value: AbiValue, budget: Budget): unknown {
  if (budget.charsLeft <= 0) return '…';
  if (Array.isArray(value)) {
    budget.charsLeft -= 2;
    if (type.kind === 'tuple') return shownFields(type.fields, value, budget);
    if (type.kind !== 'array') return value;
    const items = value.slice(0, MAX_LOGGED_ITEMS).map((item) => shownValue(type.item, item, budget));
    return value.length > MAX_LOGGED_ITEMS ? [...items, `… (${value.length} items)`] : items;
  }
  if (typeof value === 'boolean') return value;
  const text = String(value);
  budget.charsLeft -= Math.min(text.length, MAX_LOGGED_CHARS);
  if (text.length <= MAX_LOGGED_CHARS) return text;
  return `${text.slice(0, MAX_LOGGED_CHARS)}… (${text.length} characters)`;
}
