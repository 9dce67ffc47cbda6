import type { AgentClient, AttemptOptions } from '../../../core/agent-client.ts';
import { type Clock, withLimit } from '../../../core/clock.ts';
import { AgentProtocolError, AgentUncertainError, MediaError, Wa2aiError } from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import { type AgentResponse, type IncomingMessage, MAX_MEDIA_BYTES } from '../../../core/models.ts';
import { type Said, say } from '../../../core/phrases.ts';
import type { SettingsProblem } from '../agent-kind.ts';
import { attemptLog } from '../attempt-log.ts';
import type { AgentTransport, Redact } from '../transport/agent-transport.ts';
import type { Fetched } from '../transport/bounded-fetch.ts';
import type { AbiSettings } from './abi-settings.ts';
import {
  type AbiRules,
  callUrl,
  type Envelope,
  envelopeOf,
  readable,
  renderOutputs,
  requestBody,
  rulesOf,
} from './codec/abi-rules.ts';
import { type AbiFunction, encodeCall } from './codec/abi-signature.ts';
import type { AbiValue } from './codec/abi-type.ts';
import { type Call, type Interpretation, interpret, only } from './input/abi-command.ts';
import type { Manifests } from './input/manifests.ts';
import { renderFile } from './output/output-template.ts';
import { callRedactor, describeCall, readOutputs } from './output/read-outputs.ts';

const DEFAULT_TIMEOUT_MS = 30_000;
/** Largest request and largest answer, as the container specification limits them. */
const MAX_BYTES = 10 * 1024 * 1024;

/** Settings of AbiAgentClient. */
interface AbiAgentClientConfig {
  abi: AbiSettings;
  /** Longest wait for one answer, in milliseconds, when `abi` names none. Default 30000. */
  timeoutMs?: number;
  log?: Logger;
  clock: Clock;
  /** Cache of manifests. Clients that share one fetch an ABI behind a URL once. */
  manifests: Manifests;
  transport: AgentTransport;
}

/** A call with everything that its request needs. */
interface OutgoingCall {
  call: Call;
  rules: AbiRules;
  url: string;
  calldata: Buffer;
  message: IncomingMessage;
  redact: Redact;
  signal: AbortSignal;
}

/**
 * Calls agents that speak the container specification: a 4-byte selector and ABI-encoded arguments in one POST, the
 * ABI-encoded outputs back. `input/` decides what a message calls, `output/` how outputs become a reply.
 *
 * wa2ai itself answers a person's mistake and `/help`, without the agent. An ABI agent has no session that shows an earlier
 * call, so the function is called again after a crash during a call, unless the route forbids it.
 */
export class AbiAgentClient implements AgentClient {
  readonly #config: AbiSettings;
  readonly #timeoutMs: number;
  readonly #log: Logger | undefined;
  readonly #clock: Clock;
  readonly #transport: AgentTransport;
  readonly #manifests: Manifests;
  #rules: { entries: unknown; rules: Promise<AbiRules> } | undefined;
  /** The envelope that was detected, under `auto`. */
  #detected: Envelope | undefined;

  constructor(config: AbiAgentClientConfig) {
    this.#config = config.abi;
    this.#timeoutMs = config.abi.timeoutMs ?? config.timeoutMs ?? DEFAULT_TIMEOUT_MS;
    this.#log = config.log;
    this.#clock = config.clock;
    this.#transport = config.transport;
    this.#manifests = config.manifests;
  }

