import { createHash } from 'node:crypto';
import QRCode from 'qrcode';
import type { AccountState } from '../../core/models.ts';
import type { AccountStatus } from '../../core/ports/chat-provider.ts';
import { type Html, html, page } from '../../infra/operations/page-frame.ts';
import type { ApiResponse } from '../../infra/operations/response.ts';

const TITLES: Record<AccountState, string> = {
  starting: 'Starting',
  pairing: 'Link your WhatsApp account',
  'passkey-required': 'WhatsApp asks for a passkey',
  connecting: 'Connecting to WhatsApp',
  open: 'Connected',
  waiting: 'Reconnecting soon',
  'proxy-failed': 'The proxy does not work',
  'logged-out': 'Logged out',
  replaced: 'Another client took over',
  outdated: 'WhatsApp refuses this client version',
  restricted: 'WhatsApp limits this account',
  stopped: 'Stopped',
};

/** Colour of each state. */
export const MOODS: Record<AccountState, 'good' | 'busy' | 'bad'> = {
  starting: 'busy',
  pairing: 'busy',
  'passkey-required': 'busy',
  connecting: 'busy',
  open: 'good',
  waiting: 'busy',
  'proxy-failed': 'bad',
  'logged-out': 'bad',
  replaced: 'bad',
  outdated: 'bad',
  restricted: 'bad',
  stopped: 'bad',
};

/**
 * Updates the parts of the page every two seconds by fetching the page itself, so that only the server knows how a state
 * looks. Does not touch unchanged parts: a half-typed number is kept, and screen readers announce only changes.
 */
export const REFRESH_SCRIPT = `
const alertBox = document.querySelector('[role=alert]');
let busy = false;
let lost = false;
async function refresh() {
  if (busy || document.hidden) return;
  busy = true;
  try {
    const answer = await fetch(location.href, { cache: 'no-store' });
    const text = await answer.text();
    // Without the head: its style would violate the policy of this page.
    const next = new DOMParser().parseFromString(text.slice(text.indexOf('<body')), 'text/html');
    if (!next.querySelector('[data-part]')) return location.reload();
    document.title = next.querySelector('h1').textContent + ' · wa2ai';
    for (const part of document.querySelectorAll('[data-part]')) {
      const fresh = next.querySelector('[data-part="' + part.dataset.part + '"]');
      if (fresh && fresh.innerHTML !== part.innerHTML) part.innerHTML = fresh.innerHTML;
    }
    if (lost) alertBox.textContent = '';
    lost = false;
  } catch {
    lost = true;
    alertBox.textContent = 'wa2ai does not answer. Trying again.';
  } finally {
    busy = false;
  }
}
document.addEventListener('submit', async (event) => {
  const path = event.target.dataset.post;
  if (!path) return;
  event.preventDefault();
  const body = JSON.stringify(Object.fromEntries(new FormData(event.target)));
  const headers = { 'content-type': 'application/json', 'x-wa2ai-csrf': '1' };
  alertBox.textContent = '';
  try {
    const answer = await fetch(path, { method: 'POST', headers, body });
    if (!answer.ok) alertBox.textContent = (await answer.json()).error;
  } catch {
    alertBox.textContent = 'wa2ai does not answer.';
  }
  refresh();
});
document.addEventListener('visibilitychange', refresh);
setInterval(refresh, 2000);
`;

/**
 * The pairing page of one account, for every state. `others` are the accounts it can switch to.
 * @param routeCommand set: the account has no route, and this command adds one
 */
