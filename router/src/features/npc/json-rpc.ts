import type { Readable } from 'node:stream';
import { StorageUnavailableError, Wa2aiError } from '../../core/errors.ts';
import { HttpProblem } from '../../infra/operations/problem.ts';

/** Calls of one batch. */
const MAX_BATCH = 50;

/** A call of JSON-RPC 2.0 by name. */
export interface RpcCall {
  method: string;
  params: Record<string, unknown>;
  /** Position in its batch, from 0. */
  index: number;
}

type RpcId = string | number | null;

type RpcResponse =
  | { jsonrpc: '2.0'; result: unknown; id: RpcId }
  | { jsonrpc: '2.0'; error: NpcErrorBody; id: RpcId };

interface RpcHandler {
  /** Called before each entry of the body, also before an invalid one. @throws {NpcError} the entry is refused */
  admit(): Promise<void>;
  /** @returns the result. @throws {NpcError} for the caller; any other error becomes -32603 */
  call(call: RpcCall): Promise<unknown>;
  /** An error that the caller does not see. */
  onFault(error: unknown, method: string): void;
  /** Called after each entry, also after one that was refused; never rejects. */
  onEnd(end: { method: string; taskId?: string; error?: unknown }): Promise<void>;
}

/**
 * Answers the body of a request of JSON-RPC 2.0: one call or a batch, one after the other.
 * @returns undefined when the body has notifications only
 */
export async function answerRpc(
  body: string,
  handler: RpcHandler,
): Promise<RpcResponse | RpcResponse[] | undefined> {
  const parsed = parse(body);
  if (!parsed) return await refused(handler, RPC.parseError, 'The body must be JSON.');
  const { json } = parsed;
  if (!Array.isArray(json)) return await answerEntry(json, 0, handler);
  if (json.length === 0 || json.length > MAX_BATCH) {
    return await refused(handler, RPC.invalidRequest, `A batch must have 1 to ${MAX_BATCH} calls.`);
  }
  const responses: RpcResponse[] = [];
  for (const [index, entry] of json.entries()) {
    const response = await answerEntry(entry, index, handler);
    if (response) responses.push(response);
  }
  return responses.length > 0 ? responses : undefined;
}

function parse(body: string): { json: unknown } | undefined {
  try {
    return { json: JSON.parse(body) };
  } catch {
    return undefined;
  }
}

/** The response to a body that is no call. */
async function refused(
  handler: RpcHandler,
  code: typeof RPC.parseError | typeof RPC.invalidRequest,
  reason: string,
): Promise<RpcResponse> {
  try {
    await handler.admit();
    return { jsonrpc: '2.0', error: new NpcError(code, { reason }).body, id: null };
  } catch (error) {
    await handler.onEnd({ method: '', error });
    return { jsonrpc: '2.0', error: bodyOf(error, '', handler), id: null };
  }
}

async function answerEntry(
  entry: unknown,
  index: number,
  handler: RpcHandler,
): Promise<RpcResponse | undefined> {
  const { id, method = '', isNotification, problem, params } = read(entry);
  try {
    await handler.admit();
    if (problem) throw new NpcError(RPC.invalidRequest, problem);
    if (params === undefined) {
      throw new NpcError(RPC.invalidParams, { field: 'params', reason: 'params must be an object.' });
    }
    const result = await handler.call({ method, params, index });
    await handler.onEnd({ method, ...taskIdOf(result) });
    return isNotification ? undefined : { jsonrpc: '2.0', result, id };
  } catch (error) {
    const body = bodyOf(error, method, handler);
    await handler.onEnd({ method, ...taskIdOf(params), error });
    return isNotification ? undefined : { jsonrpc: '2.0', error: body, id };
  }
}

function taskIdOf(value: unknown): { taskId?: string } {
  const { taskId } = (value ?? {}) as { taskId?: unknown };
  return typeof taskId === 'string' ? { taskId } : {};
}

interface ReadEntry {
  id: RpcId;
  method?: string;
  /** A valid call without an id: it gets no response, not even an error. */
  isNotification: boolean;
  /** Why it is not a call, with the member that is wrong. */
  problem?: { field?: string; reason: string };
  /** Undefined: they are not an object. */
  params?: Record<string, unknown>;
}

