import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { repositoryRoot } from './repository.ts';

/** The stand-in ADK agent as its own process; see tests/fixtures/adk-mock-agent.js for its switches. */
export class MockAgent {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /** Starts it on a free loopback port (or the one given), without a limit of answers unless `switches` say otherwise. */
  static async start(
    options: { appName?: string; port?: number; switches?: string[] } = {},
  ): Promise<MockAgent> {
    const { appName = 'test_agent', port = 0, switches = [] } = options;
    const file = join(repositoryRoot, 'tests/fixtures/adk-mock-agent.js');
    const child = spawn(process.execPath, [file, String(port), appName, '--max', '0', ...switches], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const lines = createInterface({ input: child.stdout });
    const ended = once(child, 'exit').then(() => {
      throw new Error('the mock agent ended before it listened');
    });
    const [line] = await Promise.race([once(lines, 'line'), ended]);
    const url = /listening on (\S+)/.exec(String(line))?.[1];
    if (!url) throw new Error(`the mock agent said something else than where it listens: ${line}`);
    ended.catch(() => undefined);
    return new MockAgent(child, url);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.kill();
    await ended;
  }
}
