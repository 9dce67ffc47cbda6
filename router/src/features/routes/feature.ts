import type { Feature } from '../../feature.ts';
import { explainApi } from './explain-api.ts';
import { agentKindsApi, inspectAgentApi } from './inspect-agent-api.ts';
import { routeFilesApi } from './route-files-api.ts';
import { routeHistoryApi } from './route-history-api.ts';
import { routeOrderApi } from './route-order-api.ts';
import { routesApi } from './routes-api.ts';

export const routes: Feature = {
  name: 'routes',
  operations: (app) => [
    ...explainApi(app),
    ...inspectAgentApi(app),
    ...routeHistoryApi(app),
    ...routeFilesApi(app),
    ...routeOrderApi(app),
    ...routesApi(app),
    ...agentKindsApi(app),
  ],
};
