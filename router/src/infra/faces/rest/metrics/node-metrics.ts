import { Gauge, Registry } from 'prom-client';
import type { ClusterView } from '../../../../core/ports/cluster.ts';

/**
 * Who holds what, as one node sees it, in the Prometheus format; the same on every node but for the moment of the look.
 */
export async function nodeMetrics(view: ClusterView): Promise<string> {
  const registry = new Registry();
  const registers = [registry];
  const held = new Gauge({
    name: 'wa2ai_account_held',
    help: 'Epoch of the lease under which the node holds the WhatsApp account; it grows with each change of hands.',
    labelNames: ['account', 'node'],
    registers,
  });
  const alive = new Gauge({
    name: 'wa2ai_node_alive',
    help: '1 for a node that lives, 0 for one that hangs or ended without leaving.',
    labelNames: ['node'],
    registers,
  });
  const turns = new Gauge({
    name: 'wa2ai_node_turns',
    help: 'Turns under way on the node.',
    labelNames: ['node'],
    registers,
  });
  for (const node of view.nodes) {
    alive.set({ node: node.nodeId }, Number(node.isAlive));
    turns.set({ node: node.nodeId }, node.isAlive ? node.turns : 0);
  }
  for (const { accountId, holder, availability } of view.accounts) {
    if (availability === 'held' && holder) {
      held.set({ account: accountId, node: holder.nodeId }, Number(holder.epoch));
    }
  }
  return registry.metrics();
}
