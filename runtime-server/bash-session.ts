import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLASSES, pyFloat, pyRepr, RuntimeFault } from './fault.ts';
import { childrenOf, foregroundGroup, killTree } from './processes.ts';
import { type EndMark, firstMatch, SessionOutput, withoutEscapes } from './session-output.ts';
import { checkSyntax } from './syntax.ts';

/** What clients look for in `expect_string` when a command ended by itself. */
const PROMPT = 'SHELLPS1PREFIX';
const INTERRUPT_PAUSE_MS = 200;
/** What bash says when it starts without a terminal. */
const NO_TERMINAL = /^bash: (cannot set terminal process group|no job control in this shell).*\n/gm;
/** After a pattern was found, the command may still end within this time, and its exit code is known then. */
const EXIT_CODE_SECONDS = 1;
/** Clients read the beginning of an error only, so the output of a shell that ended is its end. */
const MAX_ENDED_CHARS = 8_000;

export interface BashAction {
  command: string;
  session: string;
  /** Seconds; undefined: no limit. */
  timeout: number | undefined;
  isInteractiveCommand: boolean;
  isInteractiveQuit: boolean;
  /** `raise`: a code other than 0 is an error · `silent`: the code is reported · `ignore`: it is not read. */
  check: 'silent' | 'raise' | 'ignore';
  errorMsg: string;
  /** Patterns that end the waiting for the command, in addition to its end. */
  expect: string[];
}

export interface InterruptAction {
  session: string;
  /** Seconds to wait after each try. */
  timeout: number;
  tries: number;
  expect: string[];
}

export interface Observation {
  output: string;
  exit_code: number | null;
  failure_reason: '';
  expect_string: string;
  session_type: 'bash';
}

/** How a wait for the shell ended. */
type Arrival =
  | { kind: 'end'; exitCode: number; text: string }
  | { kind: 'pattern'; index: number; text: string }
  | { kind: 'gone'; exitCode: number; text: string }
  | { kind: 'late' };

/**
 * A bash that runs commands one after the other and keeps its state between them. It has a terminal when the program `script`
 * of util-linux is there, else pipes.
 *
 * A command is written to a file that the shell reads, so its length and its quotes cannot disturb the shell; after each
 * command the shell writes a mark with a secret word, so its output cannot either.
 */