export function qrPage(
  status: AccountStatus,
  others: readonly AccountStatus[],
  nowMs: number,
  routeCommand?: string,
): ApiResponse {
  return page({
    status: 200,
    title: TITLES[status.state],
    aside: status.accountId,
    reloadSeconds: 5,
    script: REFRESH_SCRIPT,
    main: html`
<div data-part="state" aria-live="polite">
<p class="state ${MOODS[status.state]}">${status.state}</p>
<h1>${TITLES[status.state]}</h1>
${!hasCode(status) && routeCommand === undefined && html`<p>${status.nextAction}</p>`}
${status.reason !== undefined && html`<p class="faint">${status.reason}</p>`}
</div>
<div data-part="timing">${timing(status, nowMs)}</div>
<div data-part="picture">${picture(status)}</div>
<div data-part="facts">${facts(status, routeCommand)}</div>
<div data-part="actions">${actions(status)}</div>
<p role="alert"></p>
<noscript><p class="faint">The buttons need JavaScript; the page itself reloads every few seconds.</p></noscript>
${others.length > 0 && html`<footer class="faint">Other accounts: ${others.map(accountLink)}</footer>`}`,
  });
}

/** The list of steps beside a code says what to do. */
function hasCode({ state, qr, pairingCode }: AccountStatus): boolean {
  return state === 'pairing' && (qr !== undefined || pairingCode !== undefined);
}

/** Changes with the QR text and does not reveal it. */
function versionOf(qr: string): string {
  return createHash('sha256').update(qr).digest('hex').slice(0, 12);
}

function picture({ state, accountId, qr, pairingCode }: AccountStatus): Html | undefined {
  if (state !== 'pairing') return undefined;
  const account = encodeURIComponent(accountId);
  if (pairingCode !== undefined) {
    const spoken = [...pairingCode].join(' ');
    return html`
<p class="code" aria-label="Pairing code ${spoken}">${pairingCode.replace(/^(.{4})(.{4})$/, '$1-$2')}</p>
<ol>
<li>On the phone open WhatsApp, then <strong>Settings → Linked devices</strong>.</li>
<li>Tap <strong>Link a device</strong>, then <strong>Link with phone number instead</strong>.</li>
<li>Enter the code.</li>
</ol>`;
  }
  if (qr === undefined) return html`<p class="faint">The QR code will appear here in a moment.</p>`;
  return html`
<img class="qr" src="qr/image?account=${account}&v=${versionOf(qr)}" width="288" height="288"
 alt="QR code that links this service to your WhatsApp account">
<ol>
<li>On the phone open WhatsApp, then <strong>Settings → Linked devices</strong>.</li>
<li>Tap <strong>Link a device</strong> and point the camera at the code.</li>
</ol>
<p class="faint">The code changes from time to time; this page keeps it fresh.</p>`;
}

function timing({ state, retryAtMs }: AccountStatus, nowMs: number): Html | undefined {
  const retries = ['waiting', 'proxy-failed', 'outdated'].includes(state);
  if (!retries || retryAtMs === undefined) return undefined;
  const seconds = Math.max(0, Math.round((retryAtMs - nowMs) / 1000));
  return html`<p class="faint">${seconds === 0 ? 'Reconnecting now.' : `Next attempt in ${durationText(seconds)}.`}</p>`;
}

function durationText(seconds: number): string {
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} minutes`;
}

function facts({ state, phone, name }: AccountStatus, routeCommand?: string): Html | undefined {
  if (state === 'pairing') return undefined;
  return html`<dl>
${name !== undefined && html`<dt>Name</dt><dd>${name}</dd>`}
${phone !== undefined && html`<dt>Number</dt><dd>+${phone}</dd>`}
</dl>
${state === 'open' && (routeCommand === undefined ? WHO_ANSWERS : noRoute(routeCommand))}`;
}

const WHO_ANSWERS = html`<p class="faint">You can close this page. The <a href="api/routes">routes</a> say which agent answers which chat.</p>`;

function noRoute(command: string): Html {
  return html`<p><strong>No route exists yet, so no message is answered.</strong> Add one with your agent's address:</p>
<pre>${command}</pre>
<p class="faint"><a href="docs/routes.md">About routes</a></p>`;
}

function actions({ state, accountId, pairingCode, passkey }: AccountStatus): Html | undefined {
  const base = `/api/accounts/${encodeURIComponent(accountId)}`;
  switch (state) {
    case 'pairing':
      if (pairingCode !== undefined) return button(`${base}/pair`, 'Use a QR code instead', 'quiet');
      return html`<form data-post="${base}/pair">
