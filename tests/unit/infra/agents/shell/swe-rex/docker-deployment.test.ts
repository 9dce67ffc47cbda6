import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import type { AgentHost } from '../../../../../../router/src/core/hosting/agent-host.ts';
import type { HostedAgent } from '../../../../../../router/src/core/hosting/agent-life.ts';
import { DockerDeployment } from '../../../../../../router/src/infra/agents/shell/swe-rex/remote-runtime.ts';
import { AgentTransport } from '../../../../../../router/src/infra/agents/transport/agent-transport.ts';
import { FakeClock } from '../../../../../support/fake-clock.ts';
import { type RunningRuntime, startRuntime } from '../../../../../support/shell-runtime.ts';

function setup(running: { url: string; token: string }) {
  const calls: Array<[string, unknown]> = [];
  const host: Pick<AgentHost, 'use' | 'stop'> = {
    use: async (agent, work, options) => {
      calls.push(['use', agent]);
      await options?.onSlowStart?.();
      return await work(running);
    },
    stop: async (agentId) => void calls.push(['stop', agentId]),
  };
  const deployment = new DockerDeployment({
    ...{ host, transport: new AgentTransport(), clock: new FakeClock(), image: 'wa2ai-shell:1' },
    ...{ container: { agentId: 'shell-1', idleMs: 60_000, routeId: 'route-1' }, env: { A: '1' } },
  });
  return { deployment, calls };
}

describe('DockerDeployment', () => {
  it('runs the runtime of the image in a separate container, with limits', async () => {
    const { deployment, calls } = setup({ url: 'http://runtime.test', token: 't' });
    await deployment.start();
    const agent = calls[0]?.[1] as HostedAgent;
    expect(agent).toMatchObject({
      ...{ agentId: 'shell-1', idleMs: 60_000, routeId: 'route-1' },
      spec: {
        ...{ runtime: 'docker', image: 'wa2ai-shell:1', profile: 'swerex', port: 8_000, env: { A: '1' } },
        ...{ memoryMb: 1_024, cpus: 1, pids: 256, pull: 'missing' },
      },
    });
    // the token is in a file of the container: its command shows in every list of processes
    expect(agent.spec.command?.join(' ')).toContain('AGENT_TOKEN_FILE');
    await deployment.stop();
    expect(calls[1]).toEqual(['stop', 'shell-1']);
  });

  it('starts the Python original in images that have it, whatever its token begins with', async () => {
    const { deployment, calls } = setup({ url: 'http://runtime.test', token: 't' });
    await deployment.start();
    const agent = calls[0]?.[1] as HostedAgent;
    const [program = '', ...args] = agent.spec.command ?? [];
    const folder = mkdtempSync(join(tmpdir(), 'deployment-'));
    writeFileSync(join(folder, 'token'), '-token with spaces');
    writeFileSync(join(folder, 'swerex-remote'), '#!/bin/sh\nprintf "<%s>" "$@"\n', { mode: 0o755 });
    const env = {
      PATH: `${folder}:${process.env.PATH}`,
      AGENT_TOKEN_FILE: join(folder, 'token'),
      PORT: '8000',
    };
    const { stdout } = await promisify(execFile)(program, args, { env });
    expect(stdout).toBe('<--auth-token=-token with spaces><--port=8000>');
    rmSync(folder, { recursive: true });
  });

  it('gives its runtime, at the address and with the token of the container', async () => {
    const runtime: RunningRuntime = await startRuntime(false);
    const { deployment } = setup(runtime);
    let slow = 0;
    const onSlowStart = async () => {
      slow += 1;
    };
    const result = await deployment.use(
      (remote) => remote.execute(['printf', 'hello'], { timeoutMs: 30_000 }),
      { onSlowStart },
    );
    expect([result.stdout, slow]).toEqual(['hello', 1]);
    await runtime.stop();
  });
});
