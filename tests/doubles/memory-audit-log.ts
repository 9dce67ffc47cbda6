import type {
  AuditChain,
  AuditEntry,
  AuditEvent,
  AuditLog,
  AuditQuery,
} from '../../router/src/core/ports/audit-log.ts';
import { auditHash } from '../../router/src/infra/operations/audit-recorder.ts';

type AuditMark = AuditChain['head'];

const START: AuditMark = { seq: 0n, hash: '0'.repeat(64) };
const EXACT = ['caller', 'keyId', 'action', 'object', 'outcome', 'requestId', 'address'] as const;

/** The audit log in memory, for tests. */
export class MemoryAuditLog implements AuditLog {
  /** Oldest first; a test may change it. */
  readonly stored: AuditEntry[] = [];
  /** What retention removed; a test may change it. */
  anchor: AuditMark = START;
  #head: AuditMark = START;

  async append(events: readonly AuditEvent[]): Promise<void> {
    for (const event of events) {
      const seq = this.#head.seq + 1n;
      const hash = auditHash(this.#head.hash, seq, event);
      this.stored.push({ ...structuredClone(event), seq, hash });
      this.#head = { seq, hash };
    }
  }

  async entries(query: AuditQuery): Promise<AuditEntry[]> {
    const { before, since, until, limit } = query;
    const found = this.stored.filter(
      (entry) =>
        (before === undefined || entry.seq < before) &&
        (!since || entry.at >= since) &&
        (!until || entry.at < until) &&
        EXACT.every((field) => query[field] === undefined || query[field] === entry[field]),
    );
    return structuredClone(found.reverse().slice(0, limit));
  }

  async chain(): Promise<AuditChain> {
    return { head: this.#head, anchor: this.anchor };
  }
}
