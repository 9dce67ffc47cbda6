import { createHash } from 'node:crypto';
import { type Clock, within } from '../../core/clock.ts';
import { isLoggedOccurrence, type Logger } from '../../core/logger.ts';
import { type AuditEvent, type AuditLog, auditText } from '../../core/ports/audit-log.ts';

/** Reads are stored together, at most so much later. */
const COLLECT_MS = 250;
/** Longest wait of a response for its entry. */
const STORE_LIMIT_MS = 2_000;
const RETRY_MS = 1_000;
/** Events of one statement. */
const MAX_BATCH = 500;
/** Events that wait while the database is unavailable; further ones are dropped. */
const MAX_WAITING = 10_000;

interface AuditRecorderDeps {
  auditLog: Pick<AuditLog, 'append'>;
  clock: Clock;
  log: Logger;
}

/**
 * Writes the audit log of this node: the events of many requests in one statement, one statement at a time. Events wait in
 * memory while the database is unavailable, so a crash loses those; an event whose statement lost its answer may be stored
 * twice.
 */
export class AuditRecorder {
  readonly #deps: AuditRecorderDeps;
  readonly #stopping = new AbortController();
  #waiting: Array<{ event: AuditEvent; stored(): void }> = [];
  #dropped = 0;
  #writing: Promise<void> | undefined;
  #collecting: AbortController | undefined;

  constructor(deps: AuditRecorderDeps) {
    this.#deps = deps;
  }

  /** Records a change. Resolves when it is stored, or after two seconds; never rejects. */
  async recordChange(event: AuditEvent): Promise<void> {
    const stored = new Promise<void>((resolve) => this.#add(event, resolve));
    this.#collecting?.abort();
    this.#write(0);
    await within(this.#deps.clock, STORE_LIMIT_MS, stored);
  }

  /** Records a read. It is stored soon, together with others. */
  recordRead(event: AuditEvent): void {
    this.#add(event, () => undefined);
    this.#write(COLLECT_MS);
  }

  /** Writes what waits, once more if the database does not answer. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#collecting?.abort();
    await this.#writing;
    if (this.#waiting.length > 0) await this.#writeBatches();
  }

  #add(event: AuditEvent, stored: () => void): void {
    if (this.#waiting.length < MAX_WAITING) {
      this.#waiting.push({ event, stored });
      return;
    }
    this.#dropped += 1;
    if (isLoggedOccurrence(this.#dropped)) {
      this.#deps.log.error({ dropped: this.#dropped }, 'too many audit entries wait, dropped');
    }
    stored();
  }

  /** One writer at a time. @param afterMs when it begins, if none is at work */
  #write(afterMs: number): void {
    if (this.#stopping.signal.aborted) return;
    this.#writing ??= this.#writeAll(afterMs).finally(() => {
      this.#writing = undefined;
      // Added after the last look.
      if (this.#waiting.length > 0) this.#write(0);
    });
  }

  async #writeAll(afterMs: number): Promise<void> {
    if (afterMs > 0) {
      this.#collecting = new AbortController();
      await this.#slept(afterMs, this.#collecting.signal);
      this.#collecting = undefined;
    }
    while (this.#waiting.length > 0 && !(await this.#writeBatches())) {
      if (!(await this.#slept(RETRY_MS, this.#stopping.signal))) return;
    }
  }

  /** @returns false when the signal ended the sleep */
  async #slept(ms: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.#deps.clock.sleep(ms, signal);
      return true;
    } catch {
      return false;
    }
  }

  /** @returns false when the database did not store a batch */
  async #writeBatches(): Promise<boolean> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.slice(0, MAX_BATCH);
      try {
        await this.#deps.auditLog.append(batch.map(({ event }) => event));
      } catch (error) {
        const entries = this.#waiting.length;
        this.#deps.log.warn({ err: error, entries }, 'audit entries not stored, retrying');
        return false;
      }
      this.#waiting = this.#waiting.slice(batch.length);
      for (const { stored } of batch) stored();
    }
    return true;
  }
}

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
