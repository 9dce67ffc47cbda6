import { describe, expect, it } from 'vitest';
import {
  accountStatus,
  accountsChanged,
  statusRequest,
} from '../../../router/src/core/cluster/cluster-view.ts';
import { Changes } from '../../../router/src/core/live/live-event.ts';
import { keysChanged } from '../../../router/src/features/access/key-store.ts';
import { LiveFeed } from '../../../router/src/features/live/live-feed.ts';
import { npcTaskChanged } from '../../../router/src/features/npc/npc-task-feed.ts';
import { servedTaskChanged } from '../../../router/src/features/tasks/task-feed.ts';
import { features } from '../../../router/src/features.ts';
import { routesChanged } from '../../../router/src/infra/db/stores/postgres-route-store.ts';
import { settingsChanged } from '../../../router/src/infra/db/stores/postgres-settings.ts';
import { MemoryNodeHub } from '../../doubles/memory-node-hub.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';

/** Nodes on one hub, each with a feed that knows all others as alive. */
function setup(...names: string[]) {
  const hub = new MemoryNodeHub();
  const clock = new FakeClock();
  const alive = new Set(names);
  let runs = 0;
  const nodes = names.map((name) => {
    const changes = new Changes();
    const bus = hub.connect(name);
    const feed = new LiveFeed({
      bus,
      changes,
      otherNodes: () => [...alive].filter((other) => other !== name),
      newRun: () => `r${++runs}`,
      clock,
    });
    return { changes, bus, feed };
  });
  return { hub, clock, alive, nodes };
}
type Node = ReturnType<typeof setup>['nodes'][number];

const reader = () => {
  const seen = { wakes: 0, isStopped: false };
  const onStop = () => {
    seen.isStopped = true;
  };
  return { seen, onEvents: () => void seen.wakes++, onStop };
};
const eventsOf = ({ feed: { ring } }: Node) =>
  Array.from({ length: ring.last }, (_, n) => ring.at(n + 1)?.event).map((event) =>
    [event?.type, event?.id].filter((part) => part !== undefined).join(' '),
  );

