import { describe, expect, it } from 'vitest';
import { ChatPlacement } from '../../../../router/src/core/cluster/chat-placement.ts';
import type { NodeView } from '../../../../router/src/core/ports/cluster.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

function node(nodeId: string, change: Partial<NodeView> = {}): NodeView {
  const base = { host: '', url: '', version: '', startedAtMs: 0, seenAtMs: 0, turns: 0 };
  return { ...base, nodeId, isDraining: false, isAlive: true, ...change };
}

function setup(nodeId = 'n1') {
  const clock = new FakeClock();
  const placement = new ChatPlacement(nodeId, clock);
  return {
    clock,
    placement,
    see: (...nodes: NodeView[]) => placement.onClusterView({ nodes, accounts: [] }),
  };
}

describe('ChatPlacement', () => {
  it('keeps a chat here unless another node runs clearly fewer turns', () => {
    const { placement, see } = setup();
    expect(placement.nodeForNextChat(1_000)).toBe('n1');
    see(node('n1', { turns: 5 }), node('n2', { turns: 2 }));
    expect(placement.nodeForNextChat(5)).toBe('n1');
    expect(placement.nodeForNextChat(6)).toBe('n2');
  });

  it('counts the chats that it placed until their node reports its turns', () => {
    const { placement, see } = setup();
    see(node('n1'), node('n2', { seenAtMs: 1 }), node('n3', { seenAtMs: 1 }));
    const place = () => {
      const to = placement.nodeForNextChat(10);
      placement.placed(to);
      return to;
    };
    expect(Array.from({ length: 6 }, place)).toEqual(['n2', 'n3', 'n2', 'n3', 'n2', 'n3']);
    see(node('n1'), node('n2', { seenAtMs: 1 }), node('n3', { seenAtMs: 2, turns: 0 }));
    expect(place()).toBe('n3');
  });

  it('places nothing on nodes that drain or are dead, and everything on the idlest when it stops', () => {
    const { placement, see } = setup();
    see(node('n1'), node('n2', { isDraining: true }), node('n3', { isAlive: false }));
    expect(placement.hasOthers).toBe(false);
    expect(placement.nodeForNextChat(100)).toBe('n1');
    see(node('n1'), node('n2', { turns: 50 }));
    expect(placement.nodeForNextChat(0, Number.NEGATIVE_INFINITY)).toBe('n2');
  });

  it('has one coordinator among the live nodes', () => {
    const [first, second] = [setup('n1'), setup('n2')];
    expect([first.placement.isCoordinator, second.placement.isCoordinator]).toEqual([true, true]);
    for (const { see } of [first, second]) see(node('n1'), node('n2'));
    expect([first.placement.isCoordinator, second.placement.isCoordinator]).toEqual([true, false]);
    second.see(node('n1', { isAlive: false }), node('n2'));
    expect(second.placement.isCoordinator).toBe(true);
  });

  it('reports a node that was alive and is not any more, once', () => {
    const { see } = setup();
    expect(see(node('n1'), node('n2'))).toBe(false);
    expect(see(node('n1'), node('n2', { isAlive: false }))).toBe(true);
    expect(see(node('n1'), node('n2', { isAlive: false }))).toBe(false);
  });

  it('counts a node as dead only after a while, and never by a view without this node', async () => {
    const { placement, clock, see } = setup();
    expect(placement.isExpired('n2')).toBe(false);
    await clock.advanceMs(10_000);
    expect(placement.isExpired('n2')).toBe(false);
    see(node('n1'), node('n2', { isAlive: false }));
    expect([placement.isExpired('n1'), placement.isExpired('n2')]).toEqual([false, false]);
    await clock.advanceMs(1_000);
    see(node('n1'), node('n2'));
    expect(placement.isExpired('n2')).toBe(false);
    await clock.advanceMs(500);
    see(node('n1'), node('n2', { isAlive: false }));
    expect(placement.isExpired('n2')).toBe(false);
    await clock.advanceMs(1_500);
    expect(placement.isExpired('n2')).toBe(true);
  });

  it('reports the death of a node once, from which its time counts', async () => {
    const { placement, clock, see } = setup();
    let deaths = 0;
    placement.listen(() => {
      deaths += 1;
    });
    see(node('n1'), node('n2'));
    for (let view = 0; view < 2; view += 1) see(node('n1'), node('n2', { isAlive: false }));
    expect(deaths).toBe(1);
    await clock.advanceMs(1_500);
    expect(placement.isExpired('n2')).toBe(true);
  });
});
