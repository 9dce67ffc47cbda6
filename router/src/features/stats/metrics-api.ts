import type { AccountControl } from '../../core/ports/account-control.ts';
import { type Endpoint, endpoint } from '../../infra/operations/endpoint.ts';
import type { NodesApiDeps } from '../nodes/nodes-api.ts';
import type { Metrics } from './metrics.ts';

export interface MetricsApiDeps extends NodesApiDeps {
  metrics: Metrics;
  accounts: AccountControl;
}

/**
 * `GET /metrics`. It needs a key if the admin key is set, because it names accounts and shows how busy they are. Prometheus sends
 * the key with `authorization: {credentials: ...}`.
 */
export function metricsApi({ metrics, accounts, nodes }: MetricsApiDeps): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/metrics',
      operationId: 'getMetrics',
      isPolled: true,
      scopes: ['accounts:read'],
      honours: [],
      tag: 'Health',
      summary: 'Metrics for Prometheus',
      responses: { 200: { description: 'Metrics.', contentType: 'text/plain' } },
      handle: async () => {
        const { contentType, text } = await metrics.scrape(accounts, nodes.view());
        return { status: 200, headers: { 'content-type': contentType }, text };
      },
    }),
  ];
}
