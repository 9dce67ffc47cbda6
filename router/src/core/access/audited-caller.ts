import type { AuditEvent } from '../ports/audit-log.ts';
import type { Caller } from './caller.ts';

/** What an entry of the audit log says about its caller. */
export function auditedCaller(caller: Caller): Pick<AuditEvent, 'caller' | 'keyId' | 'user'> {
  if (caller.kind === 'key') return { caller: caller.kind, keyId: caller.key.id };
  const user = caller.kind === 'session' ? caller.session.user : undefined;
  return { caller: caller.kind, ...(user && { user: user.name }) };
}
