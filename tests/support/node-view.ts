import type { NodeView } from '../../router/src/core/ports/cluster.ts';

/** A running node without turns, as the cluster shows it. */
export function nodeView(nodeId: string, changes: Partial<NodeView> = {}): NodeView {
  return {
    nodeId,
    host: '',
    url: '',
    version: '',
    startedAtMs: 0,
    seenAtMs: 0,
    turns: 0,
    isDraining: false,
    isAlive: true,
    ...changes,
  };
}
