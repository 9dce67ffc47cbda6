import type { Feature } from '../../feature.ts';
import { secretText } from '../../infra/db/encryption/secret-columns.ts';
import { agentsApi } from './agents-api.ts';
import { HOSTED_AGENT_CONTEXT } from './postgres-agent-registry.ts';

export const hosting: Feature = {
  name: 'hosting',
  tags: {
    'Hosted agents': 'Agents that wa2ai runs: add, start, stop, talk to, read files and logs, delete.',
  },
  secrets: [secretText({ table: 'hosted_agent', column: 'settings', context: HOSTED_AGENT_CONTEXT })],
  liveEvents: { agent: { scopes: ['agents:manage'], honours: [] } },
  operations: agentsApi,
};
