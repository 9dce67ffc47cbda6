import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAgent } from '../../examples/agents/chat-node/agent.js';
import { AgentHost } from '../../router/src/core/hosting/agent-host.ts';
import { HostedAgents } from '../../router/src/core/hosting/hosted-agents.ts';
import type { Logger } from '../../router/src/core/logger.ts';
import { AgentFolders } from '../../router/src/features/hosting/agent-folders.ts';
import { DockerRuntime } from '../../router/src/features/hosting/docker-runtime.ts';
import { HttpAgentProbe } from '../../router/src/features/hosting/process-runtime.ts';
import { HostedTalk } from '../../router/src/infra/agents/hosted/hosted-talk.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { MemoryAgentRegistry } from '../doubles/memory-agent-registry.ts';
import { type FakeProgram, MemoryContainerEngine } from '../doubles/memory-container-engine.ts';
import { quietLog } from './quiet-log.ts';

/** The image that runs examples/agents/chat-node. */
export const CHAT_IMAGE = 'chat-node:test';

/** Its program, for the double of a container engine. */
export const chatProgram: FakeProgram = ({ env, command, hostPath, print, exit }) => {
  if (command[0] === 'fail') {
    print('cannot start');
    exit(3);
    return undefined;
  }
  print('agent listens on port 8080');
  const token = readFileSync(hostPath(env.AGENT_TOKEN_FILE ?? '') ?? '', 'utf8');
  return createAgent({ dataDir: hostPath('/data') ?? '', token });
};

/** Hosted agents whose containers are HTTP servers of this process, and their data. */
export class HostedAgentsOnDouble {
  readonly folder = join(tmpdir(), `wa2ai-agents-${randomBytes(6).toString('hex')}`);
  readonly engine = new MemoryContainerEngine();
  readonly registry = new MemoryAgentRegistry();
  readonly host: AgentHost;
  readonly agents: HostedAgents;
  /** Nodes that run; this one is `n1`. */
  liveNodes: string[] = ['n1'];

  constructor(log: Logger = quietLog) {
    this.engine.images.set(CHAT_IMAGE, { id: 'image-1', program: chatProgram });
    const nodeId = 'n1';
    const runtime = new DockerRuntime({ engine: this.engine, hostId: nodeId, user: '1000:1000' });
    const common = { nodeId, registry: this.registry, files: new AgentFolders(this.folder) };
    this.host = new AgentHost({
      ...common,
      ...{ clock: systemClock, log, probe: new HttpAgentProbe() },
      runtimes: { docker: runtime, process: runtime },
      limits: { maxRunning: 30, maxBytes: 64 * 1024 * 1024, startMs: 60_000 },
      stopsOnExit: true,
      nodes: { liveNodes: () => this.liveNodes, isExpired: () => true },
    });
    const transport = new AgentTransport();
    this.agents = new HostedAgents({
      ...{ ...common, host: this.host, clock: systemClock, log, liveNodes: () => this.liveNodes },
      talk: new HostedTalk({ defaultTimeoutMs: () => 30_000, log, clock: systemClock, transport }),
    });
  }

  async close(): Promise<void> {
    await this.agents.close();
    await this.host.close();
    await rm(this.folder, { recursive: true, force: true });
  }
}
