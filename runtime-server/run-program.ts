import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { constants } from 'node:os';
import { CLASSES, osFault, pyFloat, pyRepr, RuntimeFault } from './fault.ts';
import { decodeText } from './text-decoder.ts';

/** Bytes of each stream that are kept; what a program writes after them is read and dropped. */
const MAX_BYTES = 64 * 1024 * 1024;

export interface Program {
  /** With `shell`, a line for `/bin/sh`; else the program and its arguments. */
  command: string | readonly string[];
  shell: boolean;
  /** Seconds. */
  timeout?: number;
  check?: boolean;
  errorMsg?: string;
  /** Replaces the environment. */
  env?: Record<string, string>;
  cwd?: string;
  mergeOutputStreams?: boolean;
  /** Default: the program reads an empty file. */
  stdin?: string;
}

export interface ProgramResult {
  stdout: string;
  stderr: string;
  /** Negative: the program was ended by the signal with this number. */
  exit_code: number;
}

/** Runs a program outside of all sessions. @throws {RuntimeFault} */
export async function runProgram(program: Program): Promise<ProgramResult> {
  const { command, timeout } = program;
  if (program.cwd !== undefined && !existsSync(program.cwd)) {
    throw osFault(Object.assign(new Error(), { code: 'ENOENT' }), program.cwd);
  }
  const result = await run(program);
  if (result === 'late') {
    throw new RuntimeFault(
      CLASSES.timeout,
      `Timeout (${pyFloat(timeout ?? 0)}s) exceeded while running command`,
    );
  }
  if (!program.check || result.exit_code === 0) return result;
  const written =
    typeof command === 'string' ? pyRepr(command) : `[${command.map((word) => pyRepr(word)).join(', ')}]`;
  const what = `Command ${written} failed with exit code ${result.exit_code}. Stdout:\n${pyRepr(result.stdout)}\nStderr:\n${pyRepr(result.stderr)}`;
  throw new RuntimeFault(CLASSES.nonZeroExit, program.errorMsg ? `${program.errorMsg}: ${what}` : what);
}

function run(program: Program): Promise<ProgramResult | 'late'> {
  const { command, shell, timeout, env, cwd, stdin, mergeOutputStreams } = program;
  const words = typeof command === 'string' ? [command] : command;
  const called = shell ? ['/bin/sh', '-c', ...words] : words;
  // one pipe for both streams keeps their order
  const [file = '', ...args] = mergeOutputStreams
    ? ['/bin/sh', '-c', 'exec "$@" 2>&1', 'sh', ...called]
    : called;
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, {
      ...(env && { env }),
      ...(cwd !== undefined && { cwd }),
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      detached: true,
    });
    const stdout = new Collected();
    const stderr = new Collected();
    child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk));
    child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk));
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(stdin);
    let isLate = false;
    const timer =
      timeout === undefined
        ? undefined
        : setTimeout(() => {
            isLate = true;
            killGroup(child.pid);
          }, timeout * 1_000);
    child.on('error', (error) => {
      clearTimeout(timer);
      reject(osFault(error, file));
    });
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const exitCode = code ?? (signal === null ? -1 : -constants.signals[signal]);
      if (isLate) resolve('late');
      else {
        resolve({ stdout: stdout.text(), stderr: stderr.text(), exit_code: exitCode });
      }
    });
  });
}

class Collected {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  add(chunk: Buffer): void {
    const kept = chunk.subarray(0, Math.max(0, MAX_BYTES - this.#bytes));
    this.#bytes += kept.length;
    if (kept.length > 0) this.#chunks.push(kept);
  }

  text(): string {
    return decodeText(Buffer.concat(this.#chunks));
  }
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has ended
  }
}
