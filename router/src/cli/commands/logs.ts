import { type Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { visible } from '../output/visible-text.ts';

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
