import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AttemptOptions, AttemptStore } from '../../router/src/core/agent-client.ts';
import { AgentHost } from '../../router/src/core/hosting/agent-host.ts';
import type { IncomingMessage } from '../../router/src/core/models.ts';
import { AgentFolders } from '../../router/src/features/hosting/agent-folders.ts';
import { DockerEngine } from '../../router/src/features/hosting/docker-engine.ts';
import { DockerRuntime } from '../../router/src/features/hosting/docker-runtime.ts';
import { HttpAgentProbe } from '../../router/src/features/hosting/process-runtime.ts';
import { ShellAgentClient } from '../../router/src/infra/agents/shell/shell-agent-client.ts';
import { DockerDeployment } from '../../router/src/infra/agents/shell/swe-rex/remote-runtime.ts';
import { AgentTransport } from '../../router/src/infra/agents/transport/agent-transport.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { directMatcher } from '../doubles/direct-matcher.ts';
import { MemoryAgentRegistry } from '../doubles/memory-agent-registry.ts';
import { quietLog } from '../support/quiet-log.ts';
import { engineUnderTest } from './engine-under-test.ts';

const IMAGE = 'wa2ai-shell:test';
const IDLE_MS = 1_800_000;
const TURN_WAIT_MS = 4_000;
const [ANA, BO, STRANGER] = ['5493777239922', '5493777239923', '5490000000000'] as const;

const { kind, address } = engineUnderTest();
const engine = new DockerEngine({ address });

