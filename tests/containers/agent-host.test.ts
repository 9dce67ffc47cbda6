import { DockerEngine } from '../../router/src/features/hosting/docker-engine.ts';
import { DockerRuntime } from '../../router/src/features/hosting/docker-runtime.ts';
import { agentHostSuite } from '../support/agent-host-suite.ts';
import { engineUnderTest } from './engine-under-test.ts';

const { kind, address } = engineUnderTest();

agentHostSuite(kind, async (_, hostId) => {
  const engine = new DockerEngine({ address });
  const runtime = new DockerRuntime({ engine, hostId, user: '1000:1000' });
  return {
    runtime,
    spec: { runtime: 'docker', image: 'chat-node:test' },
    failing: { command: ['node', '-e', 'console.log("cannot start"); process.exit(3)'] },
    crash: async (agentId) => {
      const instance = await runtime.inspect(agentId);
      await engine.stop(instance?.id ?? '', 0);
    },
    // podman keeps the port that it chose.
    hasNewPorts: kind === 'docker',
  };
});
