import { type Config, ConfigError, loadConfig } from '../../config/config.ts';
import { packageVersion } from '../../config/package-version.ts';
import { readProxyUrl } from '../../core/account-proxy.ts';
import { ageDaysOf, BUILT_IN } from '../../core/client-version.ts';
import {
  type AccountToCheck,
  ALLOW_WHATSAPP,
  askForHead,
  connectProblem,
  type Finding,
  WHATSAPP_URL,
  webSocketProblem,
  whatsAppClockFinding,
} from './check-network.ts';
import { type RunningService, versionFindings } from './examine.ts';

/** For a bug report: without numbers, names, ids, keys and addresses of the operator. */
interface LiveReport {
  wa2ai: string;
  node: string;
  system: string;
  /** ISO 8601. */
  at: string;
  findings: Finding[];
}

interface ExamineLiveDeps {
  env: Readonly<Record<string, string | undefined>>;
  /** Undefined: no service answers. */
  service: Pick<RunningService, 'accounts' | 'limits'> | undefined;
  nowMs(): number;
  /** The version that WhatsApp Web has now, as `readClientRevision`. */
  readRevision(
    url: string,
  ): Promise<{ kind: 'found'; revision: number } | { kind: 'failed'; problem: string }>;
}

const MEDIA_HOST = 'mmg.whatsapp.net';
/** In these states a reason has only what WhatsApp or a proxy said, in sentences of wa2ai. */
const STATES_WITH_REASON = ['proxy-failed', 'passkey-required', 'restricted', 'replaced', 'logged-out'];
/** In a reason of other states: an error of the system, or a code of WhatsApp. */
const CODE = /\b(?:E[A-Z]{4,16}|[45]\d\d)\b/;

/**
 * Checks what wa2ai needs of the real WhatsApp, from this machine, and how its accounts are. Sends nothing of the operator;
 * connects to WhatsApp directly only when an account does.
 */
export async function examineLive({
  env,
  service,
  nowMs,
  readRevision,
}: ExamineLiveDeps): Promise<LiveReport> {
  const accounts = (await service?.accounts()) ?? [];
  const hasDirect = accounts.length === 0 || accounts.some(({ proxy }) => proxy === undefined);
  const config = settingsOf(env);
  const [ofNetwork, ofAccounts] = await Promise.all([
    !config || !hasDirect ? [] : checkDirectly(config, nowMs, readRevision),
    Promise.all(accounts.map((account, index) => checkAccount(account, index + 1, service, nowMs()))),
  ]);
  const versions = accounts.flatMap(({ clientVersion }) => clientVersion ?? []);
  const findings: Finding[] = [...ofNetwork, ...ofAccounts.flat(), ...versionFindings(versions, nowMs())];
  if (!config) {
    const fix = 'Run wa2ai doctor: it names the setting.';
    findings.push({ check: 'settings', level: 'error', message: 'A setting is not valid.', fix });
  }
  if (!hasDirect) {
    const message = 'All accounts have a proxy, so this machine did not connect to WhatsApp directly.';
    findings.push({ check: 'whatsapp', level: 'ok', message });
  }
  if (!service) {
    const message = 'wa2ai does not run on this machine, so its accounts are not in this report.';
    const fix = 'Start it with "wa2ai start", then run this command again.';
    findings.push({ check: 'service', level: 'warning', message, fix });
  }
  return {
    wa2ai: packageVersion(),
    node: process.versions.node,
    system: `${process.platform} ${process.arch}`,
    at: new Date(nowMs()).toISOString(),
    findings,
  };
}

