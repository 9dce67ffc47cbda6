import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageUnavailableError } from '../../router/src/core/errors.ts';
import { AgentHost } from '../../router/src/core/hosting/agent-host.ts';
import type { AgentSpec, HostedAgent } from '../../router/src/core/hosting/agent-life.ts';
import type { RunningAgent } from '../../router/src/core/ports/agent-registry.ts';
import type { AgentRuntime } from '../../router/src/core/ports/agent-runtime.ts';
import { AgentFolders } from '../../router/src/features/hosting/agent-folders.ts';
import { HttpAgentProbe } from '../../router/src/features/hosting/process-runtime.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { MemoryAgentRegistry } from '../doubles/memory-agent-registry.ts';
import { quietLog } from './quiet-log.ts';

type AgentHostDeps = ConstructorParameters<typeof AgentHost>[0];

/** A runtime under test. Its agent is examples/agents/chat-node. */
export interface HostSubject {
  runtime: AgentRuntime;
  /** How the example agent runs there. */
  spec: Pick<AgentSpec, 'runtime'> & Partial<AgentSpec>;
  /** The same, with a program that ends at once. */
  failing: Partial<AgentSpec>;
  /** Ends the program of an agent, as a crash does. */
  crash(agentId: string): Promise<void>;
  /** Addresses change with each start. */
  hasNewPorts: boolean;
}

const IDLE_MS = 1_800_000;

/** Real time, whose wall clock a test can advance. */
class ShiftedClock {
  #shiftMs = 0;
  now = () => systemClock.now() + this.#shiftMs;
  monotonicMs = () => systemClock.monotonicMs();
  sleep = (ms: number, signal?: AbortSignal) => systemClock.sleep(ms, signal);
  advanceMs(ms: number): void {
    this.#shiftMs += ms;
  }
}

