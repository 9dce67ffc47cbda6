import { CommanderError } from 'commander';
import { Wa2aiError } from '../core/errors.ts';
import { ToolkitError, ToolUsageError } from '../infra/agents/agent-tools.ts';
import { Cli, type CliHost } from './cli.ts';
import { CliError, CliUsageError, EXIT } from './exit-code.ts';
import { createProgram } from './program.ts';

/**
 * Runs one command line.
 * @param args what follows `wa2ai`
 * @returns the exit code
 * @throws what is a defect: anything but the errors that commands throw on purpose
 */
export async function runCli(args: readonly string[], host: CliHost): Promise<number> {
  const cli = new Cli(host);
  try {
    // Its options depend on the kinds of agents, which only this command loads.
    if (args[0] === 'agent') {
      const { runAgentTools } = await import('./commands/agent-tools.ts');
      return await runAgentTools(args.slice(1), host);
    }
    const program = createProgram(cli);
    if (args.length === 0) program.outputHelp();
    else await program.parseAsync(args, { from: 'user' });
    return cli.exitCode;
  } catch (error) {
    return reportError(error, args, host);
  }
}

function reportError(error: unknown, args: readonly string[], host: CliHost): number {
  if (error instanceof CommanderError && error.exitCode === 0) return EXIT.success;
  if (error instanceof CommanderError) {
    host.writeError(`wa2ai: ${sentenceOf(error, args)}\n`);
    return EXIT.usage;
  }
  if (error instanceof ToolUsageError || error instanceof CliUsageError) {
    host.writeError(`wa2ai: ${error.message} ${helpHint(args)}\n`);
    return EXIT.usage;
  }
  if (error instanceof CliError || error instanceof ToolkitError || error instanceof Wa2aiError) {
    host.writeError(`wa2ai: ${error.message}\n`);
    return error instanceof CliError ? error.exitCode : EXIT.failed;
  }
  throw error;
}

/** Commander's sentence with its suggestion, in one line. */
function sentenceOf({ message }: CommanderError, args: readonly string[]): string {
  const [what = '', suggestion] = message.replace(/^error: /, '').split('\n');
  const sentence = what.replaceAll("'", '"').replace(/\.$/, '');
  if (suggestion === undefined) return `${sentence} ${helpHint(args)}`;
  return `${sentence}. ${suggestion.replace(/^\(|\)$/g, '')}`;
}

/** Names the help of the command, without what may be a secret or a text. */
function helpHint(args: readonly string[]): string {
  const [name] = args;
  const isCommand = name !== undefined && /^[a-z][a-z-]*$/.test(name);
  return isCommand && name !== 'agent' ? `(see wa2ai help ${name})` : '(see wa2ai --help)';
}
