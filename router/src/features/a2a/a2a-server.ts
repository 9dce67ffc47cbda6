import type { ServerResponse } from 'node:http';
import { formatSSEErrorEvent, formatSSEEvent, SSE_HEADERS } from '@a2a-js/sdk';
import { LegacyJsonRpcTransportHandler } from '@a2a-js/sdk/compat/v0_3/server';
import { legacyAgentCardRouter } from '@a2a-js/sdk/compat/v0_3/server/express';
import { JsonRpcTransportHandler, ServerCallContext, validateVersion } from '@a2a-js/sdk/server';
import { restHandler } from '@a2a-js/sdk/server/express';
import { json as jsonBody, type Request, type RequestHandler, type Response, Router } from 'express';
import { say } from '../../core/phrases.ts';
import type { Service } from '../../feature.ts';
import { refuseOtherThanJson } from '../../infra/operations/guard.ts';
import { baseUrlOf, MAX_BODY_BYTES } from '../../infra/operations/mount.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';
import { A2aCaller, agentCard, cardJson } from './a2a-card.ts';
import { A2aHandler, needsKey } from './a2a-handler.ts';

/** `1.0` and `0.3`, also with a patch number, which clients send too. Absent: 0.3, as the protocol says. */
const versionOf = (request: Request) =>
  (request.get('a2a-version') || '0.3').trim().replace(/^(\d{1,3}\.\d{1,3})\.\d{1,9}$/, '$1');

/** JSON-RPC and REST of both versions, on the transports of the SDK. */
export function a2aServer(service: Service): { calls: RequestHandler; card: RequestHandler } {
  const handler = new A2aHandler(service);
  const { publicUrl } = service.config;
  const rest = restHandler({
    requestHandler: handler,
    userBuilder: async (request) => callerOf(request, publicUrl),
    legacyCompat: { enabled: true },
  });
  const calls = Router({ caseSensitive: true });
  // Read here, so that the SDK's own reader finds nothing left to read.
  calls.use(
    (request, _response, next) => {
      refuseOtherThanJson(request);
      next();
    },
    jsonBody({ limit: MAX_BODY_BYTES, strict: false, type: () => true }),
  );
  calls.post('/', jsonRpc(handler, publicUrl));
  calls.use(rest);
  calls.use(() => {
    throw new HttpProblem(404, 'NOT_FOUND', say('problem.no-path'));
  });
  return { calls, card: cardHandler(service) };
}

function callerOf(request: Request, publicUrl: string | undefined): A2aCaller {
  if (!request.res) throw new TypeError('the request has no response');
  return new A2aCaller(request, request.res, publicUrl);
}

function cardHandler(service: Service): RequestHandler {
  const { config } = service;
  return (request, response, next) => {
    const card = agentCard({ baseUrl: baseUrlOf(request, config.publicUrl), needsKey: needsKey(service) });
    response.vary('A2A-Version');
    if (versionOf(request).startsWith('0.')) {
      return legacyAgentCardRouter({ agentCardProvider: async () => card, cache: { maxAge: 0 } })(
        request,
        response,
        next,
      );
    }
    response.json(cardJson(card));
  };
}

/** Like the SDK's handler, with errors in the response only: the SDK's own writes them to the console. */
function jsonRpc(handler: A2aHandler, publicUrl: string | undefined): RequestHandler {
  const modern = new JsonRpcTransportHandler(handler);
  const legacy = new LegacyJsonRpcTransportHandler(handler);
  return async (request, response) => {
    const requestedVersion = versionOf(request);
    const isLegacy = requestedVersion === '0.3';
    const errorOf = isLegacy
      ? LegacyJsonRpcTransportHandler.mapToLegacyJSONRPCError
      : JsonRpcTransportHandler.mapToJSONRPCError;
    const failure = (error: unknown) => ({
      jsonrpc: '2.0',
      id: request.body?.id ?? null,
      error: errorOf(error),
    });
    try {
      validateVersion(requestedVersion, await handler.getAgentCard(), 'JSONRPC');
      const context = new ServerCallContext({ user: callerOf(request, publicUrl), requestedVersion });
      const result = await (isLegacy ? legacy : modern).handle(withParams(request.body), context);
      if (Symbol.asyncIterator in result) await writeStream(response, result, failure);
      else response.json(result);
    } catch (error) {
      if (!response.headersSent) response.json(failure(error));
    }
  };
}

/** Clients leave the parameters out, or write null, where all of them are optional. */
function withParams<Body>(body: Body): Body {
  const isCall = typeof body === 'object' && body !== null && 'method' in body;
  return isCall && (!('params' in body) || body.params === null) ? { ...body, params: {} } : body;
}

/** Writes events as server-sent events. An error before the first one is a plain response. */
async function writeStream(
  response: Response & ServerResponse,
  events: AsyncGenerator<unknown, void, undefined>,
  failure: (error: unknown) => unknown,
): Promise<void> {
  const first = await events.next();
  response.status(200).set(SSE_HEADERS);
  response.flushHeaders();
  try {
    for (let next = first; !next.done && !response.closed; next = await events.next()) {
      response.write(formatSSEEvent(next.value));
    }
  } catch (error) {
    if (!response.closed) response.write(formatSSEErrorEvent(failure(error)));
  } finally {
    await events.return();
    response.end();
  }
}
