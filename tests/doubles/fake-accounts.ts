import type { AccountStatus, PasskeyInput } from '../../router/src/core/ports/chat-provider.ts';
import type { AccountControl, NewAccount } from '../../router/src/core/ports/cluster.ts';

/** Accounts whose state a test sets. */
export class FakeAccounts implements AccountControl {
  readonly statuses = new Map<string, AccountStatus>();
  /** Calls that change an account, in order. */
  readonly calls: unknown[][] = [];

  set(status: Partial<AccountStatus> = {}): void {
    const accountId = status.accountId ?? 'default';
    this.statuses.set(accountId, {
      accountId,
      state: 'open',
      nextAction: 'Nothing needs doing.',
      sinceMs: 0,
      ...status,
    });
  }

  list(): AccountStatus[] {
    return [...this.statuses.values()];
  }

  get(accountId: string): AccountStatus | undefined {
    return this.statuses.get(accountId);
  }

  async create(accountId: string, as?: NewAccount): Promise<'added' | 'known'> {
    if (this.statuses.has(accountId)) return 'known';
    this.calls.push(['create', accountId, as]);
    this.set({ accountId, state: 'starting' });
    return 'added';
  }

  async pair(accountId: string, by: { method: 'qr' } | { method: 'code'; phone: string }) {
    return this.#called('pair', accountId, by);
  }

  /** Deletes an account, as `deleteAccount` of the API does in the end. */
  async delete(accountId: string): Promise<void> {
    this.calls.push(['delete', accountId]);
    this.statuses.delete(accountId);
  }

  async logout(accountId: string) {
    return this.#called('logout', accountId);
  }

  async unlink(accountId: string) {
    return this.#called('unlink', accountId);
  }

  async usePasskey(accountId: string, input: PasskeyInput) {
    return this.#called('usePasskey', accountId, input);
  }

  /** What WhatsApp says about numbers; it says nothing about others. */
  readonly numbers = new Map<string, boolean>();
  async isOnWhatsApp(_accountId: string, phone: string) {
    return this.numbers.get(phone);
  }

  async restart(accountId: string) {
    return this.#called('restart', accountId);
  }

  #called(...call: [string, string, ...unknown[]]): AccountStatus | undefined {
    this.calls.push(call);
    return this.statuses.get(call[1]);
  }
}