export class BashSession {
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #folder: string;
  readonly #output: SessionOutput;
  readonly #hasTerminal: boolean;
  /** Number of the command that was started last; 0 is the start of the shell. */
  #number = 0;
  /** The command of that number runs. */
  #isRunning = true;
  /** Its end came while nobody waited for it. */
  #ended: (EndMark & { text: string }) | undefined;
  #goneCode: number | undefined;
  #listeners = new Set<() => void>();
  /** Requests that wait for the running command. */
  #waiting = 0;
  /** Ends when every command before has ended. */
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(hasTerminal: boolean, files: readonly string[], env: NodeJS.ProcessEnv) {
    const secret = randomBytes(16).toString('hex');
    this.#hasTerminal = hasTerminal;
    this.#output = new SessionOutput(secret);
    this.#folder = mkdtempSync(join(tmpdir(), 'shell-'));
    const startFile = join(this.#folder, 'start');
    writeFileSync(startFile, startScript(secret, files));
    const bash = `exec /usr/bin/env bash --noediting --rcfile ${quoted(startFile)} -i`;
    const [program, args] = hasTerminal
      ? ['script', ['-qefc', `stty -echo noflsh cols 200 rows 50; ${bash}`, '/dev/null']]
      : ['/bin/sh', ['-c', `${bash} 2>&1`]];
    const paging = { PAGER: 'cat', GIT_PAGER: 'cat', MANPAGER: 'cat', TERM: 'dumb' };
    this.#child = spawn(program, args, {
      env: { ...paging, ...env, SHELL: '/bin/sh', PS1: '', PS2: '', PS0: '' },
      // a separate group, so that an interrupt reaches its programs only
      detached: true,
    });
    this.#child.on('error', () => this.#gone(127));
    this.#child.on('close', (code, signal) => this.#gone(code ?? signalCode(signal)));
    this.#child.stdin.on('error', () => undefined);
    this.#child.stderr.resume();
    this.#child.stdout.on('data', (chunk: Buffer) => this.#onData(chunk));
  }

  /**
   * Starts a shell, which reads `~/.bashrc` and then these files.
   * @param timeout seconds
   * @returns the session and what the files wrote
   */
  static async start(options: {
    hasTerminal: boolean;
    files: readonly string[];
    timeout: number;
    env: NodeJS.ProcessEnv;
  }): Promise<{ session: BashSession; output: string }> {
    const session = new BashSession(options.hasTerminal, options.files, options.env);
    const arrival = await session.#arrival([], deadlineOf(options.timeout));
    if (arrival.kind === 'end') {
      return { session, output: session.#clean(arrival.text).replace(NO_TERMINAL, '') };
    }
    session.close();
    if (arrival.kind === 'gone') throw ended(arrival.exitCode, session.#clean(arrival.text));
    throw new RuntimeFault(CLASSES.notInterrupted, `bash did not start within ${options.timeout} s.`);
  }

  /** The shell has ended: a new session is needed. */
  get isGone(): boolean {
    return this.#goneCode !== undefined;
  }

  /**
   * Runs a command. Commands wait for each other; a command that was given up (time-out, `expect`) still runs until it ends
   * or is interrupted.
   * @throws {RuntimeFault}
   */
  async run(action: BashAction): Promise<Observation> {
    if (action.isInteractiveCommand || action.isInteractiveQuit) return this.#interactive(action);
    await checkSyntax(action.command);
    const { command, timeout } = action;
    const deadlineMs = deadlineOf(timeout);
    const free = this.#turn.then(() => this.#idle());
    const { promise, resolve } = deferred();
    this.#turn = promise;
    try {
      if (!(await isBefore(free, deadlineMs))) throw tooLate(command.trim(), timeout);
      this.#begin(command);
      return await this.#awaited(() => this.#normal(action, deadlineMs));
    } finally {
      void free.then(() => this.#idle()).then(resolve);
    }
  }

  /** Interrupts the running command, and kills it when it ignores that. @throws {RuntimeFault} it could not be ended */
  async interrupt({ timeout, tries, expect }: InterruptAction): Promise<Observation> {
    if (!this.#isRunning && !this.#ended) return observation('', 0, PROMPT);
    const patterns = expect.map(asPattern);
    for (let made = 0; made < tries + 1; made++) {
      if (made < tries) this.#sendInterrupt();
      else this.#killForeground();
      // a request that waits for the command gets its output
      if (this.#waiting > 0) {
        if (await isBefore(this.#idle(), deadlineOf(timeout))) return observation('', 0, PROMPT);
        continue;
      }
      const arrival = await this.#arrival(patterns, deadlineOf(timeout));
      if (arrival.kind === 'end') return observation(this.#clean(arrival.text).trim(), 0, PROMPT);
      if (arrival.kind === 'gone') throw ended(arrival.exitCode, this.#clean(arrival.text));
      if (arrival.kind === 'pattern') {
        return observation(this.#clean(arrival.text).trim(), 0, expect[arrival.index] ?? '');
      }
      await new Promise((resume) => setTimeout(resume, INTERRUPT_PAUSE_MS));
    }
    throw new RuntimeFault(CLASSES.notInterrupted, 'Failed to interrupt session');
  }

  /** Ends the shell and its programs. Idempotent. */
  close(): void {
    killTree(this.#child.pid);
    this.#child.stdin.destroy();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #normal(action: BashAction, deadlineMs: number): Promise<Observation> {
    const { command, check, expect, timeout } = action;
    let arrival = await this.#arrival(expect.map(asPattern), deadlineMs);
    let expectString = PROMPT;
    let before = '';
    if (arrival.kind === 'pattern') {
      expectString = expect[arrival.index] ?? '';
      before = arrival.text;
      if (check === 'ignore') return observation(this.#clean(before), null, expectString);
      arrival = await this.#arrival([], deadlineOf(EXIT_CODE_SECONDS));
      if (arrival.kind === 'late') {
        if (check === 'silent') return observation(this.#clean(before), null, expectString);
        throw new RuntimeFault(CLASSES.noExitCode, 'timeout while getting exit code');
      }
    }
    if (arrival.kind === 'late' || arrival.kind === 'pattern') throw tooLate(command.trim(), timeout);
    const output = this.#clean(before + arrival.text);
    if (arrival.kind === 'gone') throw ended(arrival.exitCode, output);
    const { exitCode } = arrival;
    if (check === 'raise' && exitCode !== 0) {
      const what = `Command ${pyRepr(command)} failed with exit code ${exitCode}. Here is the output:\n${pyRepr(output)}`;
      throw new RuntimeFault(
        CLASSES.nonZeroExit,
        action.errorMsg === '' ? what : `${action.errorMsg}: ${what}`,
      );
    }
    return observation(output, check === 'ignore' ? null : exitCode, expectString);
  }

  /** Starts a program that asks, or answers the one that runs. Its end is not awaited, only one of the patterns or the end. */
  async #interactive(action: BashAction): Promise<Observation> {
    const { command, expect, timeout } = action;
    if (this.#isRunning) this.#child.stdin.write(`${command}\n`);
    else this.#begin(command);
    const deadlineMs = deadlineOf(timeout);
    const arrival = await this.#awaited(() => this.#arrival(expect.map(asPattern), deadlineMs));
    if (arrival.kind === 'late') throw tooLate(command, timeout);
    let output = this.#clean(arrival.text);
    if (arrival.kind === 'gone') throw ended(arrival.exitCode, output);
    if (!action.isInteractiveQuit) {
      const text = output.trimStart();
      output = (text.startsWith(command) ? text.slice(command.length) : text).trim();
    }
    return observation(output, 0, arrival.kind === 'end' ? PROMPT : (expect[arrival.index] ?? ''));
  }

  /** Resolves when no command runs. */
  async #idle(): Promise<void> {
    while (this.#isRunning && !this.isGone) await this.#change();
  }

  #begin(command: string): void {
    if (this.#goneCode !== undefined) throw ended(this.#goneCode, '');
    // the client has given up the command before
    this.#ended = undefined;
    this.#number += 1;
    this.#isRunning = true;
    const file = join(this.#folder, 'command');
    // a new file: some file systems write an overwritten one to the disk at once
    rmSync(file, { force: true });
    writeFileSync(file, `${command}\n`);
    this.#child.stdin.write(`__wa2ai_number=${this.#number} __wa2ai_code=; . ${quoted(file)}; __wa2ai_end\n`);
  }

  /** The next thing to report: a pattern in the output, the end of the command, or that it is late. */
  async #arrival(patterns: readonly RegExp[], deadlineMs: number): Promise<Arrival> {
    for (;;) {
      const arrival = this.#look(patterns);
      if (arrival) return arrival;
      if (!(await isBefore(this.#change(), deadlineMs))) return this.#look(patterns) ?? { kind: 'late' };
    }
  }

  #look(patterns: readonly RegExp[]): Arrival | undefined {
    const ended = this.#ended;
    if (ended) {
      const match = firstMatch(ended.text, patterns);
      if (match) {
        this.#ended = { ...ended, text: match.after };
        return { kind: 'pattern', index: match.index, text: match.before };
      }
      this.#ended = undefined;
      return { kind: 'end', exitCode: ended.exitCode, text: ended.text };
    }
    const match = this.#output.expect(patterns);
    if (match) return { kind: 'pattern', ...match };
    if (this.#goneCode === undefined) return undefined;
    return { kind: 'gone', exitCode: this.#goneCode, text: this.#output.take() };
  }

  /** Resolves when the shell has written something, or has ended. */
  #change(): Promise<void> {
    return new Promise((resolve) => this.#listeners.add(resolve));
  }

  /** While `work` waits for the running command, an interrupt leaves the output to it. */
  async #awaited<T>(work: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    try {
      return await work();
    } finally {
      this.#waiting -= 1;
    }
  }

  #onData(chunk: Buffer): void {
    for (const mark of this.#output.add(chunk)) {
      // a shell that was interrupted twice writes the mark of one command twice
      if (mark.number !== this.#number || !this.#isRunning) continue;
      this.#isRunning = false;
      this.#ended = mark;
    }
    this.#wake();
  }

  #gone(exitCode: number): void {
    this.#goneCode ??= exitCode;
    this.#wake();
  }

  #wake(): void {
    const listeners = this.#listeners;
    this.#listeners = new Set();
    for (const listener of listeners) listener();
  }

  #sendInterrupt(): void {
    if (this.#hasTerminal) this.#child.stdin.write('\x03');
    else if (this.#child.pid !== undefined) kill(-this.#child.pid, 'SIGINT');
  }

  #killForeground(): void {
    const shell = this.#hasTerminal ? childrenOf(this.#child.pid)[0] : this.#child.pid;
    if (shell === undefined) return;
    if (!this.#hasTerminal) for (const child of childrenOf(shell)) kill(child, 'SIGKILL');
    else {
      const group = foregroundGroup(shell);
      if (group !== undefined && group !== shell) kill(-group, 'SIGKILL');
    }
  }

  /** Without what a terminal adds. */
  #clean(text: string): string {
    const plain = withoutEscapes(text);
    return this.#hasTerminal ? plain.replaceAll('\r\n', '\n') : plain;
  }
}

/** What the shell reads at its start. It has no prompt; the mark is written before each command is read. */
function startScript(secret: string, files: readonly string[]): string {
  return [
    'if [ -r ~/.bashrc ]; then . ~/.bashrc; fi',
    ...files.map((file) => `. ${quoted(file)}`),
    '__wa2ai_end() {',
    '  __wa2ai_code=$?; PS1=; PS2=; PS0=; PROMPT_COMMAND=$__wa2ai_prompt',
    '}',
    `readonly __wa2ai_prompt='__wa2ai_code=\${__wa2ai_code:-$?}; builtin jobs -nr >/dev/null; builtin jobs -n; builtin printf "\\036${secret} %s %s\\036" "$__wa2ai_number" "$__wa2ai_code"'`,
    'readonly -f __wa2ai_end',
    '__wa2ai_number=0',
    'true',
    '__wa2ai_end',
    '',
  ].join('\n');
}

function observation(output: string, exitCode: number | null, expectString: string): Observation {
  return {
    output,
    exit_code: exitCode,
    failure_reason: '',
    expect_string: expectString,
    session_type: 'bash',
  };
}

function tooLate(command: string, timeout: number | undefined): RuntimeFault {
  const seconds = pyFloat(timeout ?? 0);
  return new RuntimeFault(
    CLASSES.timeout,
    `timeout after ${seconds} seconds while running command ${pyRepr(command)}`,
  );
}

function ended(exitCode: number, output: string): RuntimeFault {
  const message = `The shell of the session has ended with exit code ${exitCode}. Create the session again.`;
  return new RuntimeFault(CLASSES.ended, message, {
    exit_code: exitCode,
    output: output.slice(-MAX_ENDED_CHARS),
  });
}

function asPattern(source: string): RegExp {
  try {
    return new RegExp(source, 's');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new RuntimeFault(
      CLASSES.value,
      `The expect pattern ${pyRepr(source)} is not a regular expression: ${why}`,
    );
  }
}

function quoted(path: string): string {
  return `'${path.replaceAll("'", "'\\''")}'`;
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // it has ended
  }
}

function signalCode(signal: NodeJS.Signals | null): number {
  return 128 + (signal === null ? 0 : constants.signals[signal]);
}

/** When a wait of so many seconds ends, on the monotonic clock; without a limit never. */
function deadlineOf(seconds: number | undefined): number {
  return seconds === undefined ? Infinity : performance.now() + seconds * 1_000;
}

/** Whether `work` ends before the deadline; it is not cancelled. */
async function isBefore(work: Promise<unknown>, deadlineMs: number): Promise<boolean> {
  const leftMs = Math.min(deadlineMs - performance.now(), 2 ** 31 - 1);
  if (deadlineMs === Infinity) return work.then(() => true);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), Math.max(0, leftMs));
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

function deferred() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
