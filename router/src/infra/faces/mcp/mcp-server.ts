import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createMcpHandler } from '@modelcontextprotocol/server';
import {
  type Request as ExpressRequest,
  type Response as ExpressResponse,
  type RequestHandler,
  Router,
  raw,
} from 'express';
import type { WaitForMessageDeps } from '../../../core/messages/wait-for-message.ts';
import type { KeyWatch } from '../access/key-watch.ts';
import { connectionOf } from '../rest/guard.ts';
import { MAX_BODY_BYTES } from '../rest/mount.ts';
import type { RestCalls } from '../rest/rest-calls.ts';
import { descriptionOf } from './describe-tool.ts';
import { McpCaller } from './mcp-caller.ts';
import { type McpSessionDeps, newSession } from './mcp-session.ts';
import { type CancelRelay, OpenCalls } from './open-calls.ts';
import { mcpPrompts } from './prompts.ts';
import { mcpResources } from './resources.ts';
import { type AgentToolsDeps, agentTools } from './tools/agent-tools.ts';
import { type AskPersonDeps, askPersonTool } from './tools/ask-person.ts';
import { chatTools } from './tools/chat-tools.ts';
import { deadLetterTools } from './tools/dead-letter-tools.ts';
import { routeTools } from './tools/route-tools.ts';
import { sendTools } from './tools/send-tools.ts';
import { waitForMessageTool } from './tools/wait-for-message.ts';

export interface McpServerDeps
  extends AskPersonDeps,
    WaitForMessageDeps,
    AgentToolsDeps,
    Pick<McpSessionDeps, 'recorder' | 'log'> {
  rest: RestCalls;
  keyWatch: Pick<KeyWatch, 'watch'>;
  cancelRelay: CancelRelay;
  /** Aborts when the server stops: calls that wait end. */
  stopping: AbortSignal;
}

const BATCH_REFUSAL = {
  jsonrpc: '2.0',
  error: { code: -32_600, message: 'Invalid Request: send one message at a time' },
  id: null,
};

/** Names the version in each request, and has no `initialize`. */
const LATEST_VERSION = '2026-07-28';

/** `POST /mcp` of protocol versions 2026-07-28 and 2025-11-25: any node answers any request. */
export function mcpServer(deps: McpServerDeps): RequestHandler {
  const { rest, keyWatch, log } = deps;
  const session: McpSessionDeps = {
    ...deps,
    tools: [
      ...chatTools(rest),
      ...sendTools(rest),
      askPersonTool(rest, deps),
      waitForMessageTool(rest, deps),
      ...routeTools(rest),
      ...deadLetterTools(rest),
      ...agentTools(rest, deps),
    ].map((tool) => ({ tool, description: descriptionOf(tool) })),
    resources: mcpResources(rest),
    prompts: mcpPrompts(rest),
  };
  const handler = createMcpHandler(({ authInfo }) => newSession(session, McpCaller.of(authInfo)), {
    onerror: (error) => log.debug({ err: error }, 'mcp request refused'),
    maxRequestBodySize: MAX_BODY_BYTES,
  });
  const openCalls = new OpenCalls(deps.cancelRelay);
  const router = Router({ caseSensitive: true });
  router.use(raw({ limit: MAX_BODY_BYTES, type: () => true }), async (request, response) => {
    // Each message counts against the limits of its key.
    if (/^\s*\[/.test(bodyOf(request))) {
      response.status(400).json(BATCH_REFUSAL);
      return;
    }
    const { caller: by } = response.locals;
    const gone = new AbortController();
    // Calls that wait end with their key.
    const unwatch = keyWatch.watch(by, () => gone.abort());
    const signal = AbortSignal.any([gone.signal, deps.stopping]);
    const caller = new McpCaller({
      caller: by,
      requestId: response.locals.requestId,
      address: connectionOf(request).address,
      signal,
    });
    const sessionId = request.get('mcp-session-id');
    const { newSession: newId, leave } = openCalls.enter(caller.owner, sessionId, bodyOf(request), gone);
    if (newId !== undefined) response.setHeader('mcp-session-id', newId);
    response.once('close', () => {
      unwatch();
      leave();
      gone.abort();
    });
    const answer = await handler.fetch(webRequest(request, signal), { authInfo: caller.authInfo() });
    await write(response, await inFormFor(request.get('accept'), answer));
  });
  return router;
}

function bodyOf({ body }: ExpressRequest): string {
  return Buffer.isBuffer(body) ? body.toString('utf8') : '';
}

function webRequest(request: ExpressRequest, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(request.headers)) {
    if (value !== undefined) headers.set(name, Array.isArray(value) ? value.join(', ') : value);
  }
  const body = bodyOf(request);
  // The SDK answers in either form; `inFormFor` gives the client the one it takes.
  headers.set('accept', 'application/json, text/event-stream');
  // Before a version is negotiated, the one in the body counts: a header that names a version of the future says the same.
  const version = headers.get('mcp-protocol-version');
  if (version !== null && version !== LATEST_VERSION && isInitialize(body)) {
    headers.delete('mcp-protocol-version');
  }
  return new Request('http://localhost/mcp', {
    method: request.method,
    headers,
    signal,
    ...(request.method === 'POST' && { body }),
  });
}

function isInitialize(body: string): boolean {
  try {
    return JSON.parse(body)?.method === 'initialize';
  } catch {
    return false;
  }
}

/**
 * The response in a form that the client takes. The protocol demands that a client takes JSON and event streams; one that
 * names no event stream gets the response as JSON, without the notifications before it, and one that names only event
 * streams gets JSON as the one event of a stream.
 */
async function inFormFor(accept: string | undefined, answer: Response): Promise<Response> {
  const isStream = answer.headers.get('content-type')?.includes('text/event-stream') ?? false;
  const takesStream = /text\/(?:event-stream|\*)/i.test(accept ?? '');
  const takesJson = !takesStream || /application\/(?:json|\*)|\*\/\*/i.test(accept ?? '');
  const isFitting = isStream ? takesStream : takesJson;
  if (isFitting || answer.status !== 200 || !answer.body) return answer;
  const headers = new Headers(answer.headers);
  headers.set('content-type', isStream ? 'application/json' : 'text/event-stream');
  const text = await answer.text();
  if (!isStream) return new Response(`event: message\ndata: ${text}\n\n`, { headers });
  const messages = text.split('\n').flatMap((line) => (line.startsWith('data: ') ? [line.slice(6)] : []));
  // The response is the last message of its stream.
  return new Response(messages.at(-1) ?? null, { headers });
}

/** Writes a response as it comes. A client that disconnects ends it. */
async function write(response: ExpressResponse, { status, headers, body }: Response): Promise<void> {
  response.status(status);
  for (const [name, value] of headers) response.setHeader(name, value);
  if (!body) {
    response.end();
    return;
  }
  response.flushHeaders();
  // A broken connection is no fault of wa2ai; the signal of the request tells the tool.
  await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), response).catch(
    () => undefined,
  );
}
