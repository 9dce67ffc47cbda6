import { setTimeout } from 'node:timers/promises';
import type { CliHost } from '../../router/src/cli/cli.ts';
import { runCli } from '../../router/src/cli/run-cli.ts';

/** What surrounds a command line in a test: no terminal unless a test names one, and what it writes is kept. */
export function hostOf({
  env = {},
  nowMs = 0,
  signal = new AbortController().signal,
  answer,
  columns,
}: {
  env?: Record<string, string>;
  nowMs?: number;
  /** Ends what follows something, as Ctrl-C does. */
  signal?: AbortSignal;
  /** What the person types when asked; absent: nobody can be asked. */
  answer?: string;
  /** Width of a terminal; absent: no terminal. */
  columns?: number;
} = {}) {
  const written = { output: '', errors: '' };
  const host: CliHost = {
    env,
    write: (text) => {
      written.output += text;
    },
    writeError: (text) => {
      written.errors += text;
    },
    isTerminal: columns !== undefined,
    columns,
    now: () => nowMs,
    // The service of a test needs no pause between two requests.
    sleep: (_ms, signal) => setTimeout(1, undefined, { signal }),
    ask:
      answer === undefined
        ? undefined
        : async (question) => {
            written.errors += question;
            return answer;
          },
    untilInterrupted: () => signal,
  };
  return { host, written };
}

/** Runs the command line in this process, as `hostOf` says. */
export async function runWa2ai(args: readonly string[], options: Parameters<typeof hostOf>[0] = {}) {
  const { host, written } = hostOf(options);
  const code = await runCli(args, host);
  return { code, ...written };
}
