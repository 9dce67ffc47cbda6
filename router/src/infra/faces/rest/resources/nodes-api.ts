import { z } from 'zod';
import type { ClusterView } from '../../../../core/ports/cluster.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { listResponse, timeView } from '../fields.ts';

export interface NodesApiDeps {
  nodes: {
    /** This node's name. */
    nodeId: string;
    /** What it saw last of all nodes and accounts. */
    view(): ClusterView;
  };
}

const nodeView = z
  .object({
    nodeId: z.string(),
    isSelf: z.boolean().describe('It is the one that answers.'),
    state: z
      .enum(['alive', 'draining', 'gone'])
      .describe(
        '`draining` gives its accounts away and stops; `gone` does not answer, or ended without leaving.',
      ),
    host: z.string(),
    url: z.string().describe('Where its API listens, as it sees itself.'),
    version: z.string(),
    startedAt: timeView,
    seenAt: timeView,
    turns: z.int().describe('Chats whose turns run on it.'),
    accounts: z.array(z.object({ accountId: z.string(), epoch: z.string() })).describe('Accounts it holds.'),
  })
  .meta({ id: 'Node' });

/** The nodes on this database and who holds what: `/api/nodes`. */
export function nodesApi({ nodes }: NodesApiDeps): Endpoint[] {
  return [
    endpoint({
      tag: 'Nodes',
      method: 'get',
      path: '/api/nodes',
      operationId: 'listNodes',
      summary: 'List nodes, the accounts they hold and the turns they run',
      responses: {
        200: { description: 'The nodes, as seen less than a second ago.', schema: listResponse(nodeView) },
      },
      handle: () => {
        const data = nodeViews(nodes.nodeId, nodes.view());
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
  ];
}

function nodeViews(ownId: string, view: ClusterView): Array<z.input<typeof nodeView>> {
  return view.nodes.map(({ startedAtMs, seenAtMs, isAlive, isDraining, ...node }) => ({
    nodeId: node.nodeId,
    isSelf: node.nodeId === ownId,
    state: isAlive ? (isDraining ? 'draining' : 'alive') : 'gone',
    host: node.host,
    url: node.url,
    version: node.version,
    startedAt: new Date(startedAtMs).toISOString(),
    seenAt: new Date(seenAtMs).toISOString(),
    turns: node.turns,
    accounts: view.accounts.flatMap(({ accountId, holder, availability }) =>
      availability === 'held' && holder?.nodeId === node.nodeId
        ? [{ accountId, epoch: String(holder.epoch) }]
        : [],
    ),
  }));
}
