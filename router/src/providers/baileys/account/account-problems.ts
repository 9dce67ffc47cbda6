import type { Clock } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import { type Reason, reasonOf, type Said, say } from '../../../core/phrases.ts';
import type { AccountLimit, AccountStore, LimitKind } from '../../../core/ports/account-store.ts';
import { cleanText } from '../../../core/text.ts';

/** Number of WhatsApp ids in a sentence; further ones are counted. */
const MAX_NAMED = 5;
/** Senders choose ids; WhatsApp's own have 16 to 32 characters. */
const MAX_ID_CHARS = 64;

/**
 * Problems with single stored rows while the account works: one sentence per kind, ready to show. They are kept until
 * the process ends, and their length is limited.
 */
export class AccountProblems {
  readonly #onChange: () => void;
  readonly #journalled = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #keys = new Map<string, number>();
  #moreJournalled = 0;
  #moreRefused = 0;
  #refusal = '';

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** A journal row cannot be read, and its chat is unknown. */
  journalUnreadable(waMessageId: string): void {
    this.#moreJournalled += addTo(this.#journalled, waMessageId);
    this.#onChange();
  }

  /** The inbox rejects a message permanently; it stays in the journal. */
  messageRefused(waMessageId: string, sentence: string): void {
    this.#moreRefused += addTo(this.#refused, waMessageId);
    this.#refusal = sentence;
    this.#onChange();
  }

  /** A stored key cannot be read and is treated as absent. */
  keyUnreadable(category: string): void {
    this.#keys.set(category, (this.#keys.get(category) ?? 0) + 1);
    this.#onChange();
  }

  /** Empty when nothing is wrong. */
  list(): Said[] {
    const sentences: Said[] = [];
    if (this.#journalled.size > 0) {
      sentences.push(
        say('account.journal-unreadable', { chats: named(this.#journalled, this.#moreJournalled) }),
      );
    }
    if (this.#refused.size > 0) {
      sentences.push(
        say('account.messages-refused', {
          messages: named(this.#refused, this.#moreRefused),
          why: this.#refusal,
        }),
      );
    }
    if (this.#keys.size > 0) {
      const counts = [...this.#keys].map(([category, count]) => `${count} ${category}`).join(', ');
      sentences.push(say('account.keys-unreadable', { keys: counts }));
    }
    return sentences;
  }
}

/** @returns 1 when the sentence has enough names and only counts it */
function addTo(names: Set<string>, waMessageId: string): number {
  const name = cleanText(waMessageId.slice(0, MAX_ID_CHARS));
  if (names.has(name)) return 0;
  if (names.size >= MAX_NAMED) return 1;
  names.add(name);
  return 0;
}

function named(names: Set<string>, more: number): string {
  return `${[...names].join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

interface AccountLimitsOptions {
  accountId: string;
  store: AccountStore;
  clock: Clock;
  log: Logger;
  /** A limit began, was replaced or ended. */
  onChange(): void;
}

/** The temporary limits of WhatsApp on an account. All but that of connections hold back messages to people who never wrote only. */
export class AccountLimits {
  /** A lock on messages to people who never wrote to the account. */
  readonly newContacts: Restriction;
  /** The number of chats that the account may begin in a cycle. */
  readonly newChats: Restriction;
  /** The rate of messages. */
  readonly rate: Restriction;
  /** On connecting. */
  readonly connection: Restriction;
  readonly #all: Restriction[];
  readonly #stopping = new AbortController();

  constructor(options: AccountLimitsOptions) {
    const of = (kind: LimitKind) => new Restriction({ ...options, kind, stopping: this.#stopping.signal });
    this.newContacts = of('new-contacts');
    this.newChats = of('new-chats');
    this.rate = of('rate');
    this.connection = of('connection');
    this.#all = [this.newContacts, this.newChats, this.rate, this.connection];
  }

  /** The limit on messages to people who never wrote that ends last, with its remaining time in milliseconds. */
  current(): (Reason & { leftMs: number }) | undefined {
    const active = [this.newContacts, this.newChats, this.rate].flatMap((limit) => limit.current() ?? []);
    return active.sort((one, other) => other.leftMs - one.leftMs)[0];
  }

  /** All active limits. */
  list(): Array<Reason & { kind: LimitKind; leftMs: number }> {
    return this.#all.flatMap((limit) => {
      const current = limit.current();
      return current ? [{ kind: limit.kind, ...current }] : [];
    });
  }

  /** Applies limits that an earlier process stored, unless newer ones are known. */
  restore(limits: readonly AccountLimit[]): void {
    for (const limit of this.#all) limit.restore(limits);
  }

  /** Forgets all limits: they belong to the linked number, and the next link may have another one. */
  forget(): void {
    for (const limit of this.#all) limit.forget();
  }

  /** Ends the timers. */
  stop(): void {
    this.#stopping.abort();
  }

  /** Resolves when the last changes are stored, or could not be. */
  async saved(): Promise<void> {
    await Promise.all(this.#all.map((limit) => limit.saved()));
  }
}

interface RestrictionDeps {
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
