import { spawn } from 'node:child_process';
import { Argument, Command, type CommanderError, Option } from 'commander';
import { packageVersion } from '../config/package-version.ts';
import type { BackupCommand, BackupCommandDeps, RestoreCommand } from '../features/backup/backup-commands.ts';
import type { Cli } from './cli.ts';
import { addAccounts, addPair, addStatus } from './commands/accounts.ts';
import { addChats, addSend } from './commands/chats.ts';
import { addDoctor } from './commands/doctor.ts';
import { addAgents, addAudit, addDeadLetters, addKeys, addMessages, asking, part } from './commands/lists.ts';
import { addRoutes } from './commands/routes.ts';
import { completionFor, descendantsOf, namesOf, pathOf } from './completion/completion-for.ts';
import { CliUsageError } from './exit-code.ts';
import { oneLine, visible } from './output/table.ts';

/** `wa2ai backup`: works on the database itself, beside the service. */
function addBackup(parent: Command, cli: Cli): void {
  parent
    .command('backup')
    .description('write an encrypted backup of everything, also while the service runs')
    .argument('<file>', 'the file, which must not exist yet')
    .option('--passphrase-file <path>', 'file with the passphrase; default: WA2AI_BACKUP_PASSPHRASE')
    .option('--verify', 'restore it into a temporary database afterwards and compare every row')
    .action(async (file: string, options: BackupCommand) => {
      const { runBackup } = await import('../features/backup/backup-commands.ts');
      const { report, text } = await runBackup(file, options, await backupDeps(cli));
      cli.show(report, () => text);
    });
}

/** `wa2ai restore`: works on the database itself, while no node runs. */
function addRestore(parent: Command, cli: Cli): void {
  asking(parent.command('restore'))
    .description('restore a backup into the database of the settings')
    .argument('<file>', 'the backup')
    .option('--passphrase-file <path>', 'file with the passphrase; default: WA2AI_BACKUP_PASSPHRASE')
    .option('--replace', 'replace everything that is in the database')
    .option('--drill', 'restore into a temporary database only, compare every row, remove it')
    .option('--data-key-to <path>', 'only write the data key of the backup to a new file')
    .option('--settings-to <path>', 'only write the settings of the backup to a new file')
    .action(async (file: string, options: RestoreCommand) => {
      if (options.replace && !options.drill) {
        await cli.confirm(
          'Everything in the database of the settings will be replaced. It cannot be undone.',
        );
      }
      const { runRestore } = await import('../features/backup/backup-commands.ts');
      const { report, text } = await runRestore(file, options, await backupDeps(cli));
      cli.show(report, () => text);
    });
}

/** What backup and restore need. Log lines are not shown: every failure is a sentence. */
async function backupDeps(cli: Cli): Promise<BackupCommandDeps> {
  const [{ createTaskTables }, { createLogger }] = await Promise.all([
    import('../infra/engine/create-task-tables.ts'),
    import('../infra/logging/logger.ts'),
  ]);
  return { env: cli.host.env, log: createLogger({ level: 'silent', format: 'json' }), createTaskTables };
}

const VERBS = {
  test: 'call an agent once',
  inspect: 'show what an agent says about itself',
  check: 'check what wa2ai needs from an agent',
};

/** Describes `wa2ai agent` for help and completion. run-cli.ts runs it, because agent kinds add options to it. */
function addAgent(parent: Command): void {
  const agent = parent.command('agent').description('test, inspect or check an agent without wa2ai running');
  for (const [verb, description] of Object.entries(VERBS)) {
    agent
      .command(verb)
      .description(description)
      .argument('<url>', 'URL of the agent')
      .option('--kind <kind>', 'protocol of the agent; default: detected')
      .option('--timeout <ms>', 'longest wait for one answer; default: 30000');
  }
}

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'];
const COLOURS: Readonly<Record<string, 'dim' | 'yellow' | 'red'>> = {
  trace: 'dim',
  debug: 'dim',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
};

interface LogLine extends Record<string, unknown> {
  time: string;
  level: string;
}

interface LogsOptions {
  follow?: boolean;
  level?: string;
  account?: string;
  limit?: string;
}