<input type="hidden" name="method" value="code">
<label for="phone">No camera at hand? Get a code for this number</label>
<input id="phone" name="phone" type="tel" autocomplete="tel" required placeholder="+54 9 3777 239922">
<button class="quiet">Use a code instead</button>
</form>`;
    case 'passkey-required':
      return html`${passkey && html`<p><a href="console/#/accounts">Continue in the console</a></p>`}
${button(`${base}/pair`, passkey ? 'Start again' : 'Link again', passkey ? 'quiet' : '')}`;
    case 'logged-out':
      return button(`${base}/pair`, 'Link again');
    case 'waiting':
    case 'proxy-failed':
    case 'replaced':
    case 'outdated':
    case 'restricted':
    case 'stopped':
      return button(`${base}/restart`, 'Connect now', state === 'waiting' ? 'quiet' : '');
    default:
      return undefined;
  }
}

function button(path: string, label: string, look = ''): Html {
  return html`<form data-post="${path}"><button class="${look}">${label}</button></form>`;
}

function accountLink({ accountId, state }: AccountStatus): Html {
  return html` <a href="qr?account=${encodeURIComponent(accountId)}">${accountId}</a> (${state})`;
}

/** QR codes shown in a row. A person who pairs needs one or two; WhatsApp sends a new one every 20 to 60 seconds. */
const MAX_QR_CODES = 5;

/**
 * Shows on a terminal what a person needs for the start: where the pages are, and for pairing each new QR code or eight-letter code
 * once, after five QR codes in a row only where to find the page. Meant for the admin's own screen; it writes past the logger, so that no log
 * contains a code.
 */
export class TerminalPairing {
  #isReady = false;
  readonly #write: (text: string) => void;
  readonly #pageUrl: () => string;
  /** By account: the last code, and the number of QR codes since the account was last in another state. */
  readonly #shown = new Map<string, { code: string; qrCodes: number }>();

  constructor(write: (text: string) => void, pageUrl: () => string) {
    this.#write = write;
    this.#pageUrl = pageUrl;
  }

  /** The pages are served from now on: shows where they are, here and below each QR code. */
  ready(): void {
    this.#isReady = true;
    this.#write(this.#addresses());
  }

  async show(status: AccountStatus): Promise<void> {
    const { accountId, state, pairingCode, qr } = status;
    if (state !== 'pairing') {
      // A code that expired is followed by a short reconnect, which does not start the count again.
      if (state === 'open' || state === 'logged-out') this.#shown.delete(accountId);
      return;
    }
    const code = pairingCode ?? qr;
    const before = this.#shown.get(accountId);
    if (code === undefined || code === before?.code) return;
    const qrCodes = (before?.qrCodes ?? 0) + (pairingCode === undefined ? 1 : 0);
    this.#shown.set(accountId, { code, qrCodes });
    const page = `${this.#pageUrl()}/qr?account=${encodeURIComponent(accountId)}`;
    if (pairingCode !== undefined) {
      const spaced = `${pairingCode.slice(0, 4)}-${pairingCode.slice(4)}`;
      this.#write(
        `\nWhatsApp account "${accountId}": on the phone open Linked devices > Link a device > Link with phone number, and enter\n\n    ${spaced}\n\n`,
      );
    } else if (qrCodes <= MAX_QR_CODES) {
      const picture = await QRCode.toString(code, { type: 'terminal', small: true });
      this.#write(
        `\nWhatsApp account "${accountId}": on the phone open Linked devices > Link a device and scan this (or open ${page}):\n\n${picture}\n${this.#isReady ? this.#addresses() : ''}`,
      );
    } else if (qrCodes === MAX_QR_CODES + 1) {
      this.#write(
        `\nWhatsApp account "${accountId}" still waits for pairing. Further QR codes are not printed here; open ${page}\n`,
      );
    }
  }

  #addresses(): string {
    const url = this.#pageUrl();
    return `
  wa2ai is ready. Open in a browser:

    Console     ${url}/console/
    Playground  ${url}/console/#/playground
    QR code     ${url}/qr

`;
  }
}