function settingsOf(env: ExamineLiveDeps['env']): Config | undefined {
  try {
    return loadConfig(env, false);
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

async function checkDirectly(
  config: Config,
  nowMs: () => number,
  readRevision: ExamineLiveDeps['readRevision'],
): Promise<Finding[]> {
  const { whatsappWsUrl, whatsappMediaHost, whatsappVersion, whatsappVersionUrl } = config;
  const socketUrl = whatsappWsUrl ?? `${WHATSAPP_URL.replace(/^http/, 'ws')}ws/chat`;
  const [page, socket, media, read] = await Promise.all([
    askForHead(socketUrl.replace(/^ws/, 'http')),
    webSocketProblem(socketUrl),
    askForHead(`https://${whatsappMediaHost ?? MEDIA_HOST}/`),
    whatsappVersion === 'auto' ? readRevision(whatsappVersionUrl) : undefined,
  ]);
  const clock = 'problem' in page ? undefined : whatsAppClockFinding(page.date, nowMs());
  return [
    whatsAppFinding('whatsapp', 'problem' in page ? page.problem : undefined, ['answers', 'does not answer']),
    whatsAppFinding('socket', socket, ['opens a WebSocket', 'opens no WebSocket']),
    whatsAppFinding('media', 'problem' in media ? media.problem : undefined, [
      'answers for media',
      'does not answer for media',
    ]),
    ...(clock ? [clock] : []),
    newestVersion(read),
  ];
}

/** @param problem undefined: none */
function whatsAppFinding(
  check: string,
  problem: string | undefined,
  [does, doesNot]: [string, string],
): Finding {
  if (problem === undefined) return { check, level: 'ok', message: `WhatsApp ${does}.` };
  return { check, level: 'error', message: `WhatsApp ${doesNot} (${codeOf(problem)}).`, fix: ALLOW_WHATSAPP };
}

function newestVersion(read: Awaited<ReturnType<ExamineLiveDeps['readRevision']>> | undefined): Finding {
  const check = 'version';
  const builtIn = `The one in Baileys is ${BUILT_IN.version}.`;
  if (!read) return { check, level: 'ok', message: `WA2AI_WHATSAPP_VERSION allows no look-up. ${builtIn}` };
  if (read.kind === 'found') {
    return {
      check,
      level: 'ok',
      message: `WhatsApp Web has version 2.3000.${read.revision} now. ${builtIn}`,
    };
  }
  const message = `The version of WhatsApp Web could not be read. ${builtIn}`;
  return { check, level: 'warning', message, fix: ALLOW_WHATSAPP };
}

/** An account by its number in the report. */
async function checkAccount(
  account: AccountToCheck,
  number: number,
  service: Pick<RunningService, 'limits'> | undefined,
  nowMs: number,
): Promise<Finding[]> {
  const { accountId, state, reason = '', since, passkey, clientVersion, proxy } = account;
  const limits = (await service?.limits(accountId)) ?? [];
  const minutes = (ms: number) => Math.max(0, Math.round(ms / 60_000));
  const code = CODE.exec(reason)?.[0];
  const shownReason = STATES_WITH_REASON.includes(state) ? reason : code === undefined ? '' : `Code ${code}.`;
  const sentences = [
    `State ${state}${since === undefined ? '' : ` for ${minutes(nowMs - Date.parse(since))} min`}.`,
    shownReason,
    ...(passkey ? [`Step of the passkey: ${passkey.step}.`] : []),
    ...limits.map(
      ({ kind, until }) => `WhatsApp limits ${kind} for ${minutes(Date.parse(until) - nowMs)} more min.`,
    ),
    clientVersion
      ? `Version ${clientVersion.version} (${clientVersion.source}), ${ageDaysOf(clientVersion, nowMs)} days old.`
      : 'No login yet.',
  ];
  const message = `Account ${number}: ${sentences.filter(Boolean).join(' ')}`;
  const isGood = state === 'open' && limits.length === 0;
  const level = isGood
    ? 'ok'
    : ['proxy-failed', 'outdated', 'logged-out', 'replaced'].includes(state)
      ? 'error'
      : 'warning';
  const own: Finding = {
    check: 'account',
    level,
    message,
    ...(!isGood && { fix: 'Look at: wa2ai accounts list' }),
  };
  return proxy ? [own, await checkProxy(proxy.url, number)] : [own];
}

async function checkProxy(url: string, number: number): Promise<Finding> {
  const check = 'proxy';
  const address = readProxyUrl(url);
  if ('refusal' in address) {
    return { check, level: 'warning', message: `Account ${number}: the kind of its proxy is not known.` };
  }
  const problem = await connectProblem(address);
  const whose = `Account ${number}: its proxy (${address.scheme}${address.login ? ', with a login' : ''})`;
  if (problem === undefined) return { check, level: 'ok', message: `${whose} accepts connections.` };
  return {
    check,
    level: 'error',
    message: `${whose} accepts no connection from this machine (${codeOf(problem)}).`,
    fix: 'Start the proxy, or set another one: wa2ai accounts proxy.',
  };
}

/** Texts of systems may name an address. */
function codeOf(problem: string): string {
  return /^(?:[A-Z][A-Z0-9_]{2,40}|HTTP status \d{3}|no answer in \d+ s)$/.test(problem)
    ? problem
    : 'no connection';
}
