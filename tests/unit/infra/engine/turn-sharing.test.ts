import { expect, it } from 'vitest';
import type { NodeView } from '../../../../router/src/core/ports/cluster.ts';
import { TurnSharing } from '../../../../router/src/infra/engine/turn-sharing.ts';

function node(nodeId: string, change: Partial<NodeView> = {}): NodeView {
  const base = { host: '', url: '', version: '', startedAtMs: 0, seenAtMs: 0, turns: 0 };
  return { ...base, nodeId, isDraining: false, isAlive: true, ...change };
}

function sharing(nodeId = 'n1') {
  const given: string[] = [];
  const time = { ms: 0 };
  const shared = new TurnSharing(
    nodeId,
    (to) => given.push(to),
    () => time.ms,
  );
  const see = (...nodes: NodeView[]) => shared.seen({ nodes, accounts: [] });
  return { shared, given, time, see };
}

const loop = { chatId: '1', epoch: 1 };

it('keeps a loop unless another node has clearly fewer', () => {
  const { shared, given, see } = sharing();
  expect(shared.giveAway(loop, 1_000)).toBe(false);
  see(node('n1', { turns: 5 }), node('n2', { turns: 2 }));
  expect(shared.giveAway(loop, 5)).toBe(false);
  expect(shared.giveAway(loop, 6)).toBe(true);
  expect(given).toEqual(['n2']);
});

it('counts what it gave until the node tells how many it runs', () => {
  const { shared, given, see } = sharing();
  see(node('n1'), node('n2', { seenAtMs: 1 }), node('n3', { seenAtMs: 1 }));
  for (let i = 0; i < 6; i++) shared.giveAway(loop, 10);
  expect(given).toEqual(['n2', 'n3', 'n2', 'n3', 'n2', 'n3']);
  see(node('n1'), node('n2', { seenAtMs: 1 }), node('n3', { seenAtMs: 2, turns: 0 }));
  shared.giveAway(loop, 10);
  expect(given.at(-1)).toBe('n3');
});

it('gives nothing to nodes that drain or are gone, and everything to the idlest when it leaves', () => {
  const { shared, given, see } = sharing();
  see(node('n1'), node('n2', { isDraining: true }), node('n3', { isAlive: false }));
  expect(shared.hasOthers).toBe(false);
  expect(shared.giveAway(loop, 100)).toBe(false);
  see(node('n1'), node('n2', { turns: 50 }));
  expect(shared.giveAway(loop, 0, Number.NEGATIVE_INFINITY)).toBe(true);
  expect(given).toEqual(['n2']);
});

it('has one lookout among those that live', () => {
  const [first, second] = [sharing('n1'), sharing('n2')];
  expect([first.shared.isLookout, second.shared.isLookout]).toEqual([true, true]);
  for (const { see } of [first, second]) see(node('n1'), node('n2'));
  expect([first.shared.isLookout, second.shared.isLookout]).toEqual([true, false]);
  second.see(node('n1', { isAlive: false }), node('n2'));
  expect(second.shared.isLookout).toBe(true);
});

it('takes a node for dead only when it stays so for a while, and never by a look that does not show itself', () => {
  const { shared, time, see } = sharing();
  time.ms = 10_000;
  expect(shared.deadAmong(['n2'])).toEqual([]);
  see(node('n1'), node('n2', { isAlive: false }));
  expect(shared.deadAmong(['n1', 'n2', 'old'])).toEqual([]);
  time.ms += 1_000;
  see(node('n1'), node('n2'));
  expect(shared.deadAmong(['n1', 'n2', 'old'])).toEqual([]);
  time.ms += 500;
  expect(shared.deadAmong(['n1', 'n2', 'old'])).toEqual(['old']);
  see(node('n1'), node('n2', { isAlive: false }));
  expect(shared.deadAmong(['n2'])).toEqual([]);
  time.ms += 1_500;
  expect(shared.deadAmong(['n2'])).toEqual(['n2']);
});
