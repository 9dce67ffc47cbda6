import { spawn } from 'node:child_process';
import { Argument, type Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { visible } from '../output/table.ts';
import { part } from './lists.ts';

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
export function addLogs(parent: Command, cli: Cli): void {
  parent
    .command('logs')
    .description('show the newest log lines of this node, or follow them')
    .option('-f, --follow', 'show each new line too, until Ctrl-C')
    .addOption(new Option('--level <level>', 'only lines of this level or above').choices(LEVELS))
    .option('--account <account>', 'only lines about this account')
    .option('--limit <number>', 'how many of the last lines, 1 to 2000; default: 200')
    .action(async ({ follow, level, account, limit }: LogsOptions) => {
      const [{ formatForTerminal }, { followEvents }] = await Promise.all([
        import('../../infra/logging/log-output.ts'),
        import('../service/follow-events.ts'),
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
export function addStart(parent: Command): void {
  parent
    .command('start')
    .description('run the service in this terminal, with the settings of .env and the environment')
    .action(async () => {
      // It takes over signals, output and the exit code.
      await import('../../main.ts');
    });
}

/** `wa2ai open`: the pages of wa2ai in a browser. */
export function addOpen(parent: Command, cli: Cli): void {
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
export function addCompletion(parent: Command, cli: Cli): void {
  parent
    .command('completion')
    .description('print the completion for a shell: source <(wa2ai completion bash)')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionFor } = await import('../completion/completion-for.ts');
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
      const { namesOf } = await import('../completion/completion-for.ts');
      const names = await namesOf(await cli.api(), argument);
      cli.show({ success: true, data: names }, () => names.join('\n'));
    });
}

/** `wa2ai simulate`: runs scenarios of the playground as tests. */
export function addSimulate(parent: Command, cli: Cli): void {
  parent
    .command('simulate')
    .description('run scenarios of the playground; ends with 1 when an assertion fails')
    .argument('<files...>', 'YAML files of scenarios')
    .option('--own', 'start a service for this command, in a temporary folder and without WhatsApp')
    .action(async (files: string[], { own }: { own?: boolean }) => {
      const { simulate } = await import('../simulate/simulate.ts');
      await simulate(cli, files, own === true);
    });
}

/** `wa2ai mcp`: an MCP server on standard input and output. */
export function addMcp(parent: Command, cli: Cli): void {
  parent
    .command('mcp')
    .description('be an MCP server on standard input and output, for desktop clients')
    .argument('[address]', 'URL of the running wa2ai; the same as --url')
    .action(async (address: string | undefined) => {
      const [{ runMcpTool }, { connectionTo }, { keyOf, targetOf }] = await Promise.all([
        import('../../features/mcp/http-bridge.ts'),
        import('../service/connection-to.ts'),
        import('../service/target.ts'),
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
export function addExchanges(parent: Command, cli: Cli): void {
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
