import { z } from 'zod';
import { mayUseAccount, RESTRICTIONS } from '../../core/access/caller.ts';
import type { ClusterView } from '../../core/ports/cluster.ts';
import type { App, Feature } from '../../feature.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import { listResponse, shown, timeView } from '../../infra/operations/fields.ts';
import { healthApi } from './health-api.ts';
import { logsApi } from './logs-api.ts';

export const nodes: Feature = {
  name: 'nodes',
  tags: { Nodes: 'The processes that share this database.' },
  operations: (app) => [...nodesApi(app), ...logsApi(app), ...healthApi(app)],
};

const nodeView = z
  .object({
    nodeId: z.string(),
    isSelf: z.boolean().describe('The node that responds.'),
    state: z
      .enum(['alive', 'draining', 'gone'])
      .describe(
        '`draining`: releases its accounts and stops. `gone`: does not respond, or ended without leaving the cluster.',
      ),
    host: z.string(),
    url: z.string().describe('Address of its API, as the node itself sees it.'),
    version: z.string(),
    startedAt: timeView,
    seenAt: timeView,
    turns: z.int().describe('Number of chats whose turns run on it.'),
    accounts: z
      .array(z.object({ accountId: z.string(), epoch: z.string() }))
      .describe('Accounts that it runs, with the epoch of the lease.'),
  })
  .meta({ id: 'Node' });

/** The nodes on this database and the accounts that each runs: `/api/nodes`. */
export function nodesApi({ nodes }: App): Endpoint[] {
  return [
    endpoint({
      tag: 'Nodes',
      method: 'get',
      path: '/api/nodes',
      operationId: 'listNodes',
      isPolled: true,
      scopes: ['accounts:read'],
      honours: RESTRICTIONS,
      summary: 'List nodes with the accounts and turns that they run',
      responses: {
        200: { description: 'The nodes, as of less than a second ago.', schema: listResponse(nodeView) },
      },
      handle: ({ caller }) => {
        const { nodes: all, accounts } = nodes.view();
        const allowed = accounts.filter(({ accountId }) => mayUseAccount(caller, accountId));
        const data = nodeViews(nodes.nodeId, { nodes: all, accounts: allowed });
        return { status: 200, json: { success: true, data, count: data.length } };
      },
    }),
  ];
}

function nodeViews(ownId: string, view: Pick<ClusterView, 'nodes' | 'accounts'>) {
  return view.nodes.map((node) =>
    shown(nodeView, {
      ...node,
      isSelf: node.nodeId === ownId,
      state: node.isAlive ? (node.isDraining ? 'draining' : 'alive') : 'gone',
      startedAt: node.startedAtMs,
      seenAt: node.seenAtMs,
      accounts: view.accounts.flatMap(({ accountId, owner, availability }) =>
        availability === 'owned' && owner?.nodeId === node.nodeId ? [{ accountId, epoch: owner.epoch }] : [],
      ),
    }),
  );
}
