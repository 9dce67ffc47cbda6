import type { Feature } from '../../feature.ts';
import { agentsApi } from './agents-api.ts';

export const hosting: Feature = {
  name: 'hosting',
  tags: {
    'Hosted agents': 'Agents that wa2ai runs: add, start, stop, talk to, read files and logs, delete.',
  },
  liveEvents: { agent: { scopes: ['agents:manage'], honours: [] } },
  operations: agentsApi,
};
