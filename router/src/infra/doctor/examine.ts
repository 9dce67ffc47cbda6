import { join } from 'node:path';
import { ConfigError, loadConfig } from '../../config/config.ts';
import { projectFolder } from '../../config/package-version.ts';
import type { Logger } from '../../core/ports/logger.ts';
import { checkDatabase } from './check-database.ts';
import { checkDisk, checkNode, checkPort, checkSecretFile } from './check-machine.ts';
import { checkAgents, checkWhatsApp, type RouteToCheck } from './check-network.ts';
import type { Finding } from './finding.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** The running service, as its API shows it. */
export interface RunningService {
  /** Why it is not ready; empty: it is. */
  reasons: ReadonlyArray<{ name: string; message: string }>;
  routes: readonly RouteToCheck[];
}

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
  const [ofPort, ofDisk, ofDatabase, ofWhatsApp, ofAgents, ...ofFiles] = await Promise.all([
    checkPort(host, port, service !== undefined),
    checkDisk(dataDir),
    checkDatabase(config, join(projectFolder(), 'prisma'), { log, nowMs }),
    checkWhatsApp(nowMs, whatsappWsUrl?.replace(/^ws/, 'http')),
    checkAgents(service?.routes ?? []),
    ...secrets.flatMap((path) => (path ? [checkSecretFile(path)] : [])),
  ]);
  findings.push(
    ofPort,
    ofDisk,
    ...ofFiles.filter((finding) => finding !== undefined),
    ...ofDatabase,
    ...ofWhatsApp,
  );
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
