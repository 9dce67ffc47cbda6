import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import type { AgentSpec } from '../../router/src/core/hosting/agent-life.ts';
import { DockerRuntime } from '../../router/src/features/hosting/docker-runtime.ts';
import { ProcessRuntime } from '../../router/src/features/hosting/process-runtime.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { MemoryContainerEngine } from '../doubles/memory-container-engine.ts';
import { agentHostSuite } from '../support/agent-host-suite.ts';
import { CHAT_IMAGE, chatProgram } from '../support/hosted-agents.ts';
import { repositoryRoot } from '../support/repository.ts';

const SERVER = join(repositoryRoot, 'examples/agents/chat-node/server.js');

agentHostSuite('processes', async (folder, hostId) => {
  const runtime = new ProcessRuntime({
    isAllowed: true,
    folder: join(folder, 'agent-processes'),
    hostId,
    clock: systemClock,
  });
  return {
    runtime,
    spec: { runtime: 'process', command: [process.execPath, SERVER] },
    failing: { command: [process.execPath, '-e', 'console.log("cannot start"); process.exit(3)'] },
    crash: async (agentId) => {
      const instance = await runtime.inspect(agentId);
      process.kill(-Number(instance?.id), 'SIGKILL');
    },
    hasNewPorts: false,
  };
});

agentHostSuite('the double of a container engine', async (_, hostId) => {
  const engine = new MemoryContainerEngine();
  engine.images.set(CHAT_IMAGE, { id: 'image-1', program: chatProgram });
  const runtime = new DockerRuntime({ engine, hostId, user: '1000:1000' });
  return {
    runtime,
    spec: { runtime: 'docker', image: CHAT_IMAGE },
    failing: { command: ['fail'] },
    crash: async () => engine.crash(),
    hasNewPorts: true,
  };
});

it('makes the network of an agent again when it is removed before the container is created', async () => {
  const engine = new MemoryContainerEngine();
  engine.images.set(CHAT_IMAGE, { id: 'image-1', program: chatProgram });
  const runtime = new DockerRuntime({ engine, hostId: 'host-1', user: '1000:1000' });
  // there when it is looked for, and removed at once
  vi.spyOn(engine, 'ensureNetwork').mockResolvedValueOnce();
  const spec: AgentSpec = {
    ...{ runtime: 'docker', profile: 'chat', image: CHAT_IMAGE, port: 8080, env: {}, memoryMb: 256 },
    ...{ cpus: 1, pids: 64, network: 'internet', pull: 'missing' },
  };
  vi.spyOn(engine, 'hasPath').mockResolvedValue(true);
  await runtime.create({ agentId: 'agent-1', spec, idleMs: 1_000 }, { folder: '/a', tokenFile: '/t' });
  await expect(runtime.inspect('agent-1')).resolves.toMatchObject({ state: 'created' });
});
