import { Command, type CommanderError } from 'commander';
import { packageVersion } from '../config/package-version.ts';
import type { Cli } from './cli.ts';
import { descendantsOf, pathOf } from './command-tree.ts';
import { addAccounts, addPair, addStatus } from './commands/accounts.ts';
import { addAgent } from './commands/agent.ts';
import { addBackup, addRestore } from './commands/backup.ts';
import { addChats, addSend } from './commands/chats.ts';
import { addDoctor } from './commands/doctor.ts';
import { addAgents, addAudit, addDeadLetters, addKeys, addMessages } from './commands/lists.ts';
import { addRoutes } from './commands/routes.ts';
import {
  addCompletion,
  addExchanges,
  addLogs,
  addMcp,
  addOpen,
  addSimulate,
  addStart,
} from './commands/service.ts';
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
    .option('--url <url>', 'the running wa2ai; default: WA2AI_URL, else its Unix socket, else its port')
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

/** Adds a command to its parent. What it needs to run is loaded when it runs. */
type AddCommand = (parent: Command, cli: Cli) => void;

/** Every command, in the order of the help. A new command is one file of commands/ and one word here. */
const commandGroups: ReadonlyArray<{ title: string; commands: readonly AddCommand[] }> = [
  { title: 'Service', commands: [addStart, addStatus, addDoctor, addLogs, addOpen] },
  { title: 'Backup', commands: [addBackup, addRestore] },
  {
    title: 'WhatsApp',
    commands: [addPair, addAccounts, addChats, addMessages, addExchanges, addSend, addDeadLetters],
  },
  { title: 'Routes and agents', commands: [addRoutes, addAgents, addAgent, addSimulate] },
  { title: 'Access', commands: [addKeys, addAudit] },
  { title: 'Programs', commands: [addMcp, addCompletion] },
];

/** Examples of every command, which its help shows. The chat `+5493777239922` stands for any. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  'wa2ai start': ['wa2ai start'],
  'wa2ai status': ['wa2ai status', 'wa2ai status --json'],
  'wa2ai doctor': ['wa2ai doctor', 'wa2ai doctor --live', 'wa2ai doctor --json'],
  'wa2ai logs': ['wa2ai logs --level warn', 'wa2ai logs --follow --account sales'],
  'wa2ai open': ['wa2ai open'],
  'wa2ai backup': ['wa2ai backup wa2ai.backup --passphrase-file passphrase --verify'],
  'wa2ai restore': [
    'wa2ai restore wa2ai.backup --passphrase-file passphrase --drill',
    'wa2ai restore wa2ai.backup --passphrase-file passphrase',
  ],
  'wa2ai pair': ['wa2ai pair', 'wa2ai pair sales --code +5493777239922'],
  'wa2ai accounts list': ['wa2ai accounts list'],
  'wa2ai accounts add': ['wa2ai accounts add sales', 'wa2ai accounts add sales --proxy proxy-url'],
  'wa2ai accounts remove': ['wa2ai accounts remove sales', 'wa2ai accounts remove sales --yes'],
  'wa2ai accounts proxy': ['wa2ai accounts proxy sales proxy-url', 'wa2ai accounts proxy sales --remove'],
  'wa2ai accounts restart': ['wa2ai accounts restart sales'],
  'wa2ai accounts logout': ['wa2ai accounts logout sales'],
  'wa2ai chats list': ['wa2ai chats list --search ana --unanswered'],
  'wa2ai chats show': ['wa2ai chats show +5493777239922', 'wa2ai chats show Ana'],
  'wa2ai chats pause': ['wa2ai chats pause +5493777239922 --minutes 30 --reason "Maria answers."'],
  'wa2ai chats resume': ['wa2ai chats resume 17 --answer-missed'],
  'wa2ai chats approve': ['wa2ai chats list --access pending', 'wa2ai chats approve 17'],
  'wa2ai chats refuse': ['wa2ai chats refuse 17'],
  'wa2ai chats tag': ['wa2ai chats tag 17 vip madrid'],
  'wa2ai chats export': ['wa2ai chats export 17 > chat.jsonl'],
  'wa2ai messages': [
    'wa2ai messages --chat +5493777239922 --text order',
    'wa2ai messages --follow --chat +5493777239922',
  ],
  'wa2ai exchanges': ['wa2ai exchanges 4711'],
  'wa2ai send': [
    'wa2ai send +5493777239922 "Your order is ready."',
    'wa2ai send +5493777239922 "Your order is ready." --wait',
    'wa2ai send +5493777239922 "Our menu" --file menu.jpg',
    'wa2ai send +5493777239922 "Yes, on Monday." --quote 4711',
    'wa2ai send +5493777239922 👍 --react 4711',
    'wa2ai send +5493777239922 "When?" --poll Monday Tuesday',
  ],
  'wa2ai dead-letters list': ['wa2ai dead-letters list'],
  'wa2ai dead-letters replay': ['wa2ai dead-letters replay 4', 'wa2ai dead-letters replay --all --yes'],
  'wa2ai dead-letters close': ['wa2ai dead-letters close 4'],
  'wa2ai routes list': ['wa2ai routes list'],
  'wa2ai routes show': ['wa2ai routes show support', 'wa2ai routes show 01987c2e'],
  'wa2ai routes add': [
    'wa2ai routes add http://localhost:8000',
    'wa2ai routes add http://localhost:8000 --chat +5493777239922 --name orders',
    'wa2ai routes add route.json',
  ],
  'wa2ai routes edit': ['wa2ai routes edit support change.json'],
  'wa2ai routes remove': ['wa2ai routes remove support', 'wa2ai routes remove support --yes'],
  'wa2ai routes test': ['wa2ai routes test support', 'wa2ai routes test --file route.json'],
  'wa2ai routes export': ['wa2ai routes export routes.yaml'],
  'wa2ai routes apply': ['wa2ai routes apply routes.yaml --dry-run', 'wa2ai routes apply routes.yaml'],
  'wa2ai routes history': ['wa2ai routes history', 'wa2ai routes history 12'],
  'wa2ai routes rollback': ['wa2ai routes rollback 11 --dry-run', 'wa2ai routes rollback 11'],
  'wa2ai routes explain': ['wa2ai routes explain +5493777239922 "Where is my order?"'],
  'wa2ai agents list': ['wa2ai agents list'],
  'wa2ai agents show': ['wa2ai agents show helper'],
  'wa2ai agents start': ['wa2ai agents start helper'],
  'wa2ai agents stop': ['wa2ai agents stop helper'],
  'wa2ai agents logs': ['wa2ai agents logs helper'],
  'wa2ai keys list': ['wa2ai keys list'],
  'wa2ai keys add': ['wa2ai keys add ci routes:read messages:read'],
  'wa2ai keys revoke': ['wa2ai keys revoke k7Qd'],
  'wa2ai audit list': ['wa2ai audit list --limit 20'],
  'wa2ai audit verify': ['wa2ai audit verify', 'wa2ai audit verify --json'],
  'wa2ai simulate': [
    'wa2ai simulate examples/scenarios/echo.yaml',
    'wa2ai simulate --own scenarios/greeting.yaml scenarios/orders.yaml',
  ],
  'wa2ai mcp': ['wa2ai mcp', 'wa2ai mcp --key-file mcp-key'],
  'wa2ai completion': ['source <(wa2ai completion bash)'],
  'wa2ai names': ['wa2ai names route'],
};
