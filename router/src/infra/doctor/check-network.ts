import type { ClientVersion } from '../../core/client-version.ts';
import { errorCode, errorMessage } from '../storage/database-errors.ts';
import type { Finding } from './finding.ts';

const TIMEOUT_MS = 8_000;
/** WhatsApp's server gives its time in whole seconds. */
const MAX_CLOCK_MS = 60_000;
export const WHATSAPP_URL = 'https://web.whatsapp.com/';

/** A WhatsApp account as the API shows it. */
export interface AccountToCheck {
  accountId: string;
  state: string;
  reason?: string | undefined;
  /** URL without user name and password. */
  proxy?: { url: string } | undefined;
  /** Absent before its first login. */
  clientVersion?: ClientVersion | undefined;
}

/** One finding for each account with a proxy. */
export function proxyFindings(accounts: readonly AccountToCheck[]): Finding[] {
  const check = 'proxy';
  return accounts.flatMap(({ accountId, state, reason, proxy }): Finding[] => {
    if (state === 'proxy-failed') {
      const message = `Account ${accountId}: ${reason ?? 'Its proxy does not connect it.'}`;
      const fix = `Correct the proxy: wa2ai accounts proxy ${accountId} FILE, or the page Accounts.`;
      return [{ check, level: 'error', message, fix }];
    }
    if (!proxy) return [];
    const isUsed = ['open', 'restricted', 'pairing', 'passkey-required'].includes(state);
    const message = `Account ${accountId} ${isUsed ? 'is connected' : 'connects'} through ${proxy.url}.`;
    return [{ check, level: 'ok', message }];
  });
}

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

function reasonOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return `no answer in ${TIMEOUT_MS / 1_000} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  return errorCode(cause) ?? errorCode(error) ?? errorMessage(error);
}
