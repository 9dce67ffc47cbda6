import type { NodeId } from '../chat-id.ts';
import type { Clock } from '../clock.ts';
import type { ClusterView, NodeView } from '../ports/cluster.ts';

/** A chat worker starts elsewhere when this node runs so many turns more than another one: starting here is faster. */
const MARGIN = 4;
/** How long a node must look dead before its chats are taken over: its connection may break and come back. */
export const DEAD_FOR_MS = 1_500;

/** Decides which node runs a chat worker, and which nodes are dead, from what this node sees of the others. */
export class ChatPlacement {
  readonly #nodeId: NodeId;
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #view: ClusterView = { nodes: [], accounts: [] };
  /** Chats placed on a node since it last reported its turns. */
  readonly #placed = new Map<NodeId, { seenAtMs: number; count: number }>();
  readonly #deadSince = new Map<NodeId, number>();
  readonly #listeners = new Set<() => void>();

  constructor(nodeId: NodeId, clock: Pick<Clock, 'monotonicMs'>) {
    this.#nodeId = nodeId;
    this.#clock = clock;
  }

  /** Takes a fresh view of the nodes. @returns whether a node has died since the last view */
  onClusterView(view: ClusterView): boolean {
    const before = this.liveNodes;
    this.#view = view;
    for (const { nodeId, seenAtMs } of view.nodes) {
      if (this.#placed.get(nodeId)?.seenAtMs !== seenAtMs) this.#placed.set(nodeId, { seenAtMs, count: 0 });
    }
    const now = new Set(this.liveNodes);
    for (const nodeId of now) this.#deadSince.delete(nodeId);
    const died = before.filter((nodeId) => !now.has(nodeId));
    for (const nodeId of died) this.isExpired(nodeId);
    if (died.length > 0) for (const onDeath of this.#listeners) onDeath();
    return died.length > 0;
  }

  /** Calls `onDeath` when a view shows that a node has died. */
  listen(onDeath: () => void): void {
    this.#listeners.add(onDeath);
  }

  /** Another node can run the chats that this one releases. */
  get hasOthers(): boolean {
    return this.#others().some(({ isDraining }) => !isDraining);
  }

  /** Exactly one node takes over the work of dead nodes: the live one with the smallest name. */
  get isCoordinator(): boolean {
    return this.#others().every(({ nodeId, isDraining }) => isDraining || nodeId > this.#nodeId);
  }

  /** The live nodes, always including this one. */
  get liveNodes(): NodeId[] {
    return [this.#nodeId, ...this.#others().map(({ nodeId }) => nodeId)];
  }

  /**
   * The node that should run one more chat worker: the one with the fewest turns if this node has clearly more.
   * @param ownTurns turns that run here
   * @param margin how many fewer turns the other node must have; `-Infinity` for a node that stops
   */
  nodeForNextChat(ownTurns: number, margin = MARGIN): NodeId {
    const loads = this.#others()
      .filter(({ isDraining }) => !isDraining)
      .map(({ nodeId, turns }) => ({ nodeId, turns: turns + (this.#placed.get(nodeId)?.count ?? 0) }));
    const [idlest] = loads.sort((a, b) => a.turns - b.turns);
    return idlest && ownTurns - idlest.turns >= margin ? idlest.nodeId : this.#nodeId;
  }

  /** A chat was claimed for this node: it counts until the node reports its turns. */
  placed(nodeId: NodeId): void {
    const placed = this.#placed.get(nodeId);
    if (placed) placed.count += 1;
  }

  /** Whether a node has been dead for a while. Call it repeatedly: the time starts with the view that
   * shows its death, or with the first call. */
  isExpired(nodeId: NodeId): boolean {
    // Right after a failover the database knows no node's connection yet, not even this one's.
    if (!this.#seesItself() || this.liveNodes.includes(nodeId)) return false;
    const nowMs = this.#clock.monotonicMs();
    const sinceMs = this.#deadSince.get(nodeId) ?? nowMs;
    this.#deadSince.set(nodeId, sinceMs);
    return nowMs - sinceMs >= DEAD_FOR_MS;
  }

  #seesItself(): boolean {
    return this.#view.nodes.some(({ nodeId, isAlive }) => nodeId === this.#nodeId && isAlive);
  }

  #others(): NodeView[] {
    return this.#view.nodes.filter(({ nodeId, isAlive }) => nodeId !== this.#nodeId && isAlive);
  }
}
