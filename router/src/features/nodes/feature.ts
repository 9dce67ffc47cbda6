import type { Feature } from '../../feature.ts';
import { healthApi } from './health-api.ts';
import { logsApi } from './logs-api.ts';
import { nodesApi } from './nodes-api.ts';

export const nodes: Feature = {
  name: 'nodes',
  operations: (app) => [...nodesApi(app), ...logsApi(app), ...healthApi(app)],
};
