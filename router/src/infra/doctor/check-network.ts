import { errorCode, errorMessage } from '../storage/database-errors.ts';
import type { Finding } from './finding.ts';

const TIMEOUT_MS = 8_000;
/** WhatsApp's server gives its time in whole seconds. */
const MAX_CLOCK_MS = 60_000;
export const WHATSAPP_URL = 'https://web.whatsapp.com/';

/**
 * Whether WhatsApp's server answers, and whether its clock agrees with this machine's: messages of a wrong time count as old.
 * @param url of another server for tests
 */
export async function checkWhatsApp(nowMs: () => number, url: string = WHATSAPP_URL): Promise<Finding[]> {
  const check = 'whatsapp';
  try {
    const response = await fetch(url, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const findings: Finding[] = [{ check, level: 'ok', message: `${new URL(url).host} answers.` }];
    const offMs = Math.abs(Date.parse(response.headers.get('date') ?? '') - nowMs());
    if (offMs > MAX_CLOCK_MS) {
      findings.push({
        check: 'clock',
        level: 'error',
        message: `The clock of this machine and WhatsApp's differ by ${Math.round(offMs / 1_000)} s.`,
        fix: 'Synchronise the clock with NTP.',
      });
    }
    return findings;
  } catch (error) {
    return [
      {
        check,
        level: 'error',
        message: `${new URL(url).host} does not answer (${reasonOf(error)}).`,
        fix: 'Allow outgoing connections to web.whatsapp.com and *.whatsapp.net on port 443.',
      },
    ];
  }
}

/** A route as the API shows it. */
export interface RouteToCheck {
  id: string;
  name?: string | null | undefined;
  agentEndpoint: string;
  enabled: boolean;
}

/** Whether a server answers at the address of each agent with a URL; any status counts. One finding per address. */
export async function checkAgents(routes: readonly RouteToCheck[]): Promise<Finding[]> {
  const urls = routes
    .filter(({ enabled, agentEndpoint }) => enabled && /^https?:\/\//i.test(agentEndpoint))
    .map(({ agentEndpoint }) => agentEndpoint);
  return Promise.all([...new Set(urls)].map(checkAgent));
}

async function checkAgent(url: string): Promise<Finding> {
  const check = 'agents';
  // A path or query may contain a secret.
  const { origin } = new URL(url);
  try {
    const response = await fetch(origin, {
      method: 'HEAD',
      redirect: 'manual',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    await response.body?.cancel();
    return { check, level: 'ok', message: `A server answers at ${origin}.` };
  } catch (error) {
    return {
      check,
      level: 'warning',
      message: `No agent answers at ${origin} from this machine (${reasonOf(error)}).`,
      fix: `Start it, then try: wa2ai agent check ${origin}`,
    };
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer in ${TIMEOUT_MS / 1_000} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  return errorCode(cause) ?? errorCode(error) ?? errorMessage(error);
}
