import { contractSessionId, contractUser } from '../../../../core/chat-id.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  type Wa2aiError,
} from '../../../../core/errors.ts';
import type { IncomingMessage } from '../../../../core/models.ts';
import { changed, say } from '../../../../core/phrases.ts';
import { detailsOf, type Redact, redactor, rejectedError } from '../../transport/agent-transport.ts';
import { type Fetched, redirectHint } from '../../transport/bounded-fetch.ts';
import { bodyText, errorText } from '../../transport/error-text.ts';
import { AbiDecodeError, decodeValues } from '../codec/abi-decode.ts';
import { type Envelope, envelopeError, envelopeOf, outputsIn, readable } from '../codec/abi-rules.ts';
import type { AbiFunction } from '../codec/abi-signature.ts';
import { type AbiValue, type Codec, typeText } from '../codec/abi-type.ts';
import type { Call } from '../input/abi-command.ts';

/** The call that was made, and how its failures are classified. */
interface CallContext {
  target: AbiFunction;
  codec: Codec;
  envelope: Envelope;
  timeoutMs: number;
  /** Failures that may have happened after the call are retried. */
  isIdempotent: boolean;
  nowMs: number;
  redact: Redact;
}

type Answer = Fetched & { kind: 'answer' };

/**
 * The outputs in an agent's answer; none for a function without outputs, whose body is ignored.
 * @throws {AgentUnavailableError | AgentTimeoutError | AgentProtocolError} see `AbiAgentClient.sendMessage`
 */
export function readOutputs(fetched: Fetched, context: CallContext): AbiValue[] {
  if (fetched.kind === 'fault') throw faultError(fetched, context);
  if (fetched.status !== 200 && fetched.status !== 204) throw refusalError(fetched, context);
  const { target, codec, envelope } = context;
  if (target.outputs.length === 0) return [];
  const types = target.outputs.map(({ type }) => typeText(type)).join(', ');
  const encoded = fetched.status === 204 ? fetched.body : outputsIn(envelope, fetched.body, context.redact);
  if (encoded.length === 0) {
    throw new AgentProtocolError(say('abi.nothing', { name: target.name, types }));
  }
  try {
    return decodeValues(target.outputs, encoded, codec);
  } catch (error) {
    if (!(error instanceof AbiDecodeError)) throw error;
    const hint = envelope === 'raw' ? textHint(fetched.body, context.redact) : undefined;
    throw new AgentProtocolError(
      say('abi.not-decoded', {
        ...{ bytes: encoded.length, name: target.name, types },
        why: `${error.message}${hint ? `; ${hint}` : ''}`,
      }),
      { cause: error },
    );
  }
}

const MAX_QUOTED_CHARS = 100;
const TEXT = /^[\t\n\r\x20-\x7e\u00a0-\uffff]+$/;

/** The likely reason why an answer cannot be decoded, when its bytes are text. */
function textHint(body: Buffer, redact: Redact): string | undefined {
  if (envelopeOf(body)) return 'it is the JSON envelope, set envelope to json';
  const text = body.toString('utf8', 0, 4_096);
  if (/^\s*"?0x[0-9a-f]*"?\s*$/i.test(text))
    return 'it is hex written as text, but must be the bytes themselves';
  if (!TEXT.test(text) || text.includes('\ufffd')) return undefined;
  const said = redact(errorText(text));
  return `it is text: '${said.length > MAX_QUOTED_CHARS ? `${said.slice(0, MAX_QUOTED_CHARS)}…` : said}'`;
}

function faultError(fault: Fetched & { kind: 'fault' }, context: CallContext): Wa2aiError {
  const { fault: kind, cause } = fault;
  const agent = say('agent-name.abi');
  const why = changed(fault.detail, context.redact);
  if (kind === 'refused') {
    return new AgentProtocolError(say('agent.not-called', { agent, why }), {
      code: 'AGENT_ADDRESS_REFUSED',
    });
  }
  if (kind === 'not-connected') {
    return new AgentUnavailableError(say('agent.cannot-be-reached', { agent, why }), { cause, isAway: true });
  }
  if (kind === 'too-large') {
    return new AgentProtocolError(say('abi.answer-too-large', { why }));
  }
  const said =
    kind === 'aborted'
      ? say('agent.silent', { agent, ms: context.timeoutMs })
      : say('abi.connection-ended', { why });
  return context.isIdempotent
    ? new AgentUnavailableError(said, { cause })
    : new AgentTimeoutError(said, { cause });
}

