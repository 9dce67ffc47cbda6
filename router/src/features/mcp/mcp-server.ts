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
import type { WaitForMessageDeps } from '../../core/messages/wait-for-message.ts';
import { connectionOf } from '../../infra/operations/guard.ts';
import type { KeyWatch } from '../../infra/operations/key-watch.ts';
import { MAX_BODY_BYTES } from '../../infra/operations/mount.ts';
import type { RestCalls } from '../../infra/operations/rest-calls.ts';
import { type AgentToolsDeps, agentTools } from './agent-tools.ts';
import { type AskPersonDeps, askPersonTool } from './ask-person.ts';
import { descriptionOf } from './call-tool.ts';
import { chatTools } from './chat-tools.ts';
import { inFormFor, meantBody, webRequest } from './lenient-client.ts';
import { type CancelRelay, McpCaller, OpenCalls } from './mcp-caller.ts';
import { type McpSessionDeps, newSession } from './mcp-session.ts';
import { mcpPrompts } from './prompts.ts';
import { mcpResources } from './resources.ts';
import { routeTools } from './route-tools.ts';
import { deadLetterTools, sendTools, waitForMessageTool } from './send-tools.ts';

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
    const body = meantBody(bodyOf(request));
    // Each message counts against the limits of its key.
    if (/^\s*\[/.test(body)) {
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
    const { newSession: newId, leave } = openCalls.enter(caller.owner, sessionId, body, gone);
    if (newId !== undefined) response.setHeader('mcp-session-id', newId);
    response.once('close', () => {
      unwatch();
      leave();
      gone.abort();
    });
    const answer = await handler.fetch(webRequest(request, body, signal), { authInfo: caller.authInfo() });
    await write(response, await inFormFor(request.get('accept'), answer));
  });
  return router;
}

function bodyOf({ body }: ExpressRequest): string {
  return Buffer.isBuffer(body) ? body.toString('utf8') : '';
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
