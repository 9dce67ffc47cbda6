import { expect, it } from 'vitest';
import { createDelivery } from '../../../router/src/app/turns.ts';
import { AccountRegistry } from '../../../router/src/core/cluster/cluster-view.ts';
import type { NodeMessage } from '../../../router/src/core/cluster/node-bus.ts';

it('delivers stored replies through the node of their account', () => {
  const published: NodeMessage[] = [];
  const { deliver } = createDelivery({
    postgres: {},
    registry: new AccountRegistry(),
    bus: { publish: (message: NodeMessage) => void published.push(message) },
    mintId: () => '3EB0',
  } as unknown as Parameters<typeof createDelivery>[0]);
  const message = { accountId: 'elsewhere', to: '1@lid', waMessageId: '3EB0', text: 'hi' };
  deliver([{ outboxId: '1', chatId: '1', message }]);
  expect(published).toEqual([{ kind: 'replies-queued', accountId: 'elsewhere' }]);
});