/** `wa2ai logs`: the newest log lines of one node. */
function addLogs(parent: Command, cli: Cli): void {
  parent
    .command('logs')
    .description('show the newest log lines of this node, or follow them')
    .option('-f, --follow', 'show each new line too, until Ctrl-C')
    .addOption(new Option('--level <level>', 'only lines of this level or above').choices(LEVELS))
    .option('--account <account>', 'only lines about this account')
    .option('--limit <number>', 'how many of the last lines, 1 to 2000; default: 200')
    .action(async ({ follow, level, account, limit }: LogsOptions) => {
      const [{ formatForTerminal }, { followEvents }] = await Promise.all([
        import('../infra/logging/log-output.ts'),
        import('./service/follow-events.ts'),
      ]);
      const textOf = (line: LogLine) => lineOf(cli, line, formatForTerminal(line));
      const query = { level, accountId: account, limit };
      const api = await cli.api();
      if (!follow) {
        const answer = await api.call<{ data: LogLine[] }>('GET', '/api/logs', { query });
        const text = () => answer.data.map(textOf).join('\n');
        if (cli.isJson || answer.data.length > 0) cli.show(answer, text);
        return;
      }
      await followEvents(api, '/api/logs', {
        query: { ...query, follow: true },
        signal: cli.host.untilInterrupted(),
        sleep: cli.host.sleep,
        handle: ({ name, data }) => {
          if (name === 'lost') return cli.say('wa2ai: lines may be missing here.');
          cli.showLine(data, () => textOf(data as LogLine));
        },
        onBreak: (sentence) => cli.say(`wa2ai: ${sentence}`),
      });
    });
}

/** As in the terminal of the service: `12:00:00.310 INFO  message received  messageId=4711`. */
function lineOf({ colours }: Cli, line: LogLine, content: string): string {
  const colour = COLOURS[line.level];
  const level = line.level.toUpperCase().padEnd(5);
  const time = colours.paint('dim', line.time);
  const text = content.split('\n').map(visible).join('\n');
  return `${time} ${colour ? colours.paint(colour, level) : level} ${text}`;
}

/** `wa2ai start`: the service in this terminal until it is stopped. */
function addStart(parent: Command): void {
  parent
    .command('start')
    .description('run the service in this terminal, with the settings of .env and the environment')
    .action(async () => {
      // It takes over signals, output and the exit code.
      await import('../main.ts');
    });
}

/** `wa2ai open`: the pages of wa2ai in a browser. */
function addOpen(parent: Command, cli: Cli): void {
  parent
    .command('open')
    .description('print the address of the pages of wa2ai and open it in a browser')
    .action(async () => {
      const { data } = await (await cli.api()).call<{
        data: ReadonlyArray<{ isSelf: boolean; url: string }>;
      }>('GET', '/api/nodes');
      const { url: given } = cli.target;
      const url = given ?? data.find(({ isSelf }) => isSelf)?.url ?? '';
      cli.show({ url }, () => url);
      if (cli.host.isTerminal && !cli.isJson) openBrowser(url);
    });
}

/** A machine without a browser is not a failure: the address is printed. */
function openBrowser(url: string): void {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const child = spawn(program, [url], { detached: true, stdio: 'ignore' });
  child.once('error', () => undefined);
  child.unref();
}

/** `wa2ai completion`: the words of all commands for a shell. */
function addCompletion(parent: Command, cli: Cli): void {
  parent
    .command('completion')
    .description('print the completion for a shell: source <(wa2ai completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      cli.host.write(completionFor(shell, parent));
    });
  // Called by these scripts at each Tab.
  parent
    .command('names')
    .description('print the names that complete an argument, one in each line')
    .addArgument(
      new Argument('<kind>', 'what is named').choices(['account', 'agent', 'chat', 'key', 'route']),
    )
    .action(async (argument: string) => {
      const names = await namesOf(await cli.api(), argument);
      cli.show({ success: true, data: names }, () => names.join('\n'));
    });
}

/** `wa2ai simulate`: runs scenarios of the playground as tests. */
function addSimulate(parent: Command, cli: Cli): void {
  parent
    .command('simulate')
    .description('run scenarios of the playground; ends with 1 when an assertion fails')
    .argument('<files...>', 'YAML files of scenarios')
    .option('--own', 'start a service for this command, in a temporary folder and without WhatsApp')
    .action(async (files: string[], { own }: { own?: boolean }) => {
      const { simulate } = await import('./simulate/simulate.ts');
      await simulate(cli, files, own === true);
    });
}

