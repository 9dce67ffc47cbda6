import type { AuditEvent } from '../ports/audit-log.ts';

/**
 * What the hash of an entry covers, besides the hash before it: its position, a space and the fields as a JSON array. It
 * must not change: `wa2ai audit verify` computes it for entries that other versions wrote.
 */
export function auditText(seq: bigint | string, event: AuditEvent): string {
  return `${seq} ${auditFields(event)}`;
}

/**
 * The part of `auditText` that is known before the entry has its position. The name of a user is at the end, and only in
 * entries that have one: entries that older versions wrote keep their text.
 */
export function auditFields(event: AuditEvent): string {
  const { at, face, caller, keyId, user, action, object, outcome, requestId, address } = event;
  const optional = (text: string | undefined) => text ?? null;
  return JSON.stringify([
    at.toISOString(),
    face,
    caller,
    optional(keyId),
    action,
    optional(object),
    outcome,
    requestId,
    optional(address),
    ...(user === undefined ? [] : [user]),
  ]);
}
