import { z } from 'zod';
import type { AgentClient, AttemptOptions } from '../../../core/agent-client.ts';
import { contractSessionId, contractUser } from '../../../core/chat-id.ts';
import { type Clock, withLimit } from '../../../core/clock.ts';
import { agentFile, answerFilesField, filesOfAnswer } from '../../../core/delivery/agent-file.ts';
import {
  AgentProtocolError,
  AgentTimeoutError,
  AgentUnavailableError,
  AgentUncertainError,
  MediaError,
  Wa2aiError,
} from '../../../core/errors.ts';
import type { Logger } from '../../../core/logger.ts';
import type { AgentResponse, FileLink, IncomingMessage, ReplyFile } from '../../../core/models.ts';
import { changed, say } from '../../../core/phrases.ts';
import { withoutTrailing } from '../../../core/text.ts';
import { type AnswerForm, readAnswerText } from '../answer-text.ts';
import { attemptLog } from '../attempt-log.ts';
import { MASK } from '../route-secrets.ts';
import {
  type AgentTransport,
  detailsOf,
  type Redact,
  redactor,
  rejectedError,
} from '../transport/agent-transport.ts';
import { type Fetched, redirectHint } from '../transport/bounded-fetch.ts';
import { bodyText, errorText } from '../transport/error-text.ts';
import { bodyOf, hasFile, hasLink, signatureHeaders, type WebhookSettings } from './webhook-body.ts';

/** Largest answer, in bytes: a file of 10 MB in base64. */
const MAX_BYTES = 16 * 1024 * 1024;
const TOKEN_HEADER = 'x-wa2ai-reply-token';

interface WebhookAgentClientConfig {
  webhook: WebhookSettings;
  /** Longest wait for one answer when `webhook` names none, in milliseconds. */
  timeoutMs: number;
  log?: Logger;
  clock: Clock;
  transport: AgentTransport;
}

/**
 * Sends each message as one HTTP request, and reads the answer from the response, or leaves it for later. A webhook may
 * have effects and shows no earlier call, so a request that may have arrived is repeated only as the route says; every
 * request for a message has the same `Idempotency-Key`.
 */
export class WebhookAgentClient implements AgentClient {
  readonly #deps: WebhookAgentClientConfig;
  readonly #config: WebhookSettings;
  readonly #timeoutMs: number;

  constructor(deps: WebhookAgentClientConfig) {
    this.#deps = deps;
    this.#config = deps.webhook;
    this.#timeoutMs = deps.webhook.timeoutMs ?? deps.timeoutMs;
  }

