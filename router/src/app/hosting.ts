import { join, relative, resolve } from 'node:path';
import type { Config } from '../config/config.ts';
import { AgentHost } from '../core/hosting/agent-host.ts';
import { type AgentCalls, AgentsOfNodes } from '../core/hosting/agents-of-nodes.ts';
import { HostedAgents } from '../core/hosting/hosted-agents.ts';
import type { Logger } from '../core/logger.ts';
import type { AgentRegistry, AgentTalk } from '../core/ports/agent-registry.ts';
import type { AgentFiles, AgentRuntime } from '../core/ports/agent-runtime.ts';
import { AgentFolders } from '../features/hosting/agent-folders.ts';
import type { ContainerEngine } from '../features/hosting/container-engine.ts';
import { DockerEngine } from '../features/hosting/docker-engine.ts';
import { DockerRuntime } from '../features/hosting/docker-runtime.ts';
import { PostgresAgentRegistry } from '../features/hosting/postgres-agent-registry.ts';
import { HttpAgentProbe, ProcessRuntime } from '../features/hosting/process-runtime.ts';
import { systemClock } from '../infra/clock/system-clock.ts';
import type { ClusterParts } from './cluster.ts';
import type { DatabaseParts, Part } from './database.ts';

/** The user of agents when wa2ai runs as root. */
const AGENT_USER = '1000:1000';

export interface HostingParts {
  /** The agents that this node runs. */
  hosting: AgentHost;
  engine: ContainerEngine;
  agentRegistry: AgentRegistry;
  agentFiles: AgentFiles;
  runtimes: { docker: AgentRuntime; process: AgentRuntime };
}

/** The parts that run agents on this node. The engine is used from the first agent on. */
export function createHosting(
  config: Config,
  { postgres, nodeId, placement }: DatabaseParts & ClusterParts,
  parentLog: Logger,
): Part<HostingParts> {
  const log = parentLog.child({ mod: 'hosting' });
  const { hosting: settings } = config;
  const dataDir = resolve(config.dataDir);
  const engine = new DockerEngine({
    ...(settings.engine !== undefined && { address: settings.engine }),
    ...(settings.ownContainer !== undefined && { ownContainer: settings.ownContainer }),
    ...(settings.selinux !== 'none' && { selinuxLabel: settings.selinux }),
    subnetPrefix: settings.subnet,
  });
  const user = userOfAgents();
  const runtimes = {
    docker: new DockerRuntime({
      ...{ engine, hostId: nodeId, user, folder: dataDir, allowedNetworks: settings.networks },
      hostPathOf: (path) =>
        settings.hostDir === undefined ? path : join(settings.hostDir, relative(dataDir, path)),
    }),
    process: new ProcessRuntime({
      isAllowed: settings.processes,
      folder: join(dataDir, 'agent-processes'),
      hostId: nodeId,
      clock: systemClock,
    }),
  };
  const agentRegistry = new PostgresAgentRegistry(postgres);
  const agentFiles = new AgentFolders(dataDir);
  const hosting = new AgentHost({
    ...{ nodeId, runtimes, registry: agentRegistry, files: agentFiles, probe: new HttpAgentProbe() },
    ...{
      clock: systemClock,
      log,
      stopsOnExit: settings.stopsOnExit,
      nodes: placementView(placement),
    },
    limits: {
      maxRunning: settings.maxRunning,
      maxBytes: settings.diskBytes,
      startMs: settings.startMs,
    },
  });
  return {
    parts: { hosting, engine, agentRegistry, agentFiles, runtimes },
    start: () => hosting.open(),
    stop: () => hosting.close(),
  };
}

export interface HostedAgentsParts {
  /** What programs do with agents. The API, which it serves, closes it. */
  hostedAgents: AgentCalls;
}

export function createHostedAgents(
  {
    nodeId,
    placement,
    calls,
    hosting,
    agentRegistry,
    agentFiles,
    agentTalk,
  }: DatabaseParts & ClusterParts & HostingParts & { agentTalk: AgentTalk },
  parentLog: Logger,
): HostedAgentsParts {
  const own = new HostedAgents({
    ...{ nodeId, host: hosting, registry: agentRegistry, files: agentFiles, talk: agentTalk },
    ...{ clock: systemClock, log: parentLog.child({ mod: 'hosting' }) },
    liveNodes: () => placement.liveNodes,
  });
  return { hostedAgents: new AgentsOfNodes(own, calls) };
}

function placementView(placement: ClusterParts['placement']) {
  return {
    liveNodes: () => placement.liveNodes,
    isExpired: (nodeId: string) => placement.isExpired(nodeId),
  };
}

/** Programs in containers are never root: they run as the user of wa2ai, or as another one when that is root. */
function userOfAgents(): string {
  const uid = process.getuid?.() ?? 0;
  return uid === 0 ? AGENT_USER : `${uid}:${process.getgid?.() ?? uid}`;
}
