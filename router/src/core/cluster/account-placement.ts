import type { ClusterView } from '../ports/cluster.ts';

/** How long a process must look dead before its accounts are taken: its connection may break and come back. */
export const DEAD_FOR_MS = 300;
/** Each node with fewer accounts gets this long to take a free one first. */
export const RANK_DELAY_MS = 250;

/** The number of WhatsApp accounts of each live node that does not drain. */
export function sharesOf(view: ClusterView): Map<string, number> {
  const shares = new Map<string, number>();
  for (const node of view.nodes) if (node.isAlive && !node.isDraining) shares.set(node.nodeId, 0);
  for (const { owner, availability, provider } of view.accounts) {
    if (provider) continue;
    const share = owner && availability === 'owned' ? shares.get(owner.nodeId) : undefined;
    if (owner && share !== undefined) shares.set(owner.nodeId, share + 1);
  }
  return shares;
}

/**
 * For each account that can be taken, the rank of this node: how many nodes should take it first. Nodes with fewer accounts
 * come first, then those with smaller names; each account counts for the node of rank 0. Pure.
 */
export function ranksOf(view: ClusterView, nodeId: string): Map<string, number> {
  const shares = sharesOf(view);
  const ranks = new Map<string, number>();
  for (const { accountId, availability, provider } of view.accounts) {
    if (availability === 'owned') continue;
    const order = [...shares].sort(([a, m], [b, n]) => m - n || (a < b ? -1 : 1)).map(([node]) => node);
    ranks.set(accountId, Math.max(0, order.indexOf(nodeId)));
    const first = order[0];
    if (first !== undefined && !provider) shares.set(first, (shares.get(first) ?? 0) + 1);
  }
  return ranks;
}

/**
 * An account that this node should release so that a node with fewer takes it; undefined when the shares are even or an
 * account has no node yet. Only the node with the most accounts releases one, so that one moves at a time. Pure.
 */
export function accountToGive(view: ClusterView, nodeId: string): string | undefined {
  if (view.accounts.some(({ availability }) => availability !== 'owned')) return undefined;
  const shares = sharesOf(view);
  const own = shares.get(nodeId) ?? 0;
  const fewest = Math.min(...shares.values());
  const isFullest = [...shares].every(([other, share]) => share < own || (share === own && other >= nodeId));
  if (!isFullest || own - fewest < 2) return undefined;
  return view.accounts.find(({ owner, provider }) => owner?.nodeId === nodeId && !provider)?.accountId;
}