/** `wa2ai mcp`: an MCP server on standard input and output. */
function addMcp(parent: Command, cli: Cli): void {
  parent
    .command('mcp')
    .description('be an MCP server on standard input and output, for desktop clients')
    .argument('[address]', 'URL of the running wa2ai; the same as --url')
    .action(async (address: string | undefined) => {
      const [{ runMcpTool }, { connectionTo }, { keyOf, targetOf }] = await Promise.all([
        import('../features/mcp/http-bridge.ts'),
        import('./service/connection-to.ts'),
        import('./service/target.ts'),
      ]);
      const { env } = cli.host;
      const options = address === undefined ? cli.target : { ...cli.target, url: address };
      // A key of the environment limits what the tools may do, also over the Unix socket.
      const key = keyOf(options.keyFile, env);
      const connect = async () => connectionTo({ ...(await targetOf(options, env)), ...(key && { key }) });
      // Wrong arguments end the program before the client has sent anything.
      await targetOf(options, env);
      await runMcpTool(connect, (sentence) => cli.say(`wa2ai: ${sentence}`));
    });
}

interface Side {
  headers: Record<string, string>;
  body?: string;
  bytes?: number;
}

interface Exchange {
  attempt?: number;
  at: string;
  ms?: number;
  request: Side & { method: string; url: string };
  response?: Side & { status: number };
  fault?: string;
}

/** `wa2ai exchanges`: what was sent to agents for a message, and what came back. */
function addExchanges(parent: Command, cli: Cli): void {
  parent
    .command('exchanges')
    .description('show what was sent to agents for a message, and what came back, without secrets')
    .argument('<message>', 'id of a message received, as `wa2ai messages` shows it')
    .action(async (id: string) => {
      const api = await cli.api();
      const answer = await api.call<{ data: readonly Exchange[] }>(
        'GET',
        `/api/messages/${part(id)}/exchanges`,
      );
      cli.show(answer, () =>
        answer.data.length === 0
          ? 'No request is stored: none was made, storing is switched off, or it was too long ago.'
          : answer.data.map((exchange) => textOf(cli, exchange)).join('\n\n'),
      );
    });
}

/** As HTTP shows it: `> ` was sent, `< ` came back. */
function textOf({ colours }: Cli, { attempt, at, ms, request, response, fault }: Exchange): string {
  const title = [
    attempt === undefined ? undefined : `attempt ${attempt}`,
    at,
    ms === undefined ? undefined : `${ms} ms`,
    fault,
  ];
  return [
    colours.paint('bold', visible(title.filter((each) => each !== undefined).join(' · '))),
    ...linesOf('>', `${request.method} ${request.url}`, request),
    ...(response ? linesOf('<', String(response.status), response) : []),
  ].join('\n');
}

function linesOf(mark: string, first: string, { headers, body, bytes }: Side): string[] {
  const size = bytes === undefined ? '' : ` (${bytes} bytes)`;
  const named = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const lines = [first + size, ...named, ...(body === undefined ? [] : ['', ...body.split('\n')])];
  return lines.map((line) => `${mark} ${visible(line)}`.trimEnd());
}

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
    for (const option of command.options) refuseOthers(option, option.long ?? option.flags);
    for (const argument of command.registeredArguments) refuseOthers(argument, `the ${argument.name()}`);
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

/** Refuses every value but the choices, in a sentence for people: the one of Commander names parts of its code. */
function refuseOthers(what: Argument | Option, name: string): void {
  const { argChoices: choices } = what;
  if (!choices) return;
  what.argParser((value: string) => {
    if (choices.includes(value)) return value;
    const words = `${choices.slice(0, -1).join(', ')} or ${choices.at(-1)}`;
    throw new CliUsageError(`${name} must be ${words}, not "${oneLine(value)}"`);
  });
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
  'wa2ai chats list': [
    'wa2ai chats list --search ana --unanswered',
    'wa2ai chats list --needs',
    'wa2ai chats list --route support',
  ],
  'wa2ai chats show': ['wa2ai chats show +5493777239922', 'wa2ai chats show Ana'],
  'wa2ai chats pause': ['wa2ai chats pause +5493777239922 --minutes 30 --reason "Maria answers."'],
  'wa2ai chats resume': ['wa2ai chats resume 17 --answer-missed'],
  'wa2ai chats approve': ['wa2ai chats list --access pending', 'wa2ai chats approve 17'],
  'wa2ai chats refuse': ['wa2ai chats refuse 17'],
  'wa2ai chats tag': ['wa2ai chats tag 17 vip madrid'],
  'wa2ai chats export': ['wa2ai chats export 17 > chat.jsonl'],
  'wa2ai messages': [
    'wa2ai messages --chat Ana',
    'wa2ai messages --chat +5493777239922 --text order',
    'wa2ai messages --follow --chat +5493777239922',
  ],
  'wa2ai exchanges': ['wa2ai exchanges 4711'],
  'wa2ai send': [
    'wa2ai send +5493777239922 "Your order is ready."',
    'wa2ai send +5493777239922 "Your order is ready." --wait',
    'wa2ai send "Ana Gómez" "Your order is ready."',
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
