import { Wa2aiError } from '../../core/errors.ts';

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

export type RpcCode = (typeof RPC)[keyof typeof RPC];

/** The member `error` of a response, and the error of a task that failed. `reason` is a sentence for the caller. */
export interface NpcErrorBody {
  code: RpcCode;
  message: string;
  data?: { field?: string; reason: string; retryAfter?: number };
}

/** An error that the caller of the NPC face sees. It contains nothing internal. */
export class NpcError extends Wa2aiError {
  readonly body: NpcErrorBody;

  constructor(code: RpcCode, data?: NpcErrorBody['data'], options?: { cause?: unknown }) {
    super('NPC_REFUSED', 'dead', data?.reason ?? `${MESSAGES[code]}.`, options);
    this.body = { code, message: MESSAGES[code], ...(data && { data }) };
  }
}

/** A parameter that is not accepted. @param reason a sentence */
export function invalidParam(field: string, reason: string): NpcError {
  return new NpcError(RPC.invalidParams, { field, reason });
}
