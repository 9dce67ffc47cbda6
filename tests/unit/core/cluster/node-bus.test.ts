import { describe, expect, it } from 'vitest';
import { accountsChanged } from '../../../../router/src/core/cluster/cluster-view.ts';
import { NodeBus, type NodeTransportEvents } from '../../../../router/src/core/cluster/node-bus.ts';
import { repliesQueued } from '../../../../router/src/core/delivery/deliver-reply.ts';
import { MemoryNodeHub } from '../../../doubles/memory-node-hub.ts';

function setup() {
  const hub = new MemoryNodeHub();
  const heard: string[] = [];
  const n1 = hub.connect('n1');
  const n2 = hub.connect('n2');
  for (const bus of [n1, n2]) bus.on(accountsChanged, () => heard.push(bus.nodeId));
  return { n1, n2, heard };
}

describe('NodeBus', () => {
  it('publishes to all other nodes, and not to itself', () => {
    const { n1, heard } = setup();
    n1.publish(accountsChanged());
    expect(heard).toEqual(['n2']);
  });

  it('broadcasts to this node too', () => {
    const { n1, heard } = setup();
    n1.broadcast(accountsChanged());
    expect(heard).toEqual(['n1', 'n2']);
  });

  it('gives a message to the handlers of its kind only, with the node that sent it', () => {
    const { n1, n2, heard } = setup();
    const received: unknown[] = [];
    n2.on(repliesQueued, (message, sender) => received.push([message, sender]));
    n1.publish(repliesQueued({ accountId: 'a' }));
    expect([received, heard]).toEqual([[[{ accountId: 'a' }, 'n1']], []]);
  });

  it.each([
    ['a kind of another version', { from: 'n2', message: { kind: 'from-the-future' } }],
    ['a message without its fields', { from: 'n2', message: { kind: 'replies-queued' } }],
    ['anything else', 'nonsense'],
  ])('ignores %s', (_what, payload) => {
    let events: NodeTransportEvents | undefined;
    const heard: unknown[] = [];
    const bus = new NodeBus('n1', (own) => {
      events = own;
      return { publish: () => undefined };
    });
    bus.on(repliesQueued, (message) => heard.push(message));
    events?.onMessage(payload);
    expect(heard).toEqual([]);
  });

  it('calls each reconnect handler when the transport works again', () => {
    let events: NodeTransportEvents | undefined;
    let calls = 0;
    const bus = new NodeBus('n1', (own) => {
      events = own;
      return { publish: () => undefined };
    });
    bus.onBack(() => calls++);
    bus.onBack(() => calls++);
    events?.onBack();
    expect(calls).toBe(2);
  });
});
