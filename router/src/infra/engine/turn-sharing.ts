import type { ClusterView } from '../../core/ports/cluster.ts';

/** So many more loops than another node has may run here before one is given away: a loop started here starts sooner. */
const MARGIN = 4;
/** For so long a node must be seen dead before its turns are taken over: its connection may have broken and come back. */
const DEAD_FOR_MS = 1_500;

/** A loop to run: a chat and its loop's epoch. */
export interface Loop {
  chatId: string;
  epoch: number;
}

/** Where turn loops run among several nodes, and who looks after what dead nodes left. */
export class TurnSharing {
  readonly #nodeId: string;
  readonly #give: (node: string, loop: Loop) => void;
  readonly #monotonicMs: () => number;
  #view: ClusterView = { nodes: [], accounts: [] };
  /** Loops given to a node since it last told how many it runs. */
  readonly #given = new Map<string, { seenAtMs: number; count: number }>();
  readonly #deadSince = new Map<string, number>();

  /** @param give tells another node to run a loop; it may not hear it */
  constructor(
    nodeId: string,
    give: (node: string, loop: Loop) => void,
    monotonicMs: () => number = () => performance.now(),
  ) {
    this.#nodeId = nodeId;
    this.#give = give;
    this.#monotonicMs = monotonicMs;
  }

  seen(view: ClusterView): void {
    this.#view = view;
    for (const { nodeId, seenAtMs } of view.nodes) {
      if (this.#given.get(nodeId)?.seenAtMs !== seenAtMs) this.#given.set(nodeId, { seenAtMs, count: 0 });
    }
  }

  /** There is a node that can go on with what this one leaves. */
  get hasOthers(): boolean {
    return this.#others().length > 0;
  }

  /** One node alone looks for what was lost: the first by name of those that live. True while none is known. */
  get isLookout(): boolean {
    return this.#others().every(({ nodeId }) => nodeId > this.#nodeId);
  }

  /** Gives the loop to the node with the fewest, if it has clearly fewer. @returns false: it is to run here */
  giveAway(loop: Loop, ownLoops: number, margin: number = MARGIN): boolean {
    const loads = this.#others().map(({ nodeId, turns }) => ({
      nodeId,
      load: turns + (this.#given.get(nodeId)?.count ?? 0),
    }));
    const [idlest] = loads.sort((a, b) => a.load - b.load);
    if (!idlest || ownLoops - idlest.load < margin) return false;
    const given = this.#given.get(idlest.nodeId);
    if (given) given.count += 1;
    this.#give(idlest.nodeId, loop);
    return true;
  }

  /** Those of the given nodes that have been dead for a while, as far as looks at them tell; call it again and again. */
  deadAmong(nodeIds: readonly string[]): string[] {
    const nowMs = this.#monotonicMs();
    const alive = new Set(this.#view.nodes.filter(({ isAlive }) => isAlive).map(({ nodeId }) => nodeId));
    alive.add(this.#nodeId);
    for (const nodeId of this.#deadSince.keys()) {
      if (alive.has(nodeId) || !nodeIds.includes(nodeId)) this.#deadSince.delete(nodeId);
    }
    // Without a look that shows this node itself nothing is known of the others.
    if (!this.#view.nodes.some(({ nodeId, isAlive }) => nodeId === this.#nodeId && isAlive)) return [];
    return nodeIds.filter((nodeId) => {
      if (alive.has(nodeId)) return false;
      const sinceMs = this.#deadSince.get(nodeId) ?? nowMs;
      this.#deadSince.set(nodeId, sinceMs);
      return nowMs - sinceMs >= DEAD_FOR_MS;
    });
  }

  #others() {
    return this.#view.nodes.filter(
      ({ nodeId, isAlive, isDraining }) => nodeId !== this.#nodeId && isAlive && !isDraining,
    );
  }
}
