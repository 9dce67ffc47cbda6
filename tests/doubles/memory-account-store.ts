import type {
  AccountLimit,
  AccountRecord,
  AccountStateChange,
  AccountStore,
  LimitKind,
} from '../../router/src/core/ports/account-store.ts';

/** Accounts in memory, for tests. */
export class MemoryAccountStore implements AccountStore {
  readonly #records = new Map<string, AccountRecord>();
  readonly #limits = new Map<string, { limit: AccountLimit; untilMs: number }>();
  readonly #changes: Array<AccountStateChange & { accountId: string }> = [];
  readonly #monotonicMs: () => number;

  /** @param monotonicMs the clock that limits run by */
  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  async load(accountId: string): Promise<AccountRecord> {
    return { ...(this.#records.get(accountId) ?? { state: 'starting', generation: 1 }) };
  }

  async save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void> {
    const { generation, ...before } = await this.load(accountId);
    const { state, reason, phrase, phone, lid, pushName } = record;
    if (!this.#records.has(accountId) || before.state !== state || before.reason !== reason) {
      const id = String(this.#changes.length + 1);
      const change = {
        id,
        state,
        node: '',
        at: new Date(),
        ...(reason !== undefined && { reason }),
        ...(phrase && { phrase }),
      };
      this.#changes.push({ accountId, ...change });
    }
    this.#records.set(accountId, {
      state,
      generation,
      ...(reason !== undefined && { reason }),
      ...(phrase && { phrase }),
      ...(phone !== undefined && { phone }),
      ...(lid !== undefined && { lid }),
      ...(pushName !== undefined && { pushName }),
    });
  }

  async stateChanges(
    accountId: string,
    { limit, before = '999999' }: { limit: number; before?: string },
  ): Promise<AccountStateChange[]> {
    return this.#changes
      .filter((change) => change.accountId === accountId && Number(change.id) < Number(before))
      .reverse()
      .slice(0, limit)
      .map(({ accountId: _account, ...change }) => change);
  }

  async nextGeneration(accountId: string): Promise<number> {
    const record = await this.load(accountId);
    record.generation += 1;
    this.#records.set(accountId, record);
    return record.generation;
  }

  async limits(accountId: string): Promise<AccountLimit[]> {
    const kinds: LimitKind[] = ['connection', 'new-contacts'];
    return kinds.flatMap((kind) => {
      const known = this.#limits.get(`${accountId} ${kind}`);
      const forMs = known ? known.untilMs - this.#monotonicMs() : 0;
      return known && forMs > 0 ? [{ ...known.limit, forMs }] : [];
    });
  }

  async beginLimit(accountId: string, limit: AccountLimit): Promise<void> {
    const untilMs = this.#monotonicMs() + limit.forMs;
    this.#limits.set(`${accountId} ${limit.kind}`, { limit, untilMs });
  }

  async endLimit(accountId: string, kind: LimitKind): Promise<void> {
    this.#limits.delete(`${accountId} ${kind}`);
  }
}
