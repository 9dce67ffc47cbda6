import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from 'vitest';
import { type ProcessEntry, processTree, stillRunning } from '../support/process-tree.ts';
import { repositoryRoot } from '../support/repository.ts';
import { until } from '../support/until.ts';

/** The demo in its own process, with its own folder for temporary files. */
class Demo {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly folder: string;
  readonly #exit: Promise<unknown[]>;
  readonly #lines: string[] = [];
  #errors = '';

  private constructor(folder: string, args: string[]) {
    this.folder = folder;
    this.child = spawn(process.execPath, [join(repositoryRoot, 'dist/tests/demo/demo.js'), ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { PATH: process.env.PATH, HOME: process.env.HOME, TMPDIR: folder },
    });
    this.#exit = once(this.child, 'exit');
    createInterface({ input: this.child.stdout }).on('line', (line) => this.#lines.push(line));
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.#errors += chunk.toString();
    });
  }

  static async start(...args: string[]): Promise<Demo> {
    return new Demo(await mkdtemp(join(tmpdir(), 'wa2ai-demo-test-')), args);
  }

  get output(): string {
    return `${this.#lines.join('\n')}\n${this.#errors}`;
  }

  async untilLine(pattern: RegExp): Promise<void> {
    const found = async () => this.#lines.find((line) => pattern.test(line));
    await until(() => `a line ${pattern} in:\n${this.output}`, found, 60_000);
  }

  /** The exit code, or the signal that ended it. */
  async untilExit(): Promise<unknown> {
    const [code, signal] = await this.#exit;
    return code ?? signal;
  }
}

const demos: Demo[] = [];

async function startDemo(...args: string[]): Promise<Demo> {
  const demo = await Demo.start(...args);
  demos.push(demo);
  return demo;
}

afterEach(async () => {
  for (const demo of demos.splice(0)) {
    demo.child.kill('SIGKILL');
    await rm(demo.folder, { recursive: true, force: true });
  }
});

async function expectNothingLeft(demo: Demo, started: ProcessEntry[]): Promise<void> {
  const nothing = async () => ((await stillRunning(started)).length === 0 ? true : undefined);
  await until(() => `the end of ${started.map((entry) => entry.commandLine).join('\n')}`, nothing);
  const isEmpty = async () => ((await readdir(demo.folder)).length === 0 ? true : undefined);
  await until(`an empty ${demo.folder}`, isEmpty);
}

/** Waits until the service, its database and the agent run, and returns all of their processes. */
async function allStarted(demo: Demo): Promise<ProcessEntry[]> {
  await demo.untilLine(/wa2ai on http/);
  const started = await processTree(demo.child.pid ?? -1);
  for (const program of ['adk-mock-agent.js', 'service/main.js', 'bin/postgres']) {
    expect(started.map((entry) => entry.commandLine).join('\n')).toContain(program);
  }
  return started;
}

const runsOnLinux = { skip: process.platform !== 'linux' };

describe('npm run demo', runsOnLinux, () => {
  it('shows the conversation, then ends with everything it started', async () => {
    const demo = await startDemo();
    const started = await allStarted(demo);
    expect(await demo.untilExit(), demo.output).toBe(0);
    expect(demo.output).toContain('"You said: Hello, how can you help me?"');
    expect(demo.output).toContain('[Friends] "You said: Is anybody here?"');
    await expectNothingLeft(demo, started);
  });

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGKILL', 'SIGKILL'],
  ] as const)('leaves no process and no file behind after %s', async (signal, exit) => {
    const demo = await startDemo();
    const started = await allStarted(demo);
    demo.child.kill(signal);
    expect(await demo.untilExit()).toBe(exit);
    await expectNothingLeft(demo, started);
  });

  it('leaves no process and no file behind after SIGKILL while the service starts', async () => {
    const demo = await startDemo();
    await demo.untilLine(/starting wa2ai/);
    const service = async () => {
      const tree = await processTree(demo.child.pid ?? -1);
      return tree.some((entry) => entry.commandLine.includes('bin/postgres')) ? tree : undefined;
    };
    const started = await until('a PostgreSQL process', service);
    demo.child.kill('SIGKILL');
    await expectNothingLeft(demo, started);
  });

  it('leaves no process and no file behind when its output is closed, as by "| head -3"', async () => {
    const demo = await startDemo();
    const started = await allStarted(demo);
    demo.child.stdout.destroy();
    expect(await demo.untilExit()).toBe(1);
    await expectNothingLeft(demo, started);
  });

  it('answers typed messages with --keep, until /quit', async () => {
    const demo = await startDemo('--keep');
    const started = await allStarted(demo);
    await demo.untilLine(/Type a message/);
    demo.child.stdin.write('typed by a user\n');
    await demo.untilLine(/"You said: typed by a user" {3}\(seen by Ana\)/);
    demo.child.stdin.write('/bo\n/group\nhello group\n');
    await demo.untilLine(/\[Friends\] "You said: hello group" {3}\(seen by Bo/);
    demo.child.stdin.write('/quit\n');
    expect(await demo.untilExit(), demo.output).toBe(0);
    await expectNothingLeft(demo, started);
  });
});

describe('npm run demo -- --help', () => {
  const script = join(repositoryRoot, 'scripts/demo.mjs');

  it('shows the options and starts nothing', async () => {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [script, '--help']);
    expect(stdout).toMatch(/^usage: npm run demo/);
    expect(stdout).toContain('--keep');
    expect(stdout).not.toContain('WhatsApp emulator on');
    expect(stderr).toBe('');
  });

  it('is shown with exit code 2 for an unknown option', async () => {
    await expect(promisify(execFile)(process.execPath, [script, '--kep'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('usage: npm run demo'),
    });
  });
});
