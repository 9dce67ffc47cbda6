import type { Command } from 'commander';
import type { RouteToCheck } from '../../infra/doctor/check-network.ts';
import type { RunningService } from '../../infra/doctor/examine.ts';
import type { Finding } from '../../infra/doctor/finding.ts';
import type { Cli } from '../cli.ts';
import { CliError, EXIT } from '../exit-code.ts';

const MOODS = { ok: 'good', warning: 'look', error: 'bad' } as const;

/** `wa2ai doctor`: what keeps the service from working, whether it runs or not. */
export function addDoctor(parent: Command, cli: Cli): void {
  parent
    .command('doctor')
    .description('check this machine, the database, WhatsApp and the agents, with a fix for each finding')
    .action(async () => {
      const [{ examine }, { createLogger }] = await Promise.all([
        import('../../infra/doctor/examine.ts'),
        import('../../infra/logging/logger.ts'),
      ]);
      const { env, now } = cli.host;
      const log = createLogger({ level: 'silent', format: 'json' });
      const findings = await examine({ env, log, nowMs: now, service: await runningService(cli) });
      if (findings.some(({ level }) => level === 'error')) cli.exitCode = EXIT.failed;
      cli.show({ findings }, () => findings.map((finding) => textOf(cli, finding)).join('\n'));
    });
}

/** Undefined: none answers. A service that refuses the caller runs; its routes are then not known. */
async function runningService(cli: Cli): Promise<RunningService | undefined> {
  const api = await cli.api();
  try {
    const { reasons } = await api.call<Pick<RunningService, 'reasons'>>('GET', '/health/ready', {
      accept: [503],
    });
    const routes = await api.call<{ data: RouteToCheck[] }>('GET', '/api/routes').catch((error: unknown) => {
      if (error instanceof CliError) return { data: [] };
      throw error;
    });
    return { reasons, routes: routes.data };
  } catch (error) {
    if (error instanceof CliError) return undefined;
    throw error;
  }
}

function textOf({ colours }: Cli, { check, level, message, fix }: Finding): string {
  const line = `${colours.state(level.padEnd(7), MOODS[level])}  ${check.padEnd(10)}  ${message}`;
  return fix === undefined ? line : `${line}\n${' '.repeat(21)}${fix}`;
}