  /**
   * Calls the function that the message selects, once.
   * @returns the rendered outputs, as text or as a file, or the text that replaces a call; without `response`
   *   when the function has no outputs. `metadata.abi` contains `function`, `arguments`, `outputs` and `calldata`, or
   *   `answeredBy: 'wa2ai'`
   * @throws {AgentUnavailableError} no connection, 429, 502, 503, a manifest that cannot be fetched; with `idempotent`
   *   also 400, 500, a time-out and a lost connection
   * @throws {AgentTimeoutError} no answer in time, 504, or a connection lost during the call: the call may have happened
   * @throws {AgentProtocolError} any other status, outputs that are empty, too large or do not fit the ABI, unusable settings
   * @throws {MediaError} the message's file, which the call needs, could not be loaded
   * @throws the signal's reason when `options.signal` aborts
   */
  async sendMessage(
    endpoint: string,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const log = attemptLog(this.#log, message, options);
    const within = <T>(work: (signal: AbortSignal) => Promise<T>) =>
      withLimit(this.#clock, this.#timeoutMs, options.signal, work);
    const rules = await within((signal) =>
      this.#rulesNow(signal).catch((error: unknown) => {
        options.signal?.throwIfAborted();
        throw error;
      }),
    );
    const planned = interpret(rules, message);
    const bytes = needsFile(planned) ? await fileOf(message, options) : undefined;
    // The number of bytes is known only now; a file of another size than the type is the person's mistake.
    const meant = bytes ? interpret(rules, message, bytes) : planned;
    if (planned.kind === 'say' || meant.kind === 'say') {
      const { why, text } = planned.kind === 'say' ? planned : (meant as Interpretation & { kind: 'say' });
      log?.info({ why }, 'ABI message answered without the agent');
      const abi = { answeredBy: 'wa2ai', why };
      return { success: true, response: text, isPlain: true, metadata: { abi }, detail: { abi } };
    }
    const calldata = encodeCall(rules.abi, meant.target, meant.values);
    const shown = describeCall(planned, calldata);
    if (options.isRepeat && options.uncertain === 'dead-letter' && !this.#config.idempotent) {
      throw new AgentUncertainError().withDetail({ abi: shown });
    }
    if (calldata.length > MAX_BYTES) {
      throw new AgentProtocolError(say('abi.call-too-large')).withDetail({ abi: shown });
    }
    const url = callUrl(endpoint, this.#config.path);
    await options.beforeRequest?.();
    return await within(async (signal) => {
      try {
        const redact = callRedactor(message, planned.values, this.#config.headers);
        const outputs = await this.#call({ call: meant, rules, url, calldata, message, redact, signal });
        const { target } = meant;
        const answer = answerOf(rules, target, outputs);
        const note = answer.response?.includes('\ufffd') && {
          note: 'A text of the answer has bytes that are not UTF-8; each is shown as \ufffd.',
        };
        const abi = { ...shown, outputs: readable(target.outputs, answer.shown), ...note };
        log?.info({ function: target.signature }, 'ABI agent answered');
        const { response, files } = answer;
        return {
          success: true,
          isPlain: true,
          ...(response !== undefined && { response }),
          ...(files && { files }),
          metadata: { abi },
          detail: { abi },
        };
      } catch (error) {
        options.signal?.throwIfAborted();
        throw error instanceof Wa2aiError ? error.withDetail({ abi: shown }) : error;
      }
    });
  }

  /** Whether a file without text is a call: when the argument template or the only function takes a file. */
  async takesFile(message: IncomingMessage): Promise<boolean> {
    try {
      const rules = await withLimit(this.#clock, this.#timeoutMs, undefined, (signal) =>
        this.#rulesNow(signal),
      );
      return needsFile(interpret(rules, message));
    } catch (error) {
      // The attempt throws the same error, and the route's failure settings apply to it.
      if (error instanceof Wa2aiError) return true;
      throw error;
    }
  }

  /** A description is not a command; an argument template can use it. */
  readsDescriptions(): boolean {
    return this.#config.args !== undefined;
  }

  /** The help, and a function of this name. */
  async ownsCommand(name: string): Promise<boolean> {
    if (name === 'help') return true;
    try {
      const rules = await withLimit(this.#clock, this.#timeoutMs, undefined, (signal) =>
        this.#rulesNow(signal),
      );
      return rules.abi.functions.some((target) => target.name.toLowerCase() === name);
    } catch (error) {
      // The attempt throws the same error, and the route's failure settings apply to it.
      if (error instanceof Wa2aiError) return true;
      throw error;
    }
  }

  /** The call that a message would make, or the text that would replace it. */
  async preview(message: IncomingMessage): Promise<Record<string, unknown>> {
    return await withLimit(this.#clock, this.#timeoutMs, undefined, async (signal) => {
      const rules = await this.#rulesNow(signal);
      const meant = interpret(rules, message);
      if (meant.kind === 'say') return { kind: 'answer', why: meant.why, text: meant.text };
      const calldata = meant.needsFile ? undefined : encodeCall(rules.abi, meant.target, meant.values);
      const isFile = rules.file !== undefined && meant.target === only(rules);
      return {
        kind: 'call',
        ...describeCall(meant, calldata),
        ...(isFile && { reply: this.#config.output }),
      };
    });
  }

  /** The rules, parsed once; with an ABI behind a URL, again after each fetch of the manifest. */
  async #rulesNow(signal: AbortSignal): Promise<AbiRules> {
    const { functions } = this.#config;
    const entries =
      typeof functions === 'string'
        ? await this.#manifests.entriesOf(functions, signal, this.#transport)
        : functions;
    if (this.#rules?.entries !== entries) {
      const rules = rulesOf(entries, this.#config).then((result) => {
        if (result.ok) return result.rules;
        throw new AgentProtocolError(unusable(result.problems, typeof functions === 'string'));
      });
      this.#rules = { entries, rules };
    }
    return await this.#rules.rules;
  }

  async #call(outgoing: OutgoingCall): Promise<AbiValue[]> {
    const wanted = this.#config.envelope ?? 'raw';
    const envelope = wanted === 'auto' ? (this.#detected ?? 'raw') : wanted;
    const fetched = await this.#post(outgoing, envelope);
    const isJsonAgent =
      wanted === 'auto' && envelope === 'raw' && fetched.kind === 'answer' && isEnvelopeRefusal(fetched);
    if (!isJsonAgent) return this.#outputs(outgoing, fetched, envelope);
    // The agent expects the JSON envelope and could not read the bytes, so no function was called.
    const again = await this.#post(outgoing, 'json');
    const outputs = this.#outputs(outgoing, again, 'json');
    this.#detected = 'json';
    return outputs;
  }

  #outputs({ call, rules, redact }: OutgoingCall, fetched: Fetched, envelope: Envelope): AbiValue[] {
    return readOutputs(fetched, {
      target: call.target,
      codec: rules.abi.codec,
      envelope,
      timeoutMs: this.#timeoutMs,
      isIdempotent: this.#config.idempotent ?? false,
      nowMs: this.#clock.now(),
      redact,
    });
  }

