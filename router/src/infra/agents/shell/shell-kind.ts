import { agentKind } from '../agent-kind.ts';
import { ShellAgentClient } from './shell-agent-client.ts';
import { shellFindings } from './shell-probe.ts';
import { type ShellSettings, shellProblems, shellSettings } from './shell-settings.ts';
import { shellTools } from './shell-tools.ts';

/** A bash for people: a SWE-ReX runtime in a container. */
export const shellKind = agentKind<ShellSettings>({
  name: 'shell',
  description: 'A shell: the messages of allowed people run as commands in a SWE-ReX runtime.',
  settings: shellSettings,
  check: async (settings) => shellProblems(settings),
  hasNoEndpoint: (settings) => (settings as ShellSettings | undefined)?.image !== undefined,
  isForOneChat: true,
  scopeOf: () => 'agents:manage',
  endpointOf: (agentEndpoint, { image }) => (image === undefined ? agentEndpoint : `shell:${image}`),
  probe: shellFindings,
  tools: shellTools,
  client: (deps) => (settings, route) => new ShellAgentClient(deps, settings, route),
});
