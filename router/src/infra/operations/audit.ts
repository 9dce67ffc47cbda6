import type { Request, Response } from 'express';
import type { Caller } from '../../core/access/caller.ts';
import { LogThrottle } from '../../core/logger.ts';
import { type AuditEvent, auditedCaller } from '../../core/ports/audit-log.ts';
import type { AuditRecorder } from './audit-recorder.ts';
import type { Endpoint } from './endpoint.ts';
import { connectionOf } from './guard.ts';

/** Refusals that cost a caller nothing, so that it can repeat them as fast as it can send. */
const REPEATABLE: ReadonlySet<string> = new Set([
  'CSRF_HEADER_MISSING',
  'FOREIGN_HOST',
  'FOREIGN_ORIGIN',
  'RATE_LIMITED',
  'UNAUTHORIZED',
]);

/** Ids of objects are shorter; what a caller sends as one may not be. */
const MAX_OBJECT_CHARS = 200;

interface AuditDeps {
  recorder: Pick<AuditRecorder, 'recordChange' | 'recordRead'>;
  /** Epoch milliseconds. */
  now(): number;
}

/** How a call ended. */
interface CallOutcome {
  /** `ok`, or the code of the error. */
  outcome: string;
  /** Id of what it read, created or changed. Default: the one in the path. */
  object?: string;
  /** Who called, when the guard could not know. */
  caller?: Caller;
}

/**
 * Records the calls of the REST API: every change by anybody, every read with a key or over the Unix socket, reads of exports,
 * files, exchanges and policies by a session, and calls that were refused. Not recorded: public calls, other successful reads of
 * a session, reads of this machine without a key, and successful reads that exist to be polled. Repeated refusals are recorded
 * 1, 2, 4, 8 ... so that they cannot fill the log.
 */
export class RestAudit {
  readonly #deps: AuditDeps;
  readonly #throttle = new LogThrottle();

  constructor(deps: AuditDeps) {
    this.#deps = deps;
  }

  /** Records the call of a request, if it is one to record. A change is stored when this resolves. Never rejects. */
  async record(
    request: Request,
    response: Response,
    { outcome, object, caller: found }: CallOutcome,
  ): Promise<void> {
    const { operation, requestId } = response.locals as { operation?: Endpoint; requestId: string };
    if (!operation || operation.takesBatches) return;
    const caller: Caller = found ?? response.locals.caller ?? { kind: 'stranger' };
    const { address } = connectionOf(request);
    const isRead = operation.method === 'get';
    if (!this.#isRecorded(operation, caller, outcome, address)) return;
    const named = object ?? request.params.id ?? request.params.name ?? response.locals.objectId;
    const event: AuditEvent = {
      at: new Date(this.#deps.now()),
      face: 'rest',
      ...auditedCaller(caller),
      action: operation.operationId,
      ...(named !== undefined && { object: String(named).slice(0, MAX_OBJECT_CHARS) }),
      outcome,
      requestId,
      ...(caller.kind !== 'local-socket' && { address }),
    };
    if (isRead) this.#deps.recorder.recordRead(event);
    else await this.#deps.recorder.recordChange(event);
  }

  #isRecorded(operation: Endpoint, caller: Caller, outcome: string, address: string): boolean {
    const isFree = REPEATABLE.has(outcome) || (operation.scopes === 'public' && outcome !== 'ok');
    if (isFree) {
      const by = caller.kind === 'key' ? caller.key.id : address;
      return this.#throttle.count(`${outcome} ${by}`) !== undefined;
    }
    if (operation.method !== 'get') return true;
    const isNamed = ['key', 'admin-key', 'local-socket'].includes(caller.kind);
    if (caller.kind === 'session') return operation.isAudited === true || outcome === 'SCOPE_MISSING';
    if (!isNamed || operation.scopes === 'public') return false;
    return outcome !== 'ok' || operation.isPolled !== true;
  }
}
