import { CLASSES, pyRepr, RuntimeFault } from './fault.ts';
import { runProgram } from './run-program.ts';

/**
 * Checks a command without running it.
 * @throws {RuntimeFault} bash cannot parse it; `extra_info` has what bash says
 */
export async function checkSyntax(command: string): Promise<void> {
  if (isPlain(command)) return;
  const { stdout, stderr, exit_code } = await runProgram({
    command: ['/usr/bin/env', 'bash', '-n'],
    shell: false,
    stdin: `${command}\n`,
  });
  if (exit_code === 0) return;
  const message = `Error (exit code ${exit_code}) while checking bash command \n${pyRepr(command)}\n---- Stderr ----\n${stderr}\n---- Stdout ----\n${stdout}`;
  throw new RuntimeFault(CLASSES.syntax, message, { bash_stdout: stdout, bash_stderr: stderr });
}

/** Words that begin or end a construct; any other sequence of plain words is a valid command. */
const RESERVED =
  /(^|[;\s])(if|then|else|elif|fi|case|esac|for|select|while|until|do|done|in|function|time|coproc)([;\s]|$)/;

/** A line of plain words, which needs no check. */
function isPlain(command: string): boolean {
  return /^[\w./:=,@%+ -]+$/.test(command) && !RESERVED.test(command);
}
