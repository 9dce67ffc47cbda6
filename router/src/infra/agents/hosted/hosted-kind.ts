import { agentKind } from '../agent-kind.ts';
import { HostedAgentClient } from './hosted-agent-client.ts';
import { type HostedSettings, hostedProblems, hostedSettings } from './hosted-settings.ts';

/** Agents that wa2ai itself runs, in containers or as processes, and wakes when a message comes. */
export const hostedKind = agentKind<HostedSettings>({
  name: 'hosted',
  description: 'An agent that wa2ai runs in a container, and wakes when a message comes.',
  settings: hostedSettings,
  hasNoEndpoint: () => true,
  scopeOf: ({ runtime }) => (runtime === 'process' ? 'admin' : 'agents:manage'),
  check: async (settings) => hostedProblems(settings),
  // compared by settings of routes only: requests go to the address of the agent of each message
  endpointOf: (_, { image, command = [] }) => `hosted:${[image, ...command].join(' ').trim()}`,
  client: (deps) => (settings, route) => new HostedAgentClient({ ...deps, settings, route }),
});
