import { describe, expect, it } from 'vitest';
import { accountToGive, ranksOf, sharesOf } from '../../../../router/src/core/cluster/lease-manager.ts';
import type { AccountView, ClusterView, NodeView } from '../../../../router/src/core/ports/cluster.ts';

function node(nodeId: string, change: Partial<NodeView> = {}): NodeView {
  const base = { host: '', url: '', version: '', startedAtMs: 0, seenAtMs: 0, turns: 0 };
  return { ...base, nodeId, isDraining: false, isAlive: true, ...change };
}

function account(
  accountId: string,
  nodeId?: string,
  availability?: AccountView['availability'],
): AccountView {
  return {
    accountId,
    record: { state: 'open' },
    changedAtMs: 0,
    ...(nodeId && { owner: { nodeId, epoch: 1n } }),
    availability: availability ?? (nodeId ? 'owned' : 'free'),
  };
}

describe('free accounts', () => {
  it('are assigned to the node with the fewest accounts, one after the other', () => {
    const view: ClusterView = {
      nodes: [node('n1'), node('n2'), node('n3')],
      accounts: [account('a', 'n1'), account('b'), account('c'), account('d')],
    };
    const places = ['n1', 'n2', 'n3'].map((nodeId) => Object.fromEntries(ranksOf(view, nodeId)));
    expect(places).toEqual([
      { b: 2, c: 1, d: 0 },
      { b: 0, c: 2, d: 1 },
      { b: 1, c: 0, d: 2 },
    ]);
  });

  it('are not assigned to a node that drains, hangs or is dead', () => {
    const view: ClusterView = {
      nodes: [node('n1', { isDraining: true }), node('n2', { isAlive: false }), node('n3')],
      accounts: [account('a', 'n2', 'dead-owner'), account('b', 'n3')],
    };
    expect(ranksOf(view, 'n3').get('a')).toBe(0);
    expect(sharesOf(view)).toEqual(new Map([['n3', 1]]));
  });
});

describe('an account moves', () => {
  const held = (shares: Record<string, number>) =>
    Object.entries(shares).flatMap(([nodeId, count]) =>
      Array.from({ length: count }, (_, index) => account(`${nodeId}-${index}`, nodeId)),
    );
  const giverOf = (nodes: NodeView[], accounts: AccountView[]) =>
    nodes.map(({ nodeId }) => accountToGive({ nodes, accounts }, nodeId)).filter(Boolean);

  it('from the fullest node when another has two fewer, one at a time', () => {
    const nodes = [node('n1'), node('n2'), node('n3')];
    expect(giverOf(nodes, held({ n1: 3, n2: 3, n3: 1 }))).toEqual(['n1-0']);
    expect(giverOf(nodes, held({ n1: 2, n2: 1, n3: 1 }))).toEqual([]);
  });

  it('never while another one is on its way, nor to a node that drains', () => {
    expect(giverOf([node('n1'), node('n2')], [...held({ n1: 4 }), account('x')])).toEqual([]);
    expect(giverOf([node('n1'), node('n2', { isDraining: true })], held({ n1: 4 }))).toEqual([]);
  });

  it('until the accounts are even, and then no more, from any start', () => {
    const nodes = [node('n1'), node('n2'), node('n3'), node('n4')];
    const accounts = held({ n1: 11 });
    for (let moves = 0; ; moves++) {
      expect(moves).toBeLessThan(20);
      const view = { nodes, accounts };
      const given = nodes.map(({ nodeId }) => accountToGive(view, nodeId)).find(Boolean);
      if (!given) break;
      const row = accounts.find(({ accountId }) => accountId === given) as AccountView;
      Object.assign(row, { owner: undefined, availability: 'free' });
      const taker = nodes.find(({ nodeId }) => ranksOf(view, nodeId).get(given) === 0) as NodeView;
      Object.assign(row, { owner: { nodeId: taker.nodeId, epoch: 2n }, availability: 'owned' });
    }
    expect([...sharesOf({ nodes, accounts }).values()].sort()).toEqual([2, 3, 3, 3]);
  });
});
