import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { repositoryRoot } from './repository.ts';
import { unusedPort } from './unused-port.ts';
import { END_WITH_PARENT } from './wa2ai-process.ts';

/** The mock ADK agent as its own process; see tests/fixtures/adk-mock-agent.js for its switches. */
export class MockAgent {
  readonly #child: ChildProcess;
  readonly url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.url = url;
  }

  /**
   * Starts it on a free loopback port (or the one given), without a limit of answers unless `switches` say otherwise.
   * @param options.endWithParent the agent ends when this process does, however it ends
   */
  static async start(
    options: { appName?: string; port?: number; switches?: string[]; endWithParent?: boolean } = {},
  ): Promise<MockAgent> {
    const {
      appName = 'test_agent',
      port = await unusedPort(),
      switches = [],
      endWithParent = false,
    } = options;
    const file = join(repositoryRoot, 'tests/fixtures/adk-mock-agent.js');
    const preload = endWithParent ? END_WITH_PARENT : [];
    const args = [...preload, file, String(port), appName, '--max', '0', ...switches];
    const child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'inherit', ...(endWithParent ? (['ipc'] as const) : [])],
      detached: endWithParent,
    });
    const lines = createInterface({ input: child.stdout as Readable });
    const ended = once(child, 'exit').then(() => {
      throw new Error('the mock agent ended before it listened');
    });
    const [line] = await Promise.race([once(lines, 'line'), ended]);
    const url = /listening on (\S+)/.exec(String(line))?.[1];
    if (!url) throw new Error(`the mock agent did not print its URL: ${line}`);
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
