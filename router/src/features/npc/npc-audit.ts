import type { Request } from 'express';
import { auditedCaller } from '../../core/access/audited-caller.ts';
import type { Caller } from '../../core/access/caller.ts';
import { Wa2aiError } from '../../core/errors.ts';
import { LogThrottle } from '../../core/log-throttle.ts';
import type { AuditEvent } from '../../core/ports/audit-log.ts';
import type { AuditRecorder } from '../../infra/operations/audit-recorder.ts';
import { connectionOf } from '../../infra/operations/guard.ts';
import { NpcError, RPC } from './npc-error.ts';

const MAX_ACTION_CHARS = 100;
const MAX_OBJECT_CHARS = 200;

export interface NpcAuditDeps {
  recorder: Pick<AuditRecorder, 'recordChange' | 'recordRead'>;
  /** Epoch milliseconds. */
  now(): number;
}

/** One call of JSON-RPC. */
export interface AuditedCall {
  method: string;
  caller: Caller;
  /** The task. */
  taskId?: string;
  /** Absent: it succeeded. */
  error?: unknown;
}

/**
 * Records the calls of the NPC face, each entry of a batch for itself. Refusals that cost a caller nothing are recorded 1, 2,
 * 4, 8 ..., so that they cannot fill the log.
 */
export class NpcAudit {
  readonly #deps: NpcAuditDeps;
  readonly #throttle = new LogThrottle();

  constructor(deps: NpcAuditDeps) {
    this.#deps = deps;
  }

  /** A task that was opened is recorded when this resolves. Never rejects. */
  async record(request: Request, { method, caller, taskId, error }: AuditedCall): Promise<void> {
    const { address } = connectionOf(request);
    const outcome = outcomeOf(error);
    const isRefused =
      error instanceof NpcError &&
      [RPC.authentication, RPC.rateLimit].some((code) => code === error.body.code);
    const by = caller.kind === 'key' ? caller.key.id : address;
    if (isRefused && this.#throttle.count(`${outcome} ${by}`) === undefined) return;
    const event: AuditEvent = {
      at: new Date(this.#deps.now()),
      face: 'npc',
      ...auditedCaller(caller),
      action: method.slice(0, MAX_ACTION_CHARS) || 'unknown',
      ...(taskId !== undefined && { object: taskId.slice(0, MAX_OBJECT_CHARS) }),
      outcome,
      requestId: String(request.res?.locals.requestId ?? ''),
      address,
    };
    if (method === 'task.open' && error === undefined) await this.#deps.recorder.recordChange(event);
    else this.#deps.recorder.recordRead(event);
  }
}

/** `ok`, `RPC-32602`, or the code of the error. */
function outcomeOf(error: unknown): string {
  if (error === undefined) return 'ok';
  if (error instanceof NpcError) return `RPC${error.body.code}`;
  return error instanceof Wa2aiError ? error.code : `RPC${RPC.internal}`;
}
