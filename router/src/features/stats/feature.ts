import type { Feature } from '../../feature.ts';
import { forgetOldStats } from './postgres-stats.ts';
import { metricsApi, statsApi } from './stats-api.ts';

export const stats: Feature = {
  name: 'stats',
  operations: (app) => [...statsApi(app), ...metricsApi(app)],
  retention: { always: [forgetOldStats] },
};