  async #post({ url, calldata, message, signal }: OutgoingCall, envelope: Envelope): Promise<Fetched> {
    const { contentType, body } = requestBody(envelope, calldata, message.id);
    const headers = new Headers(this.#config.headers);
    headers.set('content-type', contentType);
    return await this.#transport.fetch(url, {
      method: 'POST',
      headers,
      body,
      signal,
      // The JSON envelope contains two hex digits for each byte.
      maxBytes: envelope === 'raw' ? MAX_BYTES : 2 * MAX_BYTES + 64 * 1024,
    });
  }
}

function unusable(problems: readonly SettingsProblem[], isManifest: boolean): Said {
  const isManifestFault = isManifest && problems.every(({ field }) => field.startsWith('functions'));
  const why = problems
    .map(({ field, said: mistake }) => {
      const place = isManifestFault ? field.slice('functions'.length) : `config.abi.${field}`;
      return say('abi.mistake', { place: place || say('abi.it'), mistake });
    })
    .reduceRight((more, mistake) => say('abi.mistakes', { mistake, more }));
  return say(isManifestFault ? 'abi.manifest-unusable' : 'abi.route-unusable', { why });
}

function needsFile(meant: Interpretation): boolean {
  return meant.kind === 'call' && meant.needsFile === true;
}

/** @throws {MediaError} */
async function fileOf({ media }: IncomingMessage, { loadMedia }: AttemptOptions): Promise<Uint8Array> {
  if ((media?.sizeBytes ?? 0) > MAX_MEDIA_BYTES) {
    throw new MediaError('MEDIA_TOO_LARGE', say('media.too-large', { max: MAX_MEDIA_BYTES }));
  }
  if (!loadMedia) throw new MediaError('MEDIA_GONE', say('media.no-file'));
  return loadMedia();
}

/** The outputs as a reply for the chat and, as `shown`, for the message log. */
function answerOf(rules: AbiRules, target: AbiFunction, outputs: AbiValue[]) {
  const isTemplated = target === only(rules);
  if (rules.file && isTemplated) {
    const { file, caption, shown } = renderFile(rules.file, target.outputs, outputs);
    return { response: caption, files: [file], shown };
  }
  const response = renderOutputs(target.outputs, outputs, isTemplated ? rules.output : undefined);
  return { response, files: undefined, shown: outputs };
}

/** Whether a refusal has the form of the JSON envelope, which shows that the agent expects it. */
function isEnvelopeRefusal({ status, body }: Fetched & { kind: 'answer' }): boolean {
  const envelope = envelopeOf(body);
  return envelope !== undefined && (status >= 400 || typeof envelope.result !== 'string');
}