  /**
   * Makes one request. `metadata.webhook` contains the status.
   * @returns the answer in the response; without `response` when it has none; `isLater` when it comes by the reply token
   * @throws {AgentUnavailableError} no connection, 429, 502, 503
   * @throws {AgentTimeoutError} no response in time, a lost connection, 504
   * @throws {AgentProtocolError} any other status, or a response without an answer
   * @throws {MediaError} the message's file, which the body contains, could not be loaded
   * @throws {StorageUnavailableError} the reply token could not be stored
   * @throws the signal's reason when `options.signal` aborts
   */
  async sendMessage(
    endpoint: string,
    message: IncomingMessage,
    options: AttemptOptions = {},
  ): Promise<AgentResponse> {
    const { clock } = this.#deps;
    const log = attemptLog(this.#deps.log, message, options);
    // `dead-letter` is given only when an earlier attempt may have run.
    if (options.uncertain === 'dead-letter') throw new AgentUncertainError();
    const file = await this.#fileOf(message, options);
    const fileUrl = hasLink(this.#config.body) ? await options.mediaUrl?.() : undefined;
    const replyToken = await options.replyToken?.();
    const input = {
      message,
      ...(file && { file }),
      ...(fileUrl && { fileUrl }),
      ...(replyToken !== undefined && { replyToken }),
    };
    const body = JSON.stringify(bodyOf(this.#config.body, input));
    const headers = this.#headersFor(body, message, replyToken);
    await options.beforeRequest?.();
    return await withLimit(clock, this.#timeoutMs, options.signal, async (signal) => {
      const startedMs = clock.monotonicMs();
      const { method = 'POST' } = this.#config;
      const fetched = await this.#deps.transport.fetch(endpoint, {
        ...{ method, headers, body, signal },
        maxBytes: MAX_BYTES,
      });
      options.signal?.throwIfAborted();
      const status = fetched.kind === 'answer' ? fetched.status : undefined;
      const webhook = { ...(status !== undefined && { status }) };
      try {
        const response = this.#read(fetched, this.#contextOf(message, replyToken));
        const durationMs = Math.round(clock.monotonicMs() - startedMs);
        log?.info({ status, isLater: response.isLater ?? false, durationMs }, 'webhook answered');
        return { ...response, metadata: { webhook }, detail: { webhook } };
      } catch (error) {
        throw error instanceof Wa2aiError ? error.withDetail({ webhook }) : error;
      }
    });
  }

  /** Whether the body contains a person's file; then a file without text is sent too. */
  async takesFile(): Promise<boolean> {
    return hasFile(this.#config.body) || hasLink(this.#config.body);
  }

  /** The request for this message, without secrets and the bytes of a file. */
  async preview(message: IncomingMessage, endpoint: string): Promise<Record<string, unknown>> {
    const replyToken = '<reply token>';
    const body = bodyOf(this.#config.body, { message, replyToken });
    const { method = 'POST', secret, headers: own = {} } = this.#config;
    const headers = this.#headersFor(JSON.stringify(body), message, replyToken);
    for (const name of Object.keys(own)) headers.set(name, MASK);
    if (secret !== undefined) headers.set('x-wa2ai-signature', 'sha256=<signature>');
    return { kind: 'request', method, url: endpoint, headers: Object.fromEntries(headers), body };
  }

  #headersFor(body: string, message: IncomingMessage, replyToken: string | undefined): Headers {
    const { headers: own = {}, secret } = this.#config;
    const headers = new Headers();
    for (const [name, value] of Object.entries(own)) {
      try {
        headers.set(name, value);
      } catch {
        // The platform's own error quotes the value.
        const shown = name.replace(/[^\w-]/g, '?');
        throw new AgentProtocolError(say('agent.header-not-valid', { name: shown }));
      }
    }
    headers.set('content-type', 'application/json');
    headers.set('idempotency-key', message.id.replace(/[^\x21-\x7e]/g, '_'));
    if (replyToken !== undefined) headers.set(TOKEN_HEADER, replyToken);
    const signature = secret === undefined ? {} : signatureHeaders(secret, body, this.#deps.clock.now());
    for (const [name, value] of Object.entries(signature)) headers.set(name, value);
    return headers;
  }

  /** @throws {Wa2aiError} there is no answer */
  #read(fetched: Fetched, context: ErrorContext): AgentResponse {
    if (fetched.kind === 'fault') throw faultError(fetched, context);
    const { status } = fetched;
    if (status < 200 || status > 299) throw refusalError(fetched, context);
    if (this.#config.reply === 'async' || status === 202 || status === 204) {
      return { success: true, isLater: true };
    }
    const { text, ...files } = readWebhookAnswer(fetched, this.#config.output);
    return { success: true, ...(text !== undefined && { response: text }), ...files };
  }

  /** @throws {MediaError} */
  async #fileOf({ media }: IncomingMessage, { loadMedia }: AttemptOptions): Promise<Uint8Array | undefined> {
    if (!media || !hasFile(this.#config.body)) return undefined;
    if (!loadMedia) throw new MediaError('MEDIA_GONE', say('media.no-file'));
    return await loadMedia();
  }

  #contextOf({ text, from, channelId }: IncomingMessage, replyToken = ''): ErrorContext {
    const { secret = '', headers = {} } = this.#config;
    const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ').slice(1)]);
    const secrets = [secret, replyToken, ...values].filter((value) => value !== '');
    const sessionId = contractSessionId(from, channelId);
    return {
      timeoutMs: this.#timeoutMs,
      nowMs: this.#deps.clock.now(),
      redact: redactor({ text, userId: contractUser(from), sessionId, secrets }),
    };
  }
}

/** Fields of a JSON response that may have the answer, in the order in which they are looked for. */
const FIELDS = ['output', 'text', 'reply', 'response', 'message'] as const;

/** What a webhook answers; without both it says nothing. */
interface WebhookAnswer {
  text?: string;
  files?: ReplyFile[];
  fileLinks?: FileLink[];
}

/**
 * The answer in a successful response: a picture, a sound or a PDF; else what `readAnswerText` reads.
 * @param output path of the answer in JSON; without it the usual fields are looked for
 * @throws {AgentProtocolError} there is no answer in it; the sentence says what was expected
 */
function readWebhookAnswer(
  { headers, body }: { headers: Headers; body: Buffer },
  output?: string,
): WebhookAnswer {
  const type = headers.get('content-type')?.toLowerCase() ?? '';
  const [mimeType = ''] = type.split(';');
  if (/^(?:image|audio)\/|^application\/pdf$/.test(mimeType) && body.length > 0) {
    return { files: [agentFile({ mimeType, data: body, fileName: fileNameOf(headers) })] };
  }
  const { text, fields } = readAnswerText({ headers, body }, formOf(output));
  const media = output === undefined ? withMedia.safeParse(fields).data?.media : undefined;
  return { ...(text !== undefined && { text }), ...filesOfAnswer(media) };
}

const withMedia = z.looseObject({ media: answerFilesField });

function formOf(output: string | undefined): AnswerForm {
  return {
    ...{
      agent: say('agent-name.webhook'),
      fields: FIELDS,
      setting: 'config.webhook.output',
      isFirstOnly: true,
    },
    isAnswer: (fields) => withMedia.safeParse(fields).success,
    ...(output !== undefined && { output }),
  };
}

function fileNameOf(headers: Headers): string | undefined {
  const disposition = headers.get('content-disposition') ?? '';
  return /filename="([^"]{1,200})"/i.exec(disposition)?.[1];
}

/** What errors need to know about the request. */
interface ErrorContext {
  timeoutMs: number;
  nowMs: number;
  redact: Redact;
}

/** The error for a request without a complete response. A request that was sent may have had effects. */
function faultError(
  { fault, detail, cause }: Fetched & { kind: 'fault' },
  { timeoutMs, redact }: ErrorContext,
): Wa2aiError {
  const agent = say('agent-name.webhook');
  const why = changed(detail, redact);
  switch (fault) {
    case 'refused':
      return new AgentProtocolError(say('agent.not-called', { agent, why }), {
        code: 'AGENT_ADDRESS_REFUSED',
      });
    case 'not-connected':
      return new AgentUnavailableError(say('agent.cannot-be-reached', { agent, why }), {
        cause,
        isAway: true,
      });
    case 'too-large':
      return new AgentProtocolError(say('agent.answered-too-much', { agent, why }));
    case 'aborted':
      return new AgentTimeoutError(say('webhook-agent.silent', { ms: timeoutMs }), { cause });
    default:
      return new AgentTimeoutError(say('agent.connection-ended', { agent, why }), { cause });
  }
}

/** The error for a status that is not a success. */
function refusalError(
  { status, headers, body }: Fetched & { kind: 'answer' },
  { nowMs, redact }: ErrorContext,
): Wa2aiError {
  const text = withoutTrailing(errorText(messageIn(bodyText({ headers, body }))), '. \n');
  const details = detailsOf(text, redirectHint({ status, headers }), redact);
  const answered = say('webhook-agent.status', { status, details });
  const said =
    status === 401 || status === 403 ? say('webhook-agent.check-secret', { error: answered }) : answered;
  const rejected = rejectedError({ status, headers }, said, nowMs);
  if (rejected) return rejected;
  return status === 504 || status === 524 ? new AgentTimeoutError(said) : new AgentProtocolError(said);
}

/** The message in an error as workflow tools write it: `{"code": 404, "message": "…"}`; else the whole text. */
function messageIn(text: string): string {
  try {
    const json: unknown = JSON.parse(text);
    if (typeof json === 'object' && json !== null && 'message' in json && typeof json.message === 'string') {
      return json.message;
    }
  } catch {
    // not JSON
  }
  return text;
}
