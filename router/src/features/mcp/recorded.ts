import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { auditedCaller } from '../../core/access/audited-caller.ts';
import { Wa2aiError } from '../../core/errors.ts';
import type { AuditEvent } from '../../core/ports/audit-log.ts';
import type { Clock } from '../../core/ports/clock.ts';
import type { Logger } from '../../core/ports/logger.ts';
import type { AuditRecorder } from '../../infra/operations/audit-recorder.ts';
import { problemOf } from '../../infra/operations/problem.ts';
import type { McpCaller } from './mcp-caller.ts';

export interface RecordDeps {
  recorder: Pick<AuditRecorder, 'recordChange' | 'recordRead'>;
  clock: Pick<Clock, 'now'>;
  log: Logger;
}

/** Does a call and records it in the audit log: a change before its result is sent. A defect is only in the log. */
export async function recorded<Result>(
  deps: RecordDeps,
  by: McpCaller,
  { action, isRead }: { action: string; isRead: boolean },
  work: () => Promise<{ result: Result; object?: string }>,
): Promise<Result> {
  let outcome = 'ok';
  let object: string | undefined;
  try {
    const done = await work();
    object = done.object;
    return done.result;
  } catch (error) {
    outcome = outcomeOf(error, by.signal);
    throw shown(deps.log, error, outcome);
  } finally {
    const event: AuditEvent = {
      at: new Date(deps.clock.now()),
      face: 'mcp',
      ...auditedCaller(by.caller),
      action,
      ...(object !== undefined && { object }),
      outcome,
      requestId: by.requestId,
      address: by.address,
    };
    if (isRead) deps.recorder.recordRead(event);
    else await deps.recorder.recordChange(event);
  }
}

function outcomeOf(error: unknown, gone: AbortSignal): string {
  if (error instanceof Wa2aiError) return problemOf(error).body.code;
  if (error instanceof ProtocolError) return 'NOT_FOUND';
  if (gone.aborted || (error instanceof Error && error.name === 'AbortError')) return 'CANCELED';
  return 'INTERNAL';
}

/** The error as the caller may see it. */
function shown(log: Logger, error: unknown, outcome: string): unknown {
  if (outcome !== 'INTERNAL') return error;
  log.error({ err: error }, 'mcp call failed');
  return new ProtocolError(
    ProtocolErrorCode.InternalError,
    'wa2ai failed to handle this request. Its log has the cause.',
  );
}
