import type { AccountRecord, AccountStore } from '../../core/ports/account-store.ts';

/** Accounts in memory, for tests. */
export class MemoryAccountStore implements AccountStore {
  readonly #records = new Map<string, AccountRecord>();

  async load(accountId: string): Promise<AccountRecord> {
    return { ...(this.#records.get(accountId) ?? { state: 'starting', generation: 1 }) };
  }

  async save(accountId: string, record: Omit<AccountRecord, 'generation'>): Promise<void> {
    const { generation } = await this.load(accountId);
    const { state, reason, phone, lid, pushName } = record;
    this.#records.set(accountId, {
      state,
      generation,
      ...(reason !== undefined && { reason }),
      ...(phone !== undefined && { phone }),
      ...(lid !== undefined && { lid }),
      ...(pushName !== undefined && { pushName }),
    });
  }

  async nextGeneration(accountId: string): Promise<number> {
    const record = await this.load(accountId);
    record.generation += 1;
    this.#records.set(accountId, record);
    return record.generation;
  }
}
