import { join } from 'node:path';
import { type Config, ConfigError, loadConfig } from '../../config/config.ts';
import { projectFolder } from '../../config/package-version.ts';
import {
  ageDaysOf,
  ageProblem,
  BUILT_IN,
  type ClientVersion,
  VERSION_SOURCES,
} from '../../core/client-version.ts';
import { PHRASES } from '../../core/phrases.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { checkDatabase } from './check-database.ts';
import { checkDataFolder, checkDisk, checkNode, checkPort, checkSecretFile } from './check-machine.ts';
import { type AccountToCheck, checkWhatsApp, proxyFindings } from './check-network.ts';
import type { Finding } from './finding.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The running service, as its API shows it. */
export interface RunningService {
  /** Why it is not ready; empty: it is. */
  reasons: ReadonlyArray<{ name: string; message: string }>;
  /** What was found about its agents. */
  agents(): Promise<Finding[]>;
  /** Its WhatsApp accounts. */
  accounts(): Promise<AccountToCheck[]>;
  /** What WhatsApp limits of an account now. */
  limits(accountId: string): Promise<Array<{ kind: string; until: string }>>;
}

const NOT_RUNNING: Finding = {
  check: 'agents',
  level: 'warning',
  message: 'wa2ai does not run on this machine: its agents were not checked.',
  fix: 'Start it with "wa2ai start", then run this command again.',
};

export interface ExamineDeps {
  env: Env;
  /** Undefined: no service answers. */
  service: RunningService | undefined;
  log: Logger;
  nowMs(): number;
}

/**
 * Checks everything that wa2ai needs on this machine, whether it runs or not. Changes nothing; the embedded database is started
 * for the check if it does not run.
 */
export async function examine({ env, service, log, nowMs }: ExamineDeps): Promise<Finding[]> {
  const findings = [checkNode(process.versions.node)];
  let config: ReturnType<typeof loadConfig>;
  try {
    config = loadConfig(env, false);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const wrong = error.sentences.map(
      (message): Finding => ({
        check: 'settings',
        level: 'error',
        message,
        fix: 'Correct the setting in .env or in the environment: docs/settings.md.',
      }),
    );
    return [...findings, ...wrong];
  }
  findings.push({ check: 'settings', level: 'ok', message: 'All settings are valid.' });
  const { dataDir, egress, host, port, whatsappWsUrl } = config;
  const secrets = [env.WA2AI_API_KEY_FILE, config.dataKeyFile ?? join(dataDir, 'data-key'), '.env'];
  const accounts = (await service?.accounts()) ?? [];
  // The operator does not want this machine to connect to WhatsApp directly.
  const hasDirect = accounts.length === 0 || accounts.some(({ proxy }) => proxy === undefined);
  const [ofPort, ofDisk, ofFolder, ofDatabase, ofWhatsApp, ofAgents, ...ofFiles] = await Promise.all([
    checkPort(host, port, service !== undefined),
    checkDisk(dataDir),
    checkDataFolder(dataDir),
    checkDatabase(config, join(projectFolder(), 'prisma'), { log, nowMs }),
    hasDirect ? checkWhatsApp(nowMs, whatsappWsUrl?.replace(/^ws/, 'http')) : [],
    service?.agents() ?? [NOT_RUNNING],
    ...secrets.flatMap((path) => (path ? [checkSecretFile(path)] : [])),
  ]);
  findings.push(
    ofPort,
    ofDisk,
    ofFolder,
    ...ofFiles.filter((finding) => finding !== undefined),
    ...ofDatabase,
    ...ofWhatsApp,
  );
  const versions = accounts.flatMap(({ clientVersion }) => clientVersion ?? []);
  findings.push(...proxyFindings(accounts));
  findings.push(...versionFindings(versions.length > 0 ? versions : [configuredVersion(config)], nowMs()));
  findings.push(...ofAgents, egressFinding(egress));
  const waiting = (service?.reasons ?? []).map(
    ({ name, message }): Finding => ({
      check: name,
      level: 'warning',
      message,
      fix: 'Run wa2ai status, or open /qr.',
    }),
  );
  return [...findings, ...waiting];
}

/** What a service that does not run would announce first, as far as it is known without its database. */
function configuredVersion({ whatsappVersion }: Pick<Config, 'whatsappVersion'>): ClientVersion {
  const { version, builtAtMs } = BUILT_IN;
  if (typeof whatsappVersion === 'string') return { version, source: 'built-in', sinceMs: builtAtMs };
  return { version: whatsappVersion.join('.'), source: 'setting', sinceMs: builtAtMs };
}

/** One finding for each version. */
export function versionFindings(versions: readonly ClientVersion[], nowMs: number): Finding[] {
  const check = 'version';
  return [...new Map(versions.map((each) => [each.version, each])).values()].map((each): Finding => {
    const { version, source, refusedSinceMs } = each;
    const message = `WhatsApp Web version ${version}, ${ageDaysOf(each, nowMs)} days old. ${PHRASES[VERSION_SOURCES[source]]}`;
    const fix =
      'Update wa2ai, or set WA2AI_WHATSAPP_VERSION=auto and allow outgoing connections to web.whatsapp.com on port 443.';
    if (refusedSinceMs !== undefined) {
      const since = new Date(refusedSinceMs).toISOString();
      return { check, level: 'error', message: `${message} WhatsApp refuses it since ${since}.`, fix };
    }
    if (ageProblem(each, nowMs) === undefined) return { check, level: 'ok', message };
    return {
      check,
      level: 'warning',
      message: `${message} WhatsApp refused earlier ones after 135 days.`,
      fix,
    };
  });
}

function egressFinding(egress: 'private' | 'public' | 'any'): Finding {
  const check = 'egress';
  if (egress !== 'any') return { check, level: 'ok', message: `Agents may be at ${egress} addresses.` };
  return {
    check,
    level: 'warning',
    message: 'Agents may be at every address, also where a cloud machine gets its credentials.',
    fix: 'Set WA2AI_EGRESS=private.',
  };
}
