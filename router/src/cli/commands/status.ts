import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { EXIT } from '../exit-code.ts';
import { fields, table } from '../output/table.ts';
import { durationOf } from '../output/times.ts';
import { oneLine } from '../output/visible-text.ts';
import { moodOf } from './account-text.ts';

interface Health {
  status: 'ok' | 'failing';
  uptimeSeconds: number;
  database: 'ok' | 'failing';
  /** Absent: the key may not read accounts. */
  accounts?: ReadonlyArray<{ accountId: string; state: string; nextAction: string; node?: string }>;
}

interface Ready {
  status: 'ready' | 'not-ready';
  reasons: ReadonlyArray<{ name: string; message: string }>;
  node: string;
}

/** `wa2ai status`: whether the service runs, its accounts, and what a person should do. */
export function addStatus(parent: Command, cli: Cli): void {
  parent
    .command('status')
    .description('show whether wa2ai runs, its accounts and what to do next')
    .action(async () => {
      const api = await cli.api();
      const accept = [503];
      const [health, ready] = await Promise.all([
        api.call<Health>('GET', '/health', { accept }),
        api.call<Ready>('GET', '/health/ready', { accept }),
      ]);
      if (ready.status !== 'ready') cli.exitCode = EXIT.failed;
      cli.show({ ...health, ready }, () => textOf(cli, api.name, health, ready));
    });
}

function textOf({ colours, host }: Cli, name: string, health: Health, ready: Ready): string {
  const isReady = ready.status === 'ready';
  const parts = [
    fields([
      ['wa2ai', `${colours.state(ready.status, isReady ? 'good' : 'look')}, at ${name}`],
      ['node', ready.node],
      ['running', `for ${durationOf(health.uptimeSeconds)}`],
      ['database', colours.state(health.database, health.database === 'ok' ? 'good' : 'bad')],
    ]),
  ];
  const { accounts = [] } = health;
  if (accounts.length > 0) {
    const rows = accounts.map(({ accountId, state, nextAction }) => [
      accountId,
      colours.state(state, moodOf(state)),
      oneLine(nextAction),
    ]);
    parts.push(table(['ACCOUNT', 'STATE', 'NEXT'], rows, host.columns));
  }
  const others = ready.reasons.filter(({ name }) => !name.startsWith('account:'));
  if (others.length > 0) parts.push(others.map(({ message }) => message).join('\n'));
  return parts.join('\n\n');
}