describe(`a shell in a container of ${kind}`, () => {
  let folder: string;
  let runtime: DockerRuntime;
  let host: AgentHost;
  let shiftMs: number;
  let numbers: number;
  const clock = { ...systemClock, now: () => systemClock.now() + shiftMs };

  beforeEach(() => {
    shiftMs = 0;
    numbers = 0;
    folder = mkdtempSync(join(tmpdir(), 'wa2ai-shell-'));
    runtime = new DockerRuntime({ engine, hostId: `node-1-${folder.slice(-6)}`, user: '1000:1000' });
    host = new AgentHost({
      ...{ nodeId: 'node-1', clock, log: quietLog, probe: new HttpAgentProbe() },
      registry: new MemoryAgentRegistry(clock.now),
      files: new AgentFolders(folder),
      runtimes: { docker: runtime, process: runtime },
      limits: { maxRunning: 10, maxBytes: 64 * 1024 * 1024, startMs: 60_000 },
      stopsOnExit: false,
      nodes: { liveNodes: () => ['node-1'], isExpired: () => true },
    });
  });

  afterEach(async () => {
    await host.close();
    for (const { agentId } of await runtime.list()) await runtime.remove(agentId);
    rmSync(folder, { recursive: true, force: true });
  });

  const transports = { transport: new AgentTransport(), containers: new AgentTransport() };
  const message = (person: string, text: string, fields: Partial<IncomingMessage> = {}): IncomingMessage => {
    numbers += 1;
    const from = `${person}@s.whatsapp.net`;
    return { id: `M${numbers}`, from, channelId: person, text, timestamp: new Date(0), ...fields };
  };
  /** A client whose turns wait for a command until `giveUp` is called. */
  function shell() {
    const tasks: string[] = [];
    let giveUp: () => void = () => undefined;
    const given = new Promise<void>((resolve) => {
      giveUp = resolve;
    });
    const store: AttemptStore = {
      tasks: async () => [],
      addTask: async (id) => void tasks.push(id),
      chatTasks: async () => [],
      knownTasks: async () => [],
      session: async () => undefined,
      saveSession: async () => undefined,
    };
    const sleep = (ms: number, signal?: AbortSignal) =>
      ms === TURN_WAIT_MS ? given : systemClock.sleep(ms, signal);
    const client = new ShellAgentClient(
      {
        ...{
          defaultTimeoutMs: () => 30_000,
          matcher: directMatcher,
          log: quietLog,
          clock: { ...clock, sleep },
          ...transports,
        },
        hosting: host,
      },
      { image: IMAGE, allow: [ANA, BO] },
      { id: 'route-1', accountId: 'default' },
    );
    const send = (sent: IncomingMessage, options: AttemptOptions = {}) =>
      client.sendMessage('', sent, { store, ...options });
    const say = async (text: string, person: string = ANA) => (await send(message(person, text))).response;
    const follow = (sent: IncomingMessage) => {
      const { signal } = new AbortController();
      return client.followTask('', { remoteId: tasks[0] ?? '', message: sent }, { signal });
    };
    return { client, send, say, follow, giveUp };
  }

  it('runs the commands of an allowed person in a session with a terminal', async () => {
    const { say } = shell();
    expect(await say('id -u; pwd; X=5; echo kept > file; false')).toBe(
      '```1000\n/data/workspace```\nexit code 1',
    );
    expect(await say('echo $X; cat file; tty')).toMatch(/^```5\nkept\n\/dev\/pts\/\d+```$/);
    expect(await say("python3 -c 'print(6 * 7)' && git init -q repo && ls -d repo/.git")).toBe(
      '```42\nrepo/.git```',
    );
    expect(await say('touch /opt/wa2ai/x')).toContain('Read-only file system');
  });

  it('gives each person an own container', async () => {
    const { say } = shell();
    await Promise.all([say('echo ana > file'), say('echo bo > file', BO)]);
    expect(await Promise.all([say('cat file'), say('cat file', BO)])).toEqual(['```ana```', '```bo```']);
    expect(await runtime.list()).toHaveLength(2);
  });

  it('starts no container for people who are not allowed', async () => {
    expect(await shell().say('ls', STRANGER)).toBe('You may not use this shell.');
    expect(await runtime.list()).toEqual([]);
  });

  it('answers no request without the token', async () => {
    await shell().say('true');
    const [container] = await runtime.list();
    const statusOf = async (headers: Record<string, string>) =>
      (await fetch(`${container?.url}/is_alive`, { headers })).status;
    expect([await statusOf({}), await statusOf({ 'x-api-key': 'wrong' })]).toEqual([403, 401]);
  });

  it('stops after its idle time, and the next command finds the files in a new session', async () => {
    const { say } = shell();
    await say('X=5; echo kept > file');
    shiftMs = IDLE_MS + 1_000;
    await host.sweep();
    expect(await runtime.list()).toMatchObject([{ state: 'exited' }]);
    expect(await say('cat file; echo $X-')).toBe('```kept\n-```');
  });

  it('interrupts a long command, and never stops its container while it runs', async () => {
    const { send, say, follow, giveUp } = shell();
    const long = message(ANA, 'echo begun; touch begun; sleep 1000');
    const sending = send(long);
    await expect.poll(async () => await say('/files /data/workspace')).toContain('begun');
    giveUp();
    expect((await sending).response).toContain('/interrupt stops it');
    const report = follow(long);
    shiftMs = 10 * IDLE_MS;
    await host.sweep();
    expect(await say('/interrupt')).toBe('Interrupted.');
    expect(await report).toMatchObject({
      response: { response: expect.stringMatching(/^```begun[\s\S]*exit code 130$/) },
    });
  });

  it('ends everything with /reset, and who waits for a command learns that', async () => {
    const { send, say, follow, giveUp } = shell();
    const long = message(ANA, 'touch begun; sleep 1000');
    const sending = send(long);
    await expect.poll(async () => await say('/files /data/workspace')).toContain('begun');
    giveUp();
    await sending;
    const report = follow(long);
    expect(await say('/reset')).toContain('The session has ended');
    expect(await report).toMatchObject({
      response: { response: expect.stringContaining('The shell has ended') },
    });
    expect(await runtime.list()).toMatchObject([{ state: 'exited' }]);
    expect(await shell().say('ls')).toBe('```begun```');
  });

  it('stores documents, and sends files', async () => {
    const { send } = shell();
    const bytes = Buffer.from([0, 13, 10, 255]);
    const media = { kind: 'document' as const, mimeType: 'text/plain', fileName: 'a.bin' };
    const stored = await send(message(ANA, '', { media }), { loadMedia: async () => bytes });
    expect(stored.response).toBe('Stored 4 bytes in /data/workspace/a.bin');
    expect((await send(message(ANA, '/get a.bin'))).files).toMatchObject([{ fileName: 'a.bin', bytes }]);
  });

  it('is a deployment that starts, gives its runtime, and stops', async () => {
    const deployment = new DockerDeployment({
      ...{ host, transport: transports.containers, clock, image: IMAGE },
      container: { agentId: 'shell-1', idleMs: IDLE_MS },
    });
    await deployment.start();
    expect(await runtime.list()).toMatchObject([{ agentId: 'shell-1', state: 'running' }]);
    const hello = () => deployment.use((remote) => remote.execute(['echo', 'hello'], { timeoutMs: 30_000 }));
    expect(await hello()).toEqual({ stdout: 'hello\n', stderr: '', exitCode: 0 });
    await deployment.stop();
    await deployment.stop();
    expect(await runtime.list()).toMatchObject([{ agentId: 'shell-1', state: 'exited' }]);
    expect(await hello()).toMatchObject({ exitCode: 0 });
  });

  it('says which image is not there', async () => {
    const deployment = new DockerDeployment({
      ...{ host, transport: transports.containers, clock, image: 'no-such-image:1' },
      container: { agentId: 'shell-1', idleMs: IDLE_MS },
    });
    await expect(deployment.start()).rejects.toThrow('no-such-image:1');
  });
});
