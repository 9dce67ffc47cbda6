import { createHash } from 'node:crypto';
import { auditText } from '../../core/access/audit-text.ts';
import type { AuditEvent } from '../../core/ports/audit-log.ts';

/**
 * The hash of an entry: SHA-256 of the 32 bytes before it and its text, in hexadecimal digits. `audit_append`
 * (prisma/functions/audit.sql) computes the same.
 */
export function auditHash(previousHash: string, seq: bigint | string, event: AuditEvent): string {
  return createHash('sha256')
    .update(Buffer.from(previousHash, 'hex'))
    .update(auditText(seq, event))
    .digest('hex');
}
