import { once } from 'node:events';
import { appendFile, chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AgentHost } from '../../router/src/core/hosting/agent-host.ts';
import type { AgentSpec } from '../../router/src/core/hosting/agent-life.ts';
import { AgentFolders } from '../../router/src/features/hosting/agent-folders.ts';
import { HttpAgentProbe, ProcessRuntime } from '../../router/src/features/hosting/process-runtime.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { MemoryAgentRegistry } from '../doubles/memory-agent-registry.ts';
import { quietLog } from '../support/quiet-log.ts';

it('keeps a character of a followed log whole that the program writes in two parts', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'wa2ai-process-'));
  await mkdir(join(folder, 'workspace'));
  const log = join(folder, 'writer.log');
  // "naïve" is cut inside its third character.
  const [first, ...later] = ['68c3a96c6c6f0a6e61c3', 'af', '76650a'].map((hex) => Buffer.from(hex, 'hex'));
  const ended = new AbortController();
  let expectedBytes = first?.byteLength ?? 0;
  // Each part is written when all before it was read.
  const sleep = async () => {
    await systemClock.sleep(5);
    if ((await stat(log)).size !== expectedBytes) return;
    const next = later.shift();
    if (next) await appendFile(log, next);
    else ended.abort();
    expectedBytes += next?.byteLength ?? 0;
  };
  const runtime = new ProcessRuntime({
    ...{ isAllowed: true, folder, hostId: 'h' },
    clock: { ...systemClock, sleep },
  });
  const program = `process.stdout.write(Buffer.from('${first?.toString('hex')}', 'hex')); setInterval(() => {}, 60_000)`;
  const limits = { memoryMb: 64, cpus: 1, pids: 16, network: 'none', pull: 'never' } as const;
  const command = [process.execPath, '-e', program];
  const spec: AgentSpec = { runtime: 'process', profile: 'chat', command, port: 0, env: {}, ...limits };
  try {
    await runtime.create(
      { agentId: 'writer', spec, idleMs: 60_000 },
      {
        folder,
        tokenFile: join(folder, 'token'),
      },
    );
    await runtime.start('writer');
    const lines: string[] = [];
    for await (const { text } of runtime.logs('writer', { tail: 9, follow: true, signal: ended.signal }))
      lines.push(text);
    expect(lines).toEqual(['h\u00e9llo', 'na\u00efve']);
  } finally {
    await runtime.remove('writer');
    await rm(folder, { recursive: true, force: true });
  }
});

