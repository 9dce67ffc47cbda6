import {
  NodeBus,
  type NodeTransport,
  type NodeTransportEvents,
} from '../../router/src/core/cluster/node-bus.ts';

/** Carries node messages between the nodes of one test, through JSON as PostgreSQL does. */
export class MemoryNodeHub {
  /** Everything published, as JSON. */
  readonly published: string[] = [];
  /** Messages are lost while it is set. */
  isMute = false;
  readonly #nodes: NodeTransportEvents[] = [];

  /** The bus of another node. */
  connect(nodeId: string): NodeBus {
    return new NodeBus<NodeTransport>(nodeId, (events) => {
      this.#nodes.push(events);
      return {
        publish: (payload) => {
          const json = JSON.stringify(payload);
          this.published.push(json);
          if (this.isMute) return;
          for (const node of this.#nodes) node.onMessage(JSON.parse(json));
        },
      };
    });
  }
}
