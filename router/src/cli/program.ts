import { Command, type CommanderError } from 'commander';
import { packageVersion } from '../config/package-version.ts';
import type { Cli } from './cli.ts';
import { descendantsOf, pathOf } from './command-tree.ts';
import { commandGroups } from './commands.ts';
import { EXAMPLES } from './examples.ts';
import { CliUsageError } from './exit-code.ts';

const EXIT_CODES = `Exit codes:
  0 success  1 failed  2 wrong usage  3 no wa2ai answers  4 wa2ai refuses the caller

docs/cli.md describes every command.`;

/**
 * The tree of all commands. Nothing runs before `parseAsync`, which rejects with a CommanderError for wrong usage.
 */
export function createProgram(cli: Cli): Command {
  const program = new Command('wa2ai')
    .description('Connects WhatsApp accounts to AI agents.')
    .version(packageVersion(), '-v, --version', 'show the version')
    .option('--json', 'print JSON')
    .option('--url <url>', 'the running wa2ai; default: WA2AI_URL, else its socket file, else its port')
    .option('--key-file <file>', 'file of the key for the API; default: the key of WA2AI_API_KEY')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help of a command')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => cli.host.write(text),
      // run-cli.ts prints one sentence instead of the help.
      writeErr: () => undefined,
      getOutHelpWidth: () => cli.host.columns ?? 100,
      getOutHasColors: () => cli.colours.isOn,
    })
    .hook('preAction', (_program, command) => cli.use(command))
    .addHelpText('after', `\n${EXIT_CODES}`);
  for (const { title, commands } of commandGroups) {
    program.commandsGroup(`${title}:`);
    for (const add of commands) add(program, cli);
  }
  for (const command of [program, ...descendantsOf(program)]) {
    command.exitOverride(refuseEmptyGroup(command));
    const examples = EXAMPLES[pathOf(command)];
    if (examples) command.addHelpText('after', `\nExamples:\n  ${examples.join('\n  ')}`);
  }
  return program;
}

/** Commander shows the help of a group without a command as an error. One sentence is enough. */
function refuseEmptyGroup(command: Command): (error: CommanderError) => never {
  return (error) => {
    if (error.code !== 'commander.help' || error.exitCode === 0) throw error;
    const names = command.commands.map((child) => child.name());
    throw new CliUsageError(`a command is missing after "${pathOf(command)}"; use ${names.join(', ')}`);
  };
}