describe('a program that runs as a process', () => {
  let folder: string;
  let files: AgentFolders;
  let runtime: ProcessRuntime;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'wa2ai-process-'));
    await chmod(folder, 0o711);
    files = new AgentFolders(folder);
    runtime = runtimeOf(true);
  });
  afterEach(async () => {
    await runtime.remove('agent');
    await rm(folder, { recursive: true, force: true });
  });

  const runtimeOf = (isAllowed: boolean) =>
    new ProcessRuntime({
      ...{ isAllowed, folder: join(folder, 'agent-processes'), hostId: 'h', clock: systemClock },
      env: { ...process.env, WA2AI_API_KEY: 'a secret' },
    });
  const agentOf = (program: string) => {
    const limits = { memoryMb: 64, cpus: 1, pids: 16, network: 'internet', pull: 'never' } as const;
    const command = [process.execPath, '-e', program];
    const spec: AgentSpec = { runtime: 'process', profile: 'chat', command, port: 0, env: {}, ...limits };
    return { agentId: 'agent', spec, idleMs: 60_000 };
  };
  const run = async (program: string) => {
    const owner = runtime.ownerOf('agent');
    const place = await files.prepare('agent', { isNew: true, ...(owner !== undefined && { owner }) });
    await runtime.create(agentOf(program), place);
    return await runtime.start('agent');
  };
  const firstLine = async () => {
    const ended = new AbortController();
    for await (const { text } of runtime.logs('agent', { tail: 1, follow: true, signal: ended.signal }))
      return text;
    return undefined;
  };
  const logOf = () => join(folder, 'agent-processes/agent.log');

  // Another user has another view of this machine; without root there is none.
  it.runIf(process.getuid?.() === 0)(
    'runs as a separate user where wa2ai is root: it reads its folder and token, and not the data key, the environment, the Unix socket',
    async () => {
      await writeFile(join(folder, 'data-key'), 'a secret', { mode: 0o600 });
      const socket = createServer().listen(join(folder, 'wa2ai.sock'));
      await once(socket, 'listening');
      await chmod(join(folder, 'wa2ai.sock'), 0o600);
      await run(`
        const { readFileSync, writeFileSync } = require('node:fs');
        const attempt = (work) => { try { work(); return 'ok'; } catch (error) { return error.code; } };
        const seen = {
          uid: process.getuid(), key: process.env.WA2AI_API_KEY ?? 'none',
          file: attempt(() => readFileSync(${JSON.stringify(join(folder, 'data-key'))})),
          environ: attempt(() => readFileSync('/proc/${process.pid}/environ')),
          token: attempt(() => readFileSync(process.env.AGENT_TOKEN_FILE)),
          own: attempt(() => writeFileSync(process.env.DATA_DIR + '/session.json', '{}')),
        };
        require('node:net').connect(${JSON.stringify(join(folder, 'wa2ai.sock'))})
          .on('error', ({ code }) => console.log(JSON.stringify({ ...seen, socket: code })))
          .on('connect', () => console.log(JSON.stringify({ ...seen, socket: 'ok' })));
        setInterval(() => {}, 60_000);
      `);
      const seen = JSON.parse((await firstLine()) ?? '{}');
      expect(seen).toEqual({
        ...{ uid: expect.any(Number), key: 'none', token: 'ok', own: 'ok' },
        ...{ file: 'EACCES', environ: 'EACCES', socket: 'EACCES' },
      });
      expect(seen.uid).toBeGreaterThan(1_000_000);
      socket.close();
    },
  );

  it.runIf(process.getuid?.() === 0)('does not start in a folder that its user cannot enter', async () => {
    await chmod(folder, 0o700);
    await expect(run('')).rejects.toMatchObject({ code: 'AGENT_START_REFUSED', message: /chmod o\+x/ });
  });

  it('has a log that stays short while it runs, and whose last lines are read from its end', async () => {
    await run(`
      const line = 'x'.repeat(999);
      for (let count = 0; count < 12_000; count++) require('node:fs').writeSync(1, line + '\\n');
      require('node:fs').writeSync(1, 'the end\\n');
      setInterval(() => {}, 60_000);
    `);
    await expect
      .poll(async () => (await stat(`${logOf()}.1`)).size, { timeout: 30_000 })
      .toBeLessThan(1_048_577);
    await expect.poll(async () => (await stat(logOf())).size).toBeLessThan(5_242_881);
    const lines: string[] = [];
    const { signal } = new AbortController();
    for await (const { text } of runtime.logs('agent', { tail: 3, follow: false, signal })) lines.push(text);
    expect(lines).toEqual(['x'.repeat(999), 'x'.repeat(999), 'the end']);
  });

  it('reads ten lines of a long log without reading all of it', async () => {
    await mkdir(join(folder, 'agent-processes'), { recursive: true });
    await writeFile(logOf(), Buffer.alloc(64 * 1024 * 1024, 'x\n'));
    const before = process.memoryUsage().arrayBuffers;
    const { signal } = new AbortController();
    let lines = 0;
    for await (const _ of runtime.logs('agent', { tail: 10, follow: false, signal })) {
      lines += 1;
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(8 * 1024 * 1024);
    }
    expect(lines).toBe(10);
  });

  // Other systems do not tell which files are open.
  it.runIf(process.platform === 'linux')('is charged for files that it deleted and keeps open', async () => {
    await run(`
      const fs = require('node:fs');
      const file = fs.openSync('hidden', 'w+');
      fs.writeSync(file, Buffer.alloc(3_000_000));
      fs.unlinkSync('hidden');
      console.log('hidden');
      setInterval(() => fs.fstatSync(file), 1_000);
    `);
    expect(await firstLine()).toBe('hidden');
    expect((await files.usage('agent')).bytes).toBeLessThan(100_000);
    expect(await runtime.deletedBytes('agent')).toBeGreaterThanOrEqual(3_000_000);
  });

  it('does not start, says why, and ends when it still runs, where processes are not allowed', async () => {
    const { id } = await run('setInterval(() => {}, 60_000)');
    const registry = new MemoryAgentRegistry(() => Date.now());
    const agent = agentOf('');
    await registry.claim(agent, 'n1', await files.folderId());
    const off = runtimeOf(false);
    const host = new AgentHost({
      ...{ nodeId: 'n1', registry, files, clock: systemClock, log: quietLog, probe: new HttpAgentProbe() },
      runtimes: { docker: off, process: off },
      limits: { maxRunning: 9, maxBytes: 1e9, startMs: 60_000 },
      ...{ stopsOnExit: true, nodes: { liveNodes: () => ['n1'], isExpired: () => true } },
    });
    try {
      await host.open();
      expect(await readFile(`/proc/${id}/stat`, 'utf8').catch(() => 'ended')).toMatch(/^ended$|\) Z /);
      const refused = {
        code: 'AGENT_PROCESSES_OFF',
        message: expect.stringContaining('WA2AI_PROCESS_AGENTS=on'),
      };
      await expect(host.use(agent, async () => undefined)).rejects.toMatchObject(refused);
      await expect(host.register({ ...agent, agentId: 'other' })).rejects.toMatchObject(refused);
      await expect.poll(async () => (await registry.get('agent'))?.problem).toBe(off.refusal?.sentence);
    } finally {
      await host.close();
    }
  });
});
