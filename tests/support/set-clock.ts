import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { repositoryRoot } from './repository.ts';
import type { Wa2aiProcess } from './wa2ai-process.ts';

/** The wall clock of service processes, set by a test while they run; see tests/fixtures/shifted-clock.js. */
export class SettableClock {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** A clock that is right at first. */
  static async create(): Promise<SettableClock> {
    const clock = new SettableClock(await mkdtemp(join(tmpdir(), 'wa2ai-clock-')));
    await clock.#write(0);
    return clock;
  }

  /** For the start of a process that is to go by this clock. */
  get process(): { nodeArgs: string[]; env: Record<string, string> } {
    const preload = pathToFileURL(join(repositoryRoot, 'tests/fixtures/shifted-clock.js')).href;
    return { nodeArgs: ['--import', preload], env: { TEST_CLOCK_FILE: this.#file } };
  }

  /** Sets it so far off the right time; resolves when the process goes by it, or without one at its next start. */
  async set(shiftMs: number, service?: Wa2aiProcess): Promise<void> {
    await this.#write(shiftMs);
    if (!service) return;
    const isSet = service.untilLog(
      (line) => line.msg === 'the clock was set' && line.shiftMs === shiftMs,
      10_000,
      service.lines.length,
    );
    process.kill(service.pid, 'SIGUSR2');
    await isSet;
  }

  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }

  get #file(): string {
    return join(this.#folder, 'shift-ms');
  }

  async #write(shiftMs: number): Promise<void> {
    await writeFile(this.#file, String(shiftMs));
  }
}
