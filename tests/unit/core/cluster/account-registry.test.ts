import { describe, expect, it } from 'vitest';
import { AccountRegistry } from '../../../../router/src/core/cluster/cluster-view.ts';
import type { ReplyDelivery } from '../../../../router/src/core/delivery/deliver-reply.ts';
import type { AccountStatus, ChatProvider } from '../../../../router/src/core/ports/chat-provider.ts';

type RegisteredAccount = Parameters<AccountRegistry['add']>[0];

function account(accountId: string): RegisteredAccount {
  const status = (): AccountStatus => ({ accountId, state: 'open', nextAction: '', sinceMs: 0 });
  return { provider: { accountId, status } as ChatProvider, delivery: {} as ReplyDelivery };
}

describe('AccountRegistry', () => {
  it('returns the provider, the delivery and the status of an account by its id', () => {
    const registry = new AccountRegistry();
    const [sales, support] = [account('sales'), account('support')];
    registry.add(sales);
    registry.add(support);
    expect(registry.provider('sales')).toBe(sales.provider);
    expect(registry.delivery('support')).toBe(support.delivery);
    expect(registry.get('support')).toMatchObject({ accountId: 'support' });
    expect(registry.list().map(({ accountId }) => accountId)).toEqual(['sales', 'support']);
    expect(registry.deliveries()).toEqual([sales.delivery, support.delivery]);
  });

  it('returns nothing for an account that this node does not run', () => {
    const registry = new AccountRegistry();
    const sales = account('sales');
    registry.add(sales);
    registry.remove(sales);
    for (const accountId of ['sales', 'constructor', '']) {
      expect(registry.provider(accountId)).toBeUndefined();
      expect(registry.delivery(accountId)).toBeUndefined();
      expect(registry.get(accountId)).toBeUndefined();
    }
    expect(registry.list()).toEqual([]);
  });

  it('keeps an account that was added again before its former connection was removed', () => {
    const registry = new AccountRegistry();
    const [former, current] = [account('sales'), account('sales')];
    registry.add(former);
    registry.add(current);
    registry.remove(former);
    expect(registry.provider('sales')).toBe(current.provider);
    expect(registry.deliveries()).toEqual([current.delivery]);
  });
});
