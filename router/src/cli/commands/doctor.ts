import type { Command } from 'commander';
import type { ClientVersion } from '../../core/client-version.ts';
import type { Rule } from '../../core/routing/covering-route.ts';
import type { AgentToCheck, RouteToCheck } from '../../features/doctor/check-agents.ts';
import type { AccountToCheck, Finding } from '../../features/doctor/check-network.ts';
import type { RunningService } from '../../features/doctor/examine.ts';
import type { ProbeResult } from '../../infra/agents/route-probe.ts';
import type { Cli } from '../cli.ts';
import { CliError, CliUsageError, EXIT } from '../exit-code.ts';
import type { Api } from '../service/api.ts';
import { part } from './lists.ts';

const SEVERITY = ['ok', 'warning', 'error'];
const MOODS = { ok: 'good', warning: 'look', error: 'bad' } as const;

/** `wa2ai doctor`: what keeps the service from working, whether it runs or not. */
export function addDoctor(parent: Command, cli: Cli): void {
  parent
    .command('doctor')
    .description('check this machine, the database, WhatsApp and the agents, with a fix for each finding')
    .option('--live', 'check the real WhatsApp, and print a report for a bug report, without personal data')
    .action(async ({ live }: { live?: boolean }) => {
      if (live) return await showLive(cli);
      const [{ examine }, { createLogger }] = await Promise.all([
        import('../../features/doctor/examine.ts'),
        import('../../infra/logging/logger.ts'),
      ]);
      const { env, now } = cli.host;
      const log = createLogger({ level: 'silent', format: 'json' });
      const findings = await examine({ env, log, nowMs: now, service: await runningService(cli) });
      if (findings.some(({ level }) => level === 'error')) cli.exitCode = EXIT.failed;
      // Nobody reads a long list twice: what is wrong comes last.
      findings.sort((a, b) => SEVERITY.indexOf(a.level) - SEVERITY.indexOf(b.level));
      cli.show({ findings }, () => findings.map((finding) => textOf(cli, finding)).join('\n'));
    });
}

async function showLive(cli: Cli): Promise<void> {
  const [{ examineLive }, { readClientRevision }, { boundedFetch }, { Egress }, { systemClock }] =
    await Promise.all([
      import('../../features/doctor/examine-live.ts'),
      import('../../providers/baileys/connection/client-versions.ts'),
      import('../../infra/agents/transport/bounded-fetch.ts'),
      import('../../infra/agents/transport/egress.ts'),
      import('../../infra/clock/system-clock.ts'),
    ]);
  const { env, now } = cli.host;
  // The address is the operator's.
  const egress = new Egress('any');
  const report = await examineLive({
    ...{ env, nowMs: now, service: await runningService(cli) },
    readRevision: (url) =>
      readClientRevision(url, {
        fetchPage: (page, options) => boundedFetch(page, { method: 'GET', ...options }, egress),
        clock: systemClock,
        signal: new AbortController().signal,
      }),
  });
  const { wa2ai, node, system, at, findings } = report;
  if (findings.some(({ level }) => level === 'error')) cli.exitCode = EXIT.failed;
  cli.show(report, () =>
    [
      `wa2ai ${wa2ai}, Node.js ${node}, ${system}, ${at}`,
      ...findings.map((finding) => textOf(cli, finding)),
    ].join('\n'),
  );
}

interface Ready {
  node: string;
  reasons: RunningService['reasons'];
}

/** Undefined: no wa2ai answers; another program may. */
async function runningService(cli: Cli): Promise<RunningService | undefined> {
  try {
    const api = await cli.api();
    const ready = await api.call<Partial<Ready> | undefined>('GET', '/health/ready', { accept: [503] });
    if (typeof ready?.node !== 'string' || !Array.isArray(ready.reasons)) return undefined;
    return {
      reasons: ready.reasons,
      agents: () => agentFindings(api),
      accounts: () => accountsOf(api),
      limits: (id) => limitsOf(api, id),
    };
  } catch (error) {
    if (!(error instanceof CliError) || error instanceof CliUsageError) throw error;
    if (error.exitCode !== EXIT.refused) return undefined;
    // It runs, as another user.
    return {
      reasons: [{ name: 'service', message: error.message }],
      agents: async () => [],
      accounts: async () => [],
      limits: async () => [],
    };
  }
}

interface ShownAccount extends Pick<AccountToCheck, 'state' | 'reason' | 'proxy' | 'passkey'> {
  id: string;
  since: string;
  provider?: string;
  clientVersion?: Pick<ClientVersion, 'version' | 'source'> & { since: string; refusedSince?: string };
}

/** Empty where the key may not read accounts. */
async function accountsOf(api: Api): Promise<AccountToCheck[]> {
  try {
    const { data } = await api.call<{ data: ShownAccount[] }>('GET', '/api/accounts');
    return data
      .filter(({ provider }) => provider === undefined)

      .map(({ id, state, reason, since, passkey, proxy, clientVersion }) => ({
        ...{ accountId: id, state, reason, since, passkey, proxy },
        ...(clientVersion && { clientVersion: versionOf(clientVersion) }),
      }));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [];
  }
}

/** Empty where the key may not read them. */
async function limitsOf(api: Api, accountId: string): ReturnType<RunningService['limits']> {
  try {
    const path = `/api/accounts/${part(accountId)}/limits`;
    const { data } = await api.call<{ data: { whatsapp: Array<{ kind: string; until: string }> } }>(
      'GET',
      path,
    );
    return data.whatsapp;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return [];
  }
}

function versionOf(shown: NonNullable<ShownAccount['clientVersion']>): ClientVersion {
  const { version, source, since, refusedSince } = shown;
  const refused = refusedSince !== undefined && { refusedSinceMs: Date.parse(refusedSince) };
  return { version, source, sinceMs: Date.parse(since), ...refused };
}

/** Asks the service to probe the agents of its routes. */
async function agentFindings(api: Api): Promise<Finding[]> {
  const { checkAgents, coveredFindings, hostedFindings } = await import(
    '../../features/doctor/check-agents.ts'
  );
  const test = async (id: string) =>
    (await api.call<{ data: ProbeResult }>('POST', `/api/routes/${part(id)}/test`)).data;
  try {
    const routes = await api.call<{ data: Array<RouteToCheck & Rule> }>('GET', '/api/routes', {
      query: { order: 'checked' },
    });
    const hosted = await api.call<{ data: AgentToCheck[] }>('GET', '/api/agents');
    return [
      ...(await checkAgents(routes.data, test)),
      ...coveredFindings(routes.data),
      ...hostedFindings(hosted.data),
    ];
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    const fix =
      error.exitCode === EXIT.refused
        ? 'Use the admin key, or a key with the scopes routes:write and agents:manage.'
        : 'Run wa2ai status, and look at wa2ai logs.';
    const message = `The agents were not checked: ${error.message}`;
    return [{ check: 'agents', level: 'warning', message, fix }];
  }
}

function textOf({ colours }: Cli, { check, level, message, fix }: Finding): string {
  const line = `${colours.state(level.padEnd(7), MOODS[level])}  ${check.padEnd(10)}  ${message}`;
  return fix === undefined ? line : `${line}\n${' '.repeat(21)}${fix}`;
}
