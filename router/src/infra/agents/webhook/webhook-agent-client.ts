import type { AgentClient, AttemptOptions } from '../../../core/agent-client.ts';
import { contractSessionId, contractUser } from '../../../core/chat-id.ts';
import { AgentProtocolError, AgentUncertainError, MediaError, Wa2aiError } from '../../../core/errors.ts';
import type { AgentResponse, IncomingMessage } from '../../../core/models.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';
import { withLimit } from '../../../core/time-limit.ts';
import { attemptLog } from '../attempt-log.ts';
import { MASK } from '../secrets.ts';
import type { AgentTransport } from '../transport/agent-transport.ts';
import type { Fetched } from '../transport/bounded-fetch.ts';
import { redactor } from '../transport/redaction.ts';
import { readWebhookAnswer } from './webhook-answer.ts';
import { bodyOf, hasFile, hasLink } from './webhook-body.ts';
import { type ErrorContext, faultError, refusalError } from './webhook-errors.ts';
import type { WebhookSettings } from './webhook-settings.ts';
import { signatureHeaders } from './webhook-signature.ts';

/** Largest answer, in bytes: a file of 10 MB in base64. */
const MAX_BYTES = 16 * 1024 * 1024;
const TOKEN_HEADER = 'x-wa2ai-reply-token';

export interface WebhookAgentClientConfig {
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
        throw new AgentProtocolError(
          `The route's header "${name.replace(/[^\w-]/g, '?')}" is not a valid HTTP header.`,
        );
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
    if (!loadMedia) throw new MediaError('MEDIA_GONE', 'The message has a file that cannot be loaded.');
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
