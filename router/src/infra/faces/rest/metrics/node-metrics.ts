import { Gauge, Registry } from 'prom-client';
import type { ClusterView } from '../../../../core/ports/cluster.ts';

/** Which node runs which account, in the Prometheus format. Every node reports the same, as of its last view. */
export async function nodeMetrics(view: ClusterView): Promise<string> {
  const registry = new Registry();
  const registers = [registry];
  const held = new Gauge({
    name: 'wa2ai_account_lease_epoch',
    help: 'Epoch of the lease under which the node runs the WhatsApp account. It grows each time a node takes the account.',
    labelNames: ['account', 'node'],
    registers,
  });
  const alive = new Gauge({
    name: 'wa2ai_node_alive',
    help: '1 for a node that responds, 0 for a node that does not, or that ended without leaving the cluster.',
    labelNames: ['node'],
    registers,
  });
  const turns = new Gauge({
    name: 'wa2ai_node_turns',
    help: 'Turns running on the node.',
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