/** What the agent host promises, with each runtime. `open` makes a runtime whose data is below the folder. */
export function agentHostSuite(
  name: string,
  open: (folder: string, hostId: string) => Promise<HostSubject>,
): void {
  describe(`AgentHost with ${name}`, () => {
    let folder: string;
    let subject: HostSubject;
    let clock: ShiftedClock;
    let registry: MemoryAgentRegistry;
    let files: AgentFolders;
    let host: AgentHost;
    const hosts: AgentHost[] = [];
    const nodeId = 'node-1';

    beforeEach(async () => {
      folder = mkdtempSync(join(tmpdir(), 'wa2ai-host-'));
      // Where this process is root, agents have users of their own.
      chmodSync(folder, 0o711);
      clock = new ShiftedClock();
      registry = new MemoryAgentRegistry(clock.now);
      files = new AgentFolders(folder);
      subject = await open(folder, `${nodeId}-${folder.slice(-6)}`);
      host = aHost();
    });

    afterEach(async () => {
      for (const each of hosts.splice(0)) await each.close();
      for (const { agentId } of await subject.runtime.list()) await subject.runtime.remove(agentId);
      rmSync(folder, { recursive: true, force: true });
    });

    function aHost(changes: Partial<AgentHostDeps> = {}): AgentHost {
      const made = new AgentHost({
        ...{ nodeId, registry, files, clock, log: quietLog, probe: new HttpAgentProbe() },
        runtimes: { docker: subject.runtime, process: subject.runtime },
        limits: { maxRunning: 30, maxBytes: 64 * 1024 * 1024, startMs: 60_000 },
        stopsOnExit: false,
        nodes: { liveNodes: () => [nodeId], isExpired: () => true },
        ...changes,
      });
      hosts.push(made);
      return made;
    }

    function anAgent(agentId = 'agent-1', spec: Partial<AgentSpec> = {}, idleMs = IDLE_MS): HostedAgent {
      const { runtime } = subject.spec;
      return {
        agentId,
        idleMs,
        spec: {
          ...{
            profile: 'chat',
            port: runtime === 'process' ? 0 : 8080,
            env: {},
            memoryMb: 256,
            cpus: 1,
            pids: 64,
          },
          ...{ network: 'internet', pull: 'missing', ...subject.spec, ...spec },
        } as AgentSpec,
      };
    }

    const chat = async ({ url, token }: RunningAgent, message: string): Promise<string> => {
      const response = await fetch(`${url}/chat`, {
        method: 'POST',
        headers: { 'x-api-key': token, 'content-type': 'application/json' },
        body: JSON.stringify({ message, message_id: Math.random().toString(36) }),
      });
      return ((await response.json()) as { response: string }).response;
    };
    const say = (agent: HostedAgent, message: string, on = host) =>
      on.use(agent, (running) => chat(running, message));
    const urlOf = (agent: HostedAgent, on = host) => on.use(agent, async ({ url }) => url);
    const phaseOf = async (agentId = 'agent-1') => (await registry.get(agentId))?.phase;

    it('wakes an agent for a request, which it answers', async () => {
      await expect(say(anAgent(), 'hello')).resolves.toBe('This is message 1: hello');
      expect(host.phaseOf('agent-1')).toBe('ready');
      await expect(subject.runtime.list()).resolves.toMatchObject([{ agentId: 'agent-1', state: 'running' }]);
    });

    it('starts an agent once for many requests that come together', async () => {
      const answers = await Promise.all(['a', 'b', 'c', 'd'].map((text) => say(anAgent(), text)));
      expect(answers).toHaveLength(4);
      await expect(subject.runtime.list()).resolves.toHaveLength(1);
    });

    it('gives requests without the token no answer', async () => {
      const status = await host.use(anAgent(), async ({ url }) => (await fetch(`${url}/health`)).status);
      expect(status).toBe(401);
    });

    it('stops an agent that was idle for its time, and restores its session with the next request', async () => {
      await say(anAgent(), 'my name is Ana');
      clock.advanceMs(IDLE_MS - 60_000);
      await host.sweep();
      expect(host.phaseOf('agent-1')).toBe('ready');
      clock.advanceMs(61_000);
      await host.sweep();
      expect(host.phaseOf('agent-1')).toBe('stopped');
      const [stopped] = await subject.runtime.list();
      expect(stopped?.state ?? 'exited').toBe('exited');
      await expect(say(anAgent(), 'who am I')).resolves.toBe('You are Ana.');
    });

    it('reaches an agent at its new address after a restart', async () => {
      const before = await urlOf(anAgent());
      await host.stop('agent-1');
      const after = await urlOf(anAgent());
      if (subject.hasNewPorts) expect(after).not.toBe(before);
      await expect(say(anAgent(), 'hello')).resolves.toContain('hello');
    });

    it('never stops an agent while a request runs', async () => {
      let end: () => void = () => undefined;
      const request = host.use(anAgent(), () => new Promise<void>((resolve) => (end = resolve)));
      await expect.poll(() => host.phaseOf('agent-1')).toBe('busy');
      clock.advanceMs(10 * IDLE_MS);
      await host.sweep();
      expect(host.phaseOf('agent-1')).toBe('busy');
      end();
      await request;
      await host.sweep();
      expect(host.phaseOf('agent-1')).toBe('ready');
    });

    it('leaves nothing of a failed start, and says what the log says', async () => {
      const failing = anAgent('agent-1', subject.failing);
      await expect(say(failing, 'hello')).rejects.toThrow(/ended with exit code 3.*cannot start/);
      expect(host.phaseOf('agent-1')).toBe('failed');
      await expect.poll(() => subject.runtime.list()).toEqual([]);
      await expect(say(anAgent(), 'hello')).resolves.toContain('hello');
    });

    it('ends a crash loop', async () => {
      const failing = anAgent('agent-1', subject.failing);
      for (let start = 1; start <= 3; start++) await expect(say(failing, 'hello')).rejects.toThrow('ended');
      await expect(say(failing, 'hello')).rejects.toThrow('was started 3 times within 5 minutes');
      clock.advanceMs(301_000);
      await expect(say(anAgent(), 'hello')).resolves.toContain('hello');
    });

    it('wakes an agent whose program crashed', async () => {
      await say(anAgent(), 'my name is Ana');
      await subject.crash('agent-1');
      await expect
        .poll(() => say(anAgent(), 'who am I').catch((error: Error) => error.message))
        .toBe('You are Ana.');
      await expect(subject.runtime.list()).resolves.toHaveLength(1);
    });

    it('adopts the agents of a process that was killed, and starts none twice', async () => {
      await say(anAgent(), 'my name is Ana');
      const [before] = await subject.runtime.list();
      const next = aHost();
      await next.open();
      await expect(say(anAgent(), 'who am I', next)).resolves.toBe('You are Ana.');
      const after = await subject.runtime.list();
      expect(after.map(({ id }) => id)).toEqual([before?.id]);
      clock.advanceMs(IDLE_MS + 1_000);
      await next.sweep();
      expect(next.phaseOf('agent-1')).toBe('stopped');
    });

    it('adopts them later when the database did not answer at the start', async () => {
      await host.use(anAgent(), (running) => chat(running, 'my name is Ana'));
      const next = aHost();
      const { list } = registry;
      registry.list = async () => {
        throw new StorageUnavailableError({ sentence: 'down' });
      };
      await next.open();
      await next.sweep();
      expect(next.phaseOf('agent-1')).toBeUndefined();
      registry.list = list;
      await next.sweep();
      expect(next.phaseOf('agent-1')).toBe('ready');
    });

    it('removes what belongs to no agent of this node', async () => {
      await say(anAgent('agent-1'), 'hello');
      await say(anAgent('agent-2'), 'hello');
      await registry.delete('agent-2');
      await aHost().open();
      const left = await subject.runtime.list();
      expect(left.map(({ agentId }) => agentId)).toEqual(['agent-1']);
    });

    it('creates an agent again when its settings change, with its data', async () => {
      await say(anAgent(), 'my name is Ana');
      const [before] = await subject.runtime.list();
      const changed = anAgent('agent-1', { env: { MODE: 'new' } });
      await expect(say(changed, 'who am I')).resolves.toBe('You are Ana.');
      const [after, ...others] = await subject.runtime.list();
      expect(others).toEqual([]);
      expect(after?.id).not.toBe(before?.id);
    });

    it('stops the agent that was used longest ago when too many run', async () => {
      const few = aHost({ limits: { maxRunning: 2, maxBytes: 1e9, startMs: 60_000 } });
      for (const agentId of ['agent-1', 'agent-2']) {
        await say(anAgent(agentId), 'hello', few);
        clock.advanceMs(1_000);
      }
      await say(anAgent('agent-1'), 'hello', few);
      await say(anAgent('agent-3'), 'hello', few);
      expect(few.phaseOf('agent-2')).toBe('stopped');
      expect([few.phaseOf('agent-1'), few.phaseOf('agent-3')]).toEqual(['ready', 'ready']);
    });

    it('asks for a later attempt when all agents that may run are at work', async () => {
      const few = aHost({ limits: { maxRunning: 1, maxBytes: 1e9, startMs: 60_000 } });
      await few.use(anAgent('agent-1'), async () => {
        await expect(say(anAgent('agent-2'), 'hello', few)).rejects.toMatchObject({ retryAfterMs: 5_000 });
      });
    });

    it('does not start an agent whose disk is full', async () => {
      const small = aHost({ limits: { maxRunning: 5, maxBytes: 40_000, startMs: 60_000 } });
      await say(anAgent(), 'hello', small);
      writeFileSync(join(folder, 'agents/agent-1/workspace/large'), 'x'.repeat(50_000));
      await small.stop('agent-1');
      await expect(say(anAgent(), 'hello', small)).rejects.toMatchObject({ code: 'AGENT_DISK_FULL' });
      await files.delete('agent-1', 'workspace/large');
      await expect(say(anAgent(), 'again', small)).resolves.toContain('again');
    });

    it('stops an agent whose disk becomes full while it runs', async () => {
      const small = aHost({ limits: { maxRunning: 5, maxBytes: 40_000, startMs: 60_000 } });
      await say(anAgent(), 'hello', small);
      writeFileSync(join(folder, 'agents/agent-1/workspace/large'), 'x'.repeat(50_000));
      clock.advanceMs(61_000);
      await small.sweep();
      expect(small.phaseOf('agent-1')).toBe('stopped');
      await expect(say(anAgent(), 'hello', small)).rejects.toMatchObject({ code: 'AGENT_DISK_FULL' });
    });

    it('never starts more agents than may run, also when all are asked at once', async () => {
      const few = aHost({ limits: { maxRunning: 2, maxBytes: 1e9, startMs: 60_000 } });
      const agents = ['agent-1', 'agent-2', 'agent-3', 'agent-4'].map((agentId) => anAgent(agentId));
      const ends = await Promise.allSettled(agents.map((agent) => say(agent, 'hello', few)));
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
      for (const end of ends)
        if (end.status === 'rejected') expect(end.reason).toMatchObject({ retryAfterMs: 5_000 });
      await expect(subject.runtime.list()).resolves.toHaveLength(2);
    });

    it('runs 20 agents at once', async () => {
      const agents = Array.from({ length: 20 }, (_, index) => anAgent(`agent-${index}`));
      const answers = await Promise.all(agents.map((agent) => say(agent, agent.agentId)));
      expect(answers).toEqual(agents.map(({ agentId }) => `This is message 1: ${agentId}`));
      await Promise.all(agents.map(({ agentId }) => host.stop(agentId)));
    });

    it('keeps the data of an agent in its folder', async () => {
      await say(anAgent(), 'hello');
      const session = JSON.parse(readFileSync(join(folder, 'agents/agent-1/session.json'), 'utf8'));
      expect(session.messages[0]).toMatchObject({ role: 'user', content: 'hello' });
      const paths = (await files.list('agent-1', 10)).map(({ path }) => path);
      expect(paths).toContain('session.json');
    });

    it('returns the log of an agent', async () => {
      const agent = anAgent();
      await say(agent, 'hello');
      const lines: string[] = [];
      const options = { tail: 10, follow: false, signal: new AbortController().signal };
      for await (const { text } of host.logs(agent, options)) lines.push(text);
      expect(lines.join('\n')).toContain('agent listens on port');
    });

    it('deletes an agent with its data', async () => {
      await say(anAgent(), 'my name is Ana');
      await host.remove('agent-1');
      await expect(subject.runtime.list()).resolves.toEqual([]);
      await expect(files.list('agent-1', 10)).resolves.toEqual([]);
      await expect(say(anAgent(), 'who am I')).resolves.toBe('I do not know yet.');
    });

    it('leaves an agent to the other node that it belongs to, and takes it over when that node is dead', async () => {
      await say(anAgent(), 'my name is Ana');
      await host.stop('agent-1');
      let live = ['node-2', nodeId];
      const nodes = { liveNodes: () => live, isExpired: () => !live.includes(nodeId) };
      const other = aHost({ nodeId: 'node-2', nodes });
      await expect(say(anAgent(), 'who am I', other)).rejects.toMatchObject({
        code: 'AGENT_ELSEWHERE',
        nodeId,
      });
      live = ['node-2'];
      await expect(say(anAgent(), 'who am I', other)).resolves.toBe('You are Ana.');
      expect((await registry.get('agent-1'))?.nodeId).toBe('node-2');
    });

    it('says so when the data of a dead node is not here', async () => {
      const nodes = { liveNodes: () => ['node-2'], isExpired: () => true };
      await registry.claim(anAgent(), 'node-9', 'another folder');
      const other = aHost({ nodeId: 'node-2', nodes });
      await expect(say(anAgent(), 'hello', other)).rejects.toMatchObject({ code: 'AGENT_DATA_ELSEWHERE' });
    });

    it('stores the phase of an agent for other nodes', async () => {
      await say(anAgent(), 'hello');
      await expect.poll(phaseOf).toBe('ready');
      await host.stop('agent-1');
      await expect.poll(phaseOf).toBe('stopped');
    });
  });
}