describe('LiveFeed', () => {
  it('collects and publishes nothing while nobody has a stream', async () => {
    const { hub, clock, nodes } = setup('n1', 'n2');
    const [here] = nodes as [Node, Node];
    expect(here.changes.isWanted).toBe(false);
    here.changes.report({ type: 'message', id: '1' });
    here.feed.note({ type: 'route' });
    await clock.advanceMs(60_000);
    expect(here.feed.ring.last).toBe(0);
    expect(hub.published).toEqual([]);
  });

  it('tells its streams about own changes and those of other nodes, in the order of each node', async () => {
    const { clock, nodes } = setup('n1', 'n2');
    const [here, there] = nodes as [Node, Node];
    const stream = reader();
    await here.feed.open(stream);
    expect(there.changes.isWanted).toBe(true);
    here.changes.report({ type: 'message', id: '1' });
    there.changes.report({ type: 'turn', id: '2' });
    there.changes.report({ type: 'reply', id: '3' });
    await clock.advanceMs(50);
    expect(eventsOf(here)).toEqual(['message 1', 'turn 2', 'reply 3']);
    expect(stream.seen.wakes).toBeGreaterThan(0);
    expect(there.feed.ring.last).toBe(0);
  });

  it('wakes its streams once for events that come together', async () => {
    const { clock, nodes } = setup('n1');
    const [here] = nodes as [Node];
    const stream = reader();
    await here.feed.open(stream);
    for (let n = 0; n < 100; n++) here.changes.report({ type: 'message', id: String(n) });
    await clock.advanceMs(50);
    expect(stream.seen.wakes).toBe(1);
  });

  it('begins when the other nodes publish, and after a second at the latest', async () => {
    const { hub, clock, nodes } = setup('n1', 'n2');
    const [here] = nodes as [Node, Node];
    hub.isMute = true;
    let isOpen = false;
    void here.feed.open(reader()).then(() => {
      isOpen = true;
    });
    await clock.advanceMs(999);
    expect(isOpen).toBe(false);
    await clock.advanceMs(1);
    expect(isOpen).toBe(true);
  });

  it('notes a reset when events of another node were lost', async () => {
    const { hub, clock, nodes } = setup('n1', 'n2');
    const [here, there] = nodes as [Node, Node];
    await here.feed.open(reader());
    hub.isMute = true;
    there.changes.report({ type: 'turn', id: '1' });
    await clock.advanceMs(300);
    hub.isMute = false;
    there.changes.report({ type: 'turn', id: '2' });
    await clock.advanceMs(300);
    expect(eventsOf(here)).toEqual(['reset', 'turn 2']);
  });

  it('notices within 20 seconds that the last events of another node were lost', async () => {
    const { hub, clock, nodes } = setup('n1', 'n2');
    const [here, there] = nodes as [Node, Node];
    await here.feed.open(reader());
    hub.isMute = true;
    there.changes.report({ type: 'turn', id: '1' });
    await clock.advanceMs(300);
    hub.isMute = false;
    await clock.advanceMs(20_000);
    expect(eventsOf(here)).toEqual(['reset']);
  });

  it('notes a reset when a node has ended, and when one begins to publish late', async () => {
    const { clock, alive, nodes } = setup('n1', 'n2', 'n3');
    const [here, there] = nodes as [Node, Node, Node];
    await here.feed.open(reader());
    here.feed.onClusterView();
    expect(eventsOf(here)).toEqual([]);
    alive.delete('n2');
    here.feed.onClusterView();
    here.feed.onClusterView();
    expect(eventsOf(here)).toEqual(['reset']);
    there.changes.report({ type: 'turn', id: '1' });
    await clock.advanceMs(300);
    expect(eventsOf(here)).toEqual(['reset', 'reset', 'turn 1']);
  });

  it('asks a node that starts for its events', async () => {
    const { hub, clock, nodes } = setup('n1');
    const [here] = nodes as [Node];
    await here.feed.open(reader());
    const before = hub.published.length;
    hub.connect('n2').publish(statusRequest());
    expect(hub.published.slice(before + 1)).toEqual([
      JSON.stringify({ from: 'n1', message: { kind: 'live-events-wanted' } }),
    ]);
    await clock.advanceMs(50);
  });

  it('collects for a minute after the last stream, so that a client can continue, then stops', async () => {
    const { hub, clock, nodes } = setup('n1', 'n2');
    const [here, there] = nodes as [Node, Node];
    const close = await here.feed.open(reader());
    here.changes.report({ type: 'message', id: '1' });
    const id = here.feed.ring.idOf(here.feed.ring.last);
    close();
    await clock.advanceMs(30_000);
    there.changes.report({ type: 'turn', id: '2' });
    await clock.advanceMs(300);
    expect(here.feed.ring.positionOf(id)).toBe(1);
    expect(eventsOf(here)).toEqual(['message 1', 'turn 2']);
    await clock.advanceMs(60_000);
    expect(here.changes.isWanted).toBe(false);
    expect(here.feed.ring.positionOf(id)).toBeUndefined();
    await clock.advanceMs(60_000);
    there.changes.report({ type: 'turn', id: '3' });
    expect(there.changes.isWanted).toBe(false);
    expect(clock.sleeping).toBe(0);
    const count = hub.published.length;
    await clock.advanceMs(60_000);
    expect(hub.published).toHaveLength(count);
  });

  it('notes what every node learns by itself', async () => {
    const { clock, nodes } = setup('n1');
    const [here] = nodes as [Node];
    await here.feed.open(reader());
    for (const { noteChanges } of features) noteChanges?.(here.bus, (change) => here.feed.note(change));
    here.bus.broadcast(routesChanged());
    here.bus.broadcast(keysChanged());
    here.bus.broadcast(settingsChanged());
    here.bus.broadcast({ kind: 'webhooks-changed' });
    here.bus.broadcast(accountsChanged());
    here.bus.broadcast(npcTaskChanged({ taskId: 't1' }));
    here.bus.broadcast(servedTaskChanged({ taskId: 't2' }));
    const status = { accountId: 'a', state: 'open' as const, nextAction: '', sinceMs: 0, qr: 'secret' };
    here.bus.broadcast(accountStatus({ status }));
    await clock.advanceMs(50);
    expect(eventsOf(here)).toEqual([
      ...['route', 'key', 'setting', 'webhook', 'account', 'task t1', 'task t2', 'account a'],
    ]);
    expect(here.feed.ring.at(8)?.frame).not.toContain('secret');
  });

  it('ends its streams when the process stops', async () => {
    const { clock, nodes } = setup('n1');
    const [here] = nodes as [Node];
    const stream = reader();
    await here.feed.open(stream);
    here.feed.stop();
    await settle();
    expect(stream.seen.isStopped).toBe(true);
    expect(clock.sleeping).toBe(0);
  });
});