function refusalError({ status, headers, body }: Answer, context: CallContext): Wa2aiError {
  const text = bodyText({ headers, body });
  const defect = knownDefect(context.target, status, text, context.codec);
  const reported = errorText(envelopeError(body) ?? text);
  const answered = detailsOf(reported, redirectHint({ status, headers }), context.redact);
  const details = defect ? say('fetch.details', { text: answered, hint: ` (${defect})` }) : answered;
  const said = say('agent.answered-status', { agent: say('agent-name.abi'), status, details });
  const rejected = rejectedError({ status, headers }, said, context.nowMs);
  if (rejected) return rejected;
  if (context.isIdempotent && (status === 400 || status >= 500)) return new AgentUnavailableError(said);
  return status === 504 ? new AgentTimeoutError(said) : new AgentProtocolError(said);
}

/** Output types that cannot be encoded when an agent wraps the single output in a list. */
const BROKEN_IN_A_LIST = new Set(['bool', 'tuple', 'address', 'fixedBytes']);

/**
 * Describes known mistakes of agents that follow the sample code of the container specification, so that an admin knows
 * what to correct in the agent. Undefined when the refusal shows none.
 */
export function knownDefect(
  target: AbiFunction,
  status: number,
  body: string,
  codec: Codec,
): string | undefined {
  const { name, viemInputs, selector, outputs } = target;
  const naive = `${name}(${viemInputs.map(({ type }) => type).join(',')})`;
  if (status === 400 && naive !== target.signature && /selector/i.test(body)) {
    return (
      `the agent seems to compute tuple selectors wrongly, from ${naive} (${codec.selectorOf(naive)}) instead of ` +
      `${target.signature} (${selector}); it must expand tuples, as viem's toFunctionSelector(item) does`
    );
  }
  const [output] = outputs;
  if (status === 500 && output && outputs.length === 1 && BROKEN_IN_A_LIST.has(output.type.kind)) {
    if (!/error processing request|boolean/i.test(body)) return undefined;
    return (
      `the agent may wrap its single ${output.type.kind} output in a list before it encodes it ` +
      '(encodeFunctionResult with result: [value]), which fails; it must pass a single output without a list'
    );
  }
  return undefined;
}

/** Maximum number of hex digits of calldata in the message log. */
const MAX_LOGGED_HEX = 2_050;
const MIN_QUOTED_CHARS = 8;
const MAX_QUOTED_VALUES = 1_000;

/**
 * Makes the function that removes from an agent's text the secrets of the route's headers, the person's text and number,
 * and the arguments of the call, because agents quote their input.
 */
export function callRedactor(
  { text, from, channelId }: IncomingMessage,
  values: readonly AbiValue[],
  headers: Record<string, string> = {},
): Redact {
  const secrets = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]);
  const sessionId = contractSessionId(from, channelId);
  const redact = redactor({ text, userId: contractUser(from), sessionId, secrets });
  const given = [...longTextsIn(values)];
  return (written) => given.reduce((shown, value) => shown.replaceAll(value, '[argument]'), redact(written));
}

/** Values that an agent could quote, as text; short values are skipped, because they may be ordinary words. */
function longTextsIn(values: readonly AbiValue[], found = new Set<string>()): Set<string> {
  for (const value of values) {
    if (found.size >= MAX_QUOTED_VALUES) break;
    if (Array.isArray(value)) longTextsIn(value, found);
    else if (String(value).length >= MIN_QUOTED_CHARS) found.add(String(value));
  }
  return found;
}

/** The call for the message log; a file is described, its bytes are not shown. `calldata` is absent before the file is fetched. */
export function describeCall(
  { target, values, needsFile }: Call,
  calldata: Buffer | undefined,
): Record<string, unknown> {
  return {
    function: target.signature,
    selector: target.selector,
    arguments: readable(target.inputs, values),
    calldata: shownCalldata(target.selector, needsFile ? undefined : calldata, calldata?.length),
  };
}

function shownCalldata(selector: string, calldata: Buffer | undefined, length: number | undefined): string {
  const size = length === undefined ? 'with the bytes of the file' : `${length} bytes`;
  if (!calldata) return `${selector}… (${size})`;
  const hex = `0x${calldata.toString('hex', 0, MAX_LOGGED_HEX / 2)}`;
  return calldata.length * 2 > MAX_LOGGED_HEX ? `${hex}… (${size})` : hex;
}
