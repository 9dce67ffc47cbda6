import { type Reason, reasonOf } from '../../../core/phrases.ts';
import type { AccountLimit, AccountStore, LimitKind } from '../../../core/ports/account-store.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { Logger } from '../../../core/ports/logger.ts';

export interface RestrictionDeps {
  accountId: string;
  kind: LimitKind;
  store: Pick<AccountStore, 'beginLimit' | 'endLimit'>;
  clock: Clock;
  log: Logger;
  /** Ends the wait for the limit's end. */
  stopping: AbortSignal;
  /** A limit began, was replaced or ended. */
  onChange(): void;
}

/** A Node timer accepts at most 2^31 - 1 ms. */
const LONGEST_SLEEP_MS = 2_000_000_000;

/** One kind of temporary limit of WhatsApp: applied, stored for the next process, and ended when its time is over. */
export class Restriction {
  readonly #deps: RestrictionDeps;
  #limit: (Reason & { endsAtMs: number }) | undefined;
  #storing: Promise<void> = Promise.resolve();

  constructor(deps: RestrictionDeps) {
    this.#deps = deps;
  }

  get kind(): LimitKind {
    return this.#deps.kind;
  }

  /** The active limit, with its remaining time in milliseconds. */
  current(): (Reason & { leftMs: number }) | undefined {
    if (!this.#limit) return undefined;
    const leftMs = this.#limit.endsAtMs - this.#deps.clock.monotonicMs();
    return leftMs > 0 ? { ...reasonOf(this.#limit), leftMs } : undefined;
  }

  /** Begins a limit now; it replaces an earlier one. Resolves when it is stored, or could not be; never rejects. */
  begin(limit: Reason & { forMs: number }): Promise<void> {
    const { kind, accountId, store } = this.#deps;
    this.#apply(limit);
    const { forMs } = limit;
    return this.#store(() => store.beginLimit(accountId, { kind, ...reasonOf(limit), forMs }));
  }

  /** Applies a limit that an earlier process stored, unless a newer one is known. */
  restore(limits: readonly AccountLimit[]): void {
    const stored = limits.find((limit) => limit.kind === this.#deps.kind);
    if (stored && !this.#limit) this.#apply(stored);
  }

  /** Ends the limit: WhatsApp ended it, or its time is over. */
  end(): void {
    if (!this.#limit) return;
    this.forget();
    this.#deps.onChange();
  }

  /** Forgets the limit without a report: an operator restarts the account, and WhatsApp may name the limit again. */
  forget(): void {
    if (!this.#limit) return;
    const { kind, accountId, store } = this.#deps;
    this.#limit = undefined;
    void this.#store(() => store.endLimit(accountId, kind));
  }

  /** Resolves when the last change is stored, or could not be. */
  async saved(): Promise<void> {
    await this.#storing;
  }

  #apply(begun: Reason & { forMs: number }): void {
    const { clock, onChange } = this.#deps;
    const limit = { ...reasonOf(begun), endsAtMs: clock.monotonicMs() + begun.forMs };
    this.#limit = limit;
    onChange();
    void this.#endWhenOver(limit);
  }

  async #endWhenOver(limit: { endsAtMs: number }): Promise<void> {
    const { clock, stopping } = this.#deps;
    while (this.#limit === limit) {
      const leftMs = limit.endsAtMs - clock.monotonicMs();
      if (leftMs <= 0) return this.end();
      try {
        await clock.sleep(Math.min(leftMs, LONGEST_SLEEP_MS), stopping);
      } catch {
        return;
      }
    }
  }

  #store(work: () => Promise<void>): Promise<void> {
    this.#storing = this.#storing.then(async () => {
      try {
        await work();
      } catch (error) {
        this.#deps.log.warn({ err: error }, 'WhatsApp limit not stored');
      }
    });
    return this.#storing;
  }
}
