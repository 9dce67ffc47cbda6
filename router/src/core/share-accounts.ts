import type { ClusterView } from './ports/cluster.ts';

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

/** How many nodes should take a free account before this one: those that hold fewer, then those of smaller name. Pure. */
export function placeInLine(view: ClusterView, nodeId: string): number {
  const shares = sharesOf(view);
  const own = shares.get(nodeId) ?? 0;
  let before = 0;
  for (const [other, share] of shares) {
    if (other !== nodeId && (share < own || (share === own && other < nodeId))) before += 1;
  }
  return before;
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
