import type { JSONRPCMessage } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { EventSourceParserStream } from 'eventsource-parser/stream';

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** Where the name is that the header `Mcp-Name` repeats, by method. */
const NAME_FIELDS: Record<string, string> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
};

/** What to do, by HTTP status. */
const HINTS: Record<number, string> = {
  401: ' The key is that of WA2AI_API_KEY, in the environment of this program.',
  404: ' The MCP server may be off: PUT /api/settings/mcp {"enabled": true}.',
};

/** Where the service is, and how requests reach it. */
export interface ServiceConnection {
  /** `http://127.0.0.1:3000`, or `http://localhost` for a Unix socket. */
  url: string;
  /** For sentences: the URL or the Unix socket. */
  name: string;
  key?: string | undefined;
  fetch: typeof fetch;
}

interface HttpBridgeDeps {
  /** Called for each message. @throws an error with a sentence for the client */
  connect(): Promise<ServiceConnection>;
  /** Writes a message to the client. */
  send(message: JSONRPCMessage): Promise<void>;
}

type Message = Record<string, unknown> & { params?: Record<string, unknown> };
type Id = string | number;

/**
 * Passes the messages of one MCP client to the service's `POST /mcp`, and what it answers back. A request that the client
 * cancels is ended; the service sees that its connection is closed.
 */
export class HttpBridge {
  readonly #deps: HttpBridgeDeps;
  /** Requests that the service has not answered. */
  readonly #open = new Map<Id, AbortController>();
  /** What the service chose for a client with a handshake. */
  #version: string | undefined;

  constructor(deps: HttpBridgeDeps) {
    this.#deps = deps;
  }

  /** Passes a message of the client on. Resolves when everything about it was sent. Never rejects. */
  async pass(given: JSONRPCMessage): Promise<void> {
    const message = given as unknown as Message;
    if (message.method === 'notifications/cancelled') {
      this.#open.get(message.params?.requestId as Id)?.abort();
      return;
    }
    const id = message.id as Id | undefined;
    const canceled = new AbortController();
    if (id !== undefined) this.#open.set(id, canceled);
    let service: ServiceConnection | undefined;
    try {
      service = await this.#deps.connect();
      await this.#exchange(service, message, canceled.signal);
    } catch (error) {
      if (!canceled.signal.aborted && id !== undefined) await this.#fail(id, sentenceOf(service, error));
    } finally {
      if (id !== undefined) this.#open.delete(id);
    }
  }

  /** Ends all requests. */
  close(): void {
    for (const canceled of this.#open.values()) canceled.abort();
  }

  async #exchange(service: ServiceConnection, message: Message, signal: AbortSignal): Promise<void> {
    const response = await service.fetch(`${service.url}/mcp`, {
      method: 'POST',
      headers: this.#headersOf(service.key, message),
      body: JSON.stringify(message),
      signal,
    });
    const id = message.id as Id | undefined;
    if (/^text\/event-stream/.test(response.headers.get('content-type') ?? '')) {
      const text = response.body?.pipeThrough(new TextDecoderStream());
      for await (const { data } of text?.pipeThrough(new EventSourceParserStream()) ?? []) {
        if (data !== '') await this.#receive(message, JSON.parse(data));
      }
      return;
    }
    const text = await response.text();
    const body = parsed(text);
    if (id === undefined) return;
    if (body?.jsonrpc === '2.0') return this.#receive(message, { ...body, id: body.id ?? id });
    const problem = typeof body?.error === 'string' ? body.error : `it answers with HTTP ${response.status}.`;
    const hint = HINTS[response.status] ?? '';
    await this.#fail(id, `wa2ai at ${service.name} refuses: ${problem}${hint}`);
  }

  #headersOf(key: string | undefined, { method, params }: Message): Record<string, string> {
    const meta = params?._meta as Record<string, unknown> | undefined;
    const version = meta?.[VERSION_KEY];
    const isModern = typeof version === 'string';
    const name = params?.[NAME_FIELDS[String(method)] ?? ''];
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(key !== undefined && { 'x-api-key': key }),
      ...(isModern && { 'mcp-protocol-version': version, 'mcp-method': String(method) }),
      ...(isModern && typeof name === 'string' && { 'mcp-name': headerValue(name) }),
      ...(!isModern && this.#version !== undefined && { 'mcp-protocol-version': this.#version }),
    };
  }

  async #receive(request: Message, message: Message): Promise<void> {
    const version = (message.result as Message | undefined)?.protocolVersion;
    if (request.method === 'initialize' && typeof version === 'string') this.#version = version;
    await this.#deps.send(message as unknown as JSONRPCMessage);
  }

  async #fail(id: Id, message: string): Promise<void> {
    await this.#deps.send({ jsonrpc: '2.0', id, error: { code: -32_000, message } } as JSONRPCMessage);
  }
}

/** @param service undefined: it was not found, and the error says why */
function sentenceOf(service: ServiceConnection | undefined, error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const why =
    cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : String(cause);
  if (!service) return error instanceof Error ? error.message : why;
  return `wa2ai does not answer at ${service.name} (${why}). Start it, or name its address: wa2ai mcp URL.`;
}

function parsed(text: string): Message | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Message) : undefined;
  } catch {
    return undefined;
  }
}

/** A header value that may contain any text, as the protocol encodes it. */
function headerValue(text: string): string {
  const isPlain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith('=?base64?');
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`;
}

/**
 * `wa2ai mcp`: serves one client until it closes standard input.
 * @param connect where the service is, asked for each message: the service may start later, or again
 * @param warn tells the person of input that is no message
 */
export async function runMcpTool(
  connect: () => Promise<ServiceConnection>,
  warn: (sentence: string) => void,
): Promise<void> {
  const transport = new StdioServerTransport();
  const bridge = new HttpBridge({ connect, send: (message) => transport.send(message) });
  await new Promise<void>((resolve, reject) => {
    transport.onmessage = (message) => void bridge.pass(message);
    transport.onerror = (error) => warn(error.message);
    transport.onclose = resolve;
    transport.start().catch(reject);
  });
  bridge.close();
}