function read(entry: unknown): ReadEntry {
  if (typeof entry !== 'object' || entry === null || Array.isArray(entry)) {
    return { id: null, isNotification: false, problem: { reason: 'A call must be an object.' } };
  }
  const { jsonrpc, method, id, ...call } = entry as Record<string, unknown>;
  const params = call.params ?? {};
  const isId = typeof id === 'string' || typeof id === 'number' || id === null;
  const known = isId ? id : null;
  const invalid = (field: string, must: string) => ({
    id: known,
    isNotification: false,
    problem: { field, reason: `${field} must be ${must}.` },
  });
  if (jsonrpc !== '2.0') return invalid('jsonrpc', '"2.0"');
  if (typeof method !== 'string') return invalid('method', 'a text');
  if (id !== undefined && !isId) return invalid('id', 'a text, a number or null');
  if (typeof params !== 'object') return invalid('params', 'an object or an array');
  const read = { id: known, method, isNotification: id === undefined };
  // Parameters by position have no meaning in this protocol.
  if (Array.isArray(params)) return read;
  // Some clients write null for what they leave out.
  return {
    ...read,
    params: Object.fromEntries(Object.entries(params).filter(([, value]) => value !== null)),
  };
}

function bodyOf(error: unknown, method: string, handler: RpcHandler): NpcErrorBody {
  if (error instanceof NpcError) return error.body;
  handler.onFault(error, method);
  const reason =
    error instanceof StorageUnavailableError
      ? 'The database did not answer. Try again.'
      : 'The call failed. The log of wa2ai says why.';
  return new NpcError(RPC.internal, { reason }).body;
}

/** Error codes of JSON-RPC 2.0 and of the specification of the NPC Engine. */
export const RPC = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  authentication: -32001,
  rateLimit: -32002,
  insufficientFunds: -32010,
  contractFailed: -32011,
} as const;

const MESSAGES: Record<RpcCode, string> = {
  [RPC.parseError]: 'Parse error',
  [RPC.invalidRequest]: 'Invalid Request',
  [RPC.methodNotFound]: 'Method not found',
  [RPC.invalidParams]: 'Invalid params',
  [RPC.internal]: 'Internal error',
  [RPC.authentication]: 'Authentication failed',
  [RPC.rateLimit]: 'Rate limit exceeded',
  [RPC.insufficientFunds]: 'Insufficient funds',
  [RPC.contractFailed]: 'Contract execution failed',
};

type RpcCode = (typeof RPC)[keyof typeof RPC];

/** The member `error` of a response, and the error of a task that failed. `reason` is a sentence for the caller. */
export interface NpcErrorBody {
  code: RpcCode;
  message: string;
  data?: { field?: string; reason: string; retryAfter?: number };
}

/** An error that the caller of the NPC server sees. It contains nothing internal. */
export class NpcError extends Wa2aiError {
  readonly body: NpcErrorBody;

  constructor(code: RpcCode, data?: NpcErrorBody['data'], options?: { cause?: unknown }) {
    super('NPC_REFUSED', 'dead', { sentence: data?.reason ?? `${MESSAGES[code]}.` }, options);
    this.body = { code, message: MESSAGES[code], ...(data && { data }) };
  }
}

/** A parameter that is not accepted. @param reason a sentence */
export function invalidParam(field: string, reason: string): NpcError {
  return new NpcError(RPC.invalidParams, { field, reason });
}

/** Largest body of a request, in bytes. */
const MAX_RPC_BYTES = 262_144;

/**
 * The body of a request as text; JSON-RPC has its own error for one that is no JSON.
 * @throws {HttpProblem} 413: it is too large; 415: it is compressed; 400: the connection broke
 */
export async function readBody(
  request: Readable & { headers: Record<string, string | string[] | undefined> },
  maxBytes = MAX_RPC_BYTES,
): Promise<string> {
  const encoding = request.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') {
    throw new HttpProblem(415, 'UNSUPPORTED_MEDIA_TYPE', { sentence: 'The body must not be compressed.' });
  }
  // Events, because an asynchronous iterator costs several times as much for a small body.
  return await new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const broken = () =>
      reject(new HttpProblem(400, 'BAD_REQUEST', { sentence: 'The body did not arrive completely.' }));
    const read = (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) return void chunks.push(chunk);
      // A destroyed request would close the connection before its response.
      request.off('data', read).pause();
      reject(new HttpProblem(413, 'BODY_TOO_LARGE', { sentence: 'The body is too large.' }));
    };
    request.on('data', read);
    request.once('error', broken).once('close', broken);
    request.once('end', () => {
      request.off('close', broken);
      resolve(Buffer.concat(chunks).toString('utf8'));
    });
  });
}
