import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import type { ClientVersion } from '../../core/client-version.ts';
import { errorCode, errorMessage } from '../../infra/db/stores/storage-errors.ts';

/** The result of one check. */
export interface Finding {
  /** What was checked: `disk`, `database`. */
  check: string;
  /** `error`: wa2ai cannot work like this · `warning`: it works, and an operator should look. */
  level: 'ok' | 'warning' | 'error';
  /** One or two sentences, without a secret. */
  message: string;
  /** What to do; only with a warning or an error. */
  fix?: string;
}

const TIMEOUT_MS = 8_000;
/** WhatsApp's server gives its time in whole seconds. */
const MAX_CLOCK_MS = 60_000;
export const ALLOW_WHATSAPP =
  'Allow outgoing connections to web.whatsapp.com and *.whatsapp.net on port 443.';
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
  /** ISO 8601: when it changed to the state. */
  since?: string | undefined;
  passkey?: { step: string } | undefined;
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
  const answer = await askForHead(url);
  if ('problem' in answer) {
    const message = `${new URL(url).host} does not answer (${answer.problem}).`;
    return [{ check, level: 'error', message, fix: ALLOW_WHATSAPP }];
  }
  const clock = whatsAppClockFinding(answer.date, nowMs());
  return [
    { check, level: 'ok', message: `${new URL(url).host} answers.` },
    ...(clock?.level === 'error' ? [clock] : []),
  ];
}

/** Compares this machine's clock with the `date` of an answer of WhatsApp; undefined: it names none. */
export function whatsAppClockFinding(date: string | null, nowMs: number): Finding | undefined {
  const offMs = Math.abs(Date.parse(date ?? '') - nowMs);
  if (Number.isNaN(offMs)) return undefined;
  const check = 'clock';
  const message = `The clock of this machine and WhatsApp's differ by ${Math.round(offMs / 1_000)} s.`;
  if (offMs <= MAX_CLOCK_MS) return { check, level: 'ok', message };
  return { check, level: 'error', message, fix: 'Synchronise the clock with NTP.' };
}

/** The answer of a server to HEAD, whatever its status; or why there is none, a code if there is one. */
export async function askForHead(url: string): Promise<{ date: string | null } | { problem: string }> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const { headers } = await fetch(url, { method: 'HEAD', redirect: 'manual', signal });
    return { date: headers.get('date') };
  } catch (error) {
    return { problem: reasonOf(error) };
  }
}

/** Why a server opens no WebSocket: a code or HTTP status; undefined: it does. It is closed immediately. */
export function webSocketProblem(url: string): Promise<string | undefined> {
  const address = new URL(url.replace(/^ws/, 'http'));
  return new Promise((resolve) => {
    const request = (address.protocol === 'https:' ? requestHttps : requestHttp)(address, {
      agent: false,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        origin: new URL(WHATSAPP_URL).origin,
        'sec-websocket-version': '13',
        'sec-websocket-key': Buffer.from('wa2ai live doctor').toString('base64').slice(0, 22).concat('=='),
      },
    });
    const end = (problem?: string) => {
      request.destroy();
      resolve(problem);
    };
    request.once('upgrade', (_response, socket) => {
      socket.on('error', () => undefined).destroy();
      end();
    });
    request.once('response', ({ statusCode }) => end(`HTTP status ${statusCode}`));
    request.once('error', (error) => end(reasonOf(error)));
    request.end();
  });
}

/** Why nobody accepts TCP connections there, a code; undefined: somebody does. */
export function connectProblem({ host, port }: { host: string; port: number }): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: TIMEOUT_MS });
    const end = (problem?: string) => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => end());
    socket.once('timeout', () => end(`no answer in ${TIMEOUT_MS / 1_000} s`));
    socket.once('error', (error) => end(reasonOf(error)));
  });
}

function reasonOf(error: unknown): string {
  const name = error instanceof Error ? error.name : '';
  if (name === 'TimeoutError' || name === 'AbortError') return `no answer in ${TIMEOUT_MS / 1_000} s`;
  const cause = error instanceof Error ? error.cause : undefined;
  return errorCode(cause) ?? errorCode(error) ?? errorMessage(error);
}
