import type { CliHost } from '../../router/src/cli/cli.ts';
import { runCli } from '../../router/src/cli/run-cli.ts';

/** What surrounds a command line in a test: no terminal, and what it writes is kept. */
export function hostOf({
  env = {},
  nowMs = 0,
  signal = new AbortController().signal,
}: {
  env?: Record<string, string>;
  nowMs?: number;
  /** Ends what follows something, as Ctrl-C does. */
  signal?: AbortSignal;
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
    isTerminal: false,
    columns: undefined,
    now: () => nowMs,
    untilInterrupted: () => signal,
  };
  return { host, written };
}

/** Runs the command line in this process, without a terminal. */
export async function runWa2ai(args: readonly string[], options: Parameters<typeof hostOf>[0] = {}) {
  const { host, written } = hostOf(options);
  const code = await runCli(args, host);
  return { code, ...written };
}
