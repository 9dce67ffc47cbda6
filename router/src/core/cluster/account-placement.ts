import type { ClusterView } from '../ports/cluster.ts';

/** How long a dead process is looked at before its accounts are taken: a broken connection may come back. */
export const DEAD_FOR_MS = 300;
/** Each node that holds fewer accounts gets this long to take a free one first. */
export const COURTESY_MS = 250;

/** How many accounts each node that takes part holds; nodes that drain, hang or are gone do not. */
export function sharesOf(view: ClusterView): Map<string, number> {
  const shares = new Map<string, number>();
  for (const node of view.nodes) if (node.isAlive && !node.isDraining) shares.set(node.nodeId, 0);
  for (const { holder, availability } of view.accounts) {
    const share = holder && availability === 'held' ? shares.get(holder.nodeId) : undefined;
    if (holder && share !== undefined) shares.set(holder.nodeId, share + 1);
  }
  return shares;
}

/**
 * For each account that may be taken, how many nodes should take it before this one: those that hold fewer, then those
 * of smaller name, each account counted for the node it falls to. Pure.
 */
export function placesInLine(view: ClusterView, nodeId: string): Map<string, number> {
  const shares = sharesOf(view);
  const places = new Map<string, number>();
  for (const { accountId, availability } of view.accounts) {
    if (availability === 'held') continue;
    const line = [...shares].sort(([a, m], [b, n]) => m - n || (a < b ? -1 : 1)).map(([node]) => node);
    places.set(accountId, Math.max(0, line.indexOf(nodeId)));
    const first = line[0];
    if (first !== undefined) shares.set(first, (shares.get(first) ?? 0) + 1);
  }
  return places;
}

/**
 * An account that this node should give up so that a node with fewer gets it; undefined when the shares are even, or
 * something is still on its way. Only the fullest node gives, so that one account moves at a time. Pure.
 */
export function accountToGive(view: ClusterView, nodeId: string): string | undefined {
  if (view.accounts.some(({ availability }) => availability !== 'held')) return undefined;
  const shares = sharesOf(view);
  const own = shares.get(nodeId) ?? 0;
  const fewest = Math.min(...shares.values());
  const isFullest = [...shares].every(([other, share]) => share < own || (share === own && other >= nodeId));
  if (!isFullest || own - fewest < 2) return undefined;
  return view.accounts.find(({ holder }) => holder?.nodeId === nodeId)?.accountId;
}
