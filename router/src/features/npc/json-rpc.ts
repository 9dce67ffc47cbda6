import { StorageUnavailableError } from '../../core/errors.ts';
import { NpcError, type NpcErrorBody, RPC } from './npc-error.ts';

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

export type RpcResponse =
  | { jsonrpc: '2.0'; result: unknown; id: RpcId }
  | { jsonrpc: '2.0'; error: NpcErrorBody; id: RpcId };

export interface RpcHandler {
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
  /** Why it is no call, with the member that is wrong. */
  problem?: { field?: string; reason: string };
  /** Undefined: they are no object. */
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
