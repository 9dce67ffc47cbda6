import { join } from 'node:path';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { DockerRuntime } from '../../router/src/infra/hosting/docker/docker-runtime.ts';
import { ProcessRuntime } from '../../router/src/infra/hosting/process/process-runtime.ts';
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
