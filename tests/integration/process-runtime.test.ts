import { appendFile, mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { AgentSpec } from '../../router/src/core/hosting/agent-spec.ts';
import { systemClock } from '../../router/src/infra/clock/system-clock.ts';
import { ProcessRuntime } from '../../router/src/infra/hosting/process/process-runtime.ts';

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
  const runtime = new ProcessRuntime({ folder, hostId: 'h', clock: { ...systemClock, sleep } });
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
