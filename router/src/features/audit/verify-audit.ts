import { z } from 'zod';
import { auditHash } from '../../infra/operations/audit-recorder.ts';

const PAGE = 500;

const markSchema = z.object({ seq: z.string().regex(/^\d+$/).transform(BigInt), hash: z.string() });
const chainSchema = z.object({ data: z.object({ head: markSchema, anchor: markSchema }) });
const entrySchema = markSchema.extend({
  at: z.iso.datetime().transform((text) => new Date(text)),
  face: z.string(),
  caller: z.enum(['admin-key', 'key', 'session', 'loopback', 'local-socket', 'stranger', 'person']),
  keyId: z.string().optional(),
  user: z.string().optional(),
  action: z.string(),
  object: z.string().optional(),
  outcome: z.string(),
  requestId: z.string(),
  address: z.string().optional(),
});
const pageSchema = z.object({ data: z.array(entrySchema) });

type Mark = z.output<typeof markSchema>;
type Entry = z.output<typeof entrySchema>;

/** A position of the log and the hash that it must have. */
export interface AuditCheckpoint {
  seq: bigint;
  hash: string;
}

interface VerifyInput {
  /** Reads a path of the API, with the scope admin, and returns the JSON of its answer. */
  read(path: string): Promise<unknown>;
  /** The end of the log at an earlier check: the log must still contain it. */
  earlier?: AuditCheckpoint;
}

export interface VerifyReport {
  isIntact: boolean;
  /** What is wrong; absent when the log is intact. */
  problem?: string;
  /** Entries that were checked. */
  entries: number;
  /** The end of the log, for a later check. */
  head: { seq: string; hash: string };
  /** Position of the last entry that retention removed. */
  anchorSeq: string;
}

/**
 * Reads the audit log through the API, newest entry first, and computes every hash again.
 * @throws what `read` throws
 */
export async function verifyAudit(input: VerifyInput): Promise<VerifyReport> {
  const { head, anchor } = await chainOf(input);
  const check = new ChainCheck(head, input.earlier);
  for (;;) {
    const { data } = pageSchema.parse(await input.read(`/api/audit?limit=${PAGE}&cursor=${check.next + 1n}`));
    for (const entry of data) if (!check.add(entry)) return check.report(anchor);
    if (data.length < PAGE) break;
  }
  // Retention may have removed the oldest entries meanwhile.
  const { anchor: anchorNow } = await chainOf(input);
  check.end(anchor.seq === check.next ? anchor : anchorNow);
  return check.report(anchorNow);
}

/** Follows the chain from its end to its start. */
class ChainCheck {
  readonly #head: Mark;
  readonly #earlier: AuditCheckpoint | undefined;
  /** The entry whose hash can be computed once the one before it is known. */
  #open: Entry | undefined;
  #problem: string | undefined;
  #entries = 0;

  constructor(head: Mark, earlier: AuditCheckpoint | undefined) {
    this.#head = head;
    this.#earlier = earlier;
    if (earlier && earlier.seq > head.seq) {
      this.#problem = `The log ends at entry ${head.seq}; the earlier check ended at entry ${earlier.seq}. Entries at the end were removed.`;
    }
  }

  /** Position of the next older entry. */
  get next(): bigint {
    return this.#open ? this.#open.seq - 1n : this.#head.seq;
  }

  /** @returns false when the chain is broken */
  add(entry: Entry): boolean {
    if (this.#problem) return false;
    if (entry.seq !== this.next) return this.#broken(`Entry ${this.next} is missing.`);
    if (!this.#open && entry.hash !== this.#head.hash) {
      return this.#broken(`Entry ${entry.seq} was changed: it is not the one that was written last.`);
    }
    if (this.#open && !this.#follows(this.#open, entry.hash)) return false;
    if (this.#earlier?.seq === entry.seq && this.#earlier.hash !== entry.hash) {
      return this.#broken(
        `Entry ${entry.seq} is not the one of the earlier check: the log was written again.`,
      );
    }
    this.#open = entry;
    this.#entries += 1;
    return true;
  }

  /** The oldest entry was added; it must follow the last one that retention removed. */
  end(anchor: Mark): void {
    if (this.#problem) return;
    const { seq, hash } = this.#earlier ?? anchor;
    if (seq === anchor.seq && hash !== anchor.hash) {
      this.#broken(`Entry ${seq} is not the one of the earlier check: the log was written again.`);
      return;
    }
    if (!this.#open) {
      if (anchor.seq !== this.#head.seq) this.#broken(`Entry ${this.#head.seq} is missing.`);
      else if (anchor.hash !== this.#head.hash) this.#broken('The ends of the log do not fit together.');
      return;
    }
    // Entries that retention removed while this ran were checked before.
    if (anchor.seq >= this.#open.seq) return;
    if (anchor.seq < this.next) this.#broken(`Entry ${this.next} is missing.`);
    else this.#follows(this.#open, anchor.hash);
  }

  report(anchor: Mark): VerifyReport {
    return {
      isIntact: this.#problem === undefined,
      ...(this.#problem !== undefined && { problem: this.#problem }),
      entries: this.#entries,
      head: { seq: String(this.#head.seq), hash: this.#head.hash },
      anchorSeq: String(anchor.seq),
    };
  }

  #follows(entry: Entry, previousHash: string): boolean {
    if (auditHash(previousHash, entry.seq, entry) === entry.hash) return true;
    return this.#broken(`Entry ${entry.seq} or the one before it was changed: the hash does not fit.`);
  }

  #broken(problem: string): false {
    this.#problem = problem;
    return false;
  }
}

async function chainOf({ read }: VerifyInput): Promise<z.output<typeof chainSchema>['data']> {
  return chainSchema.parse(await read('/api/audit/chain')).data;
}
