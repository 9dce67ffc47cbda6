import type { AccountState } from '../models.ts';

const LISTED: Record<AccountState, true> = {
  starting: true,
  pairing: true,
  'passkey-required': true,
  connecting: true,
  open: true,
  waiting: true,
  'proxy-failed': true,
  'logged-out': true,
  replaced: true,
  outdated: true,
  restricted: true,
  stopped: true,
};

/** Every named state, in the order of an account's life. */
export const ACCOUNT_STATES = Object.keys(LISTED) as readonly AccountState[];

/** Details of the sentence, besides the state. */
interface AccountStateDetails {
  /** How the account is paired: QR code or eight-letter code. */
  pairingBy?: 'qr' | 'code';
  /** A code to scan or enter is available. */
  hasCode?: boolean;
  /** What WhatsApp waits for, in `passkey-required`. */
  passkeyStep?: 'sign' | 'phone' | 'compare' | 'finish';
  /** When wa2ai connects again automatically, epoch milliseconds. */
  retryAtMs?: number;
  /** It is connected. */
  isConnected?: boolean;
  /** It waits for the database, as the reason says. */
  isStorageTrouble?: boolean;
}

/** What a person should do in a state, as one sentence ready to show. Pure. */
export function nextActionOf(state: AccountState, details: AccountStateDetails = {}): string {
  switch (state) {
    case 'starting':
      return 'Nothing to do: wa2ai is starting.';
    case 'pairing':
      if (!details.hasCode) return 'Wait a moment: a new pairing code is being created.';
      return details.pairingBy === 'code'
        ? 'On the phone open WhatsApp > Linked devices > Link a device > Link with phone number, and enter the code.'
        : 'On the phone open WhatsApp > Linked devices > Link a device, and scan the QR code.';
    case 'passkey-required':
      return passkeyAction(details.passkeyStep);
    case 'connecting':
      return 'Nothing to do: connecting to WhatsApp.';
    case 'open':
      return 'Connected. Nothing to do.';
    case 'waiting':
      if (details.isStorageTrouble) {
        return `Fix the database (see reason). Next attempt ${at(details.retryAtMs)}. WhatsApp queues what is sent meanwhile.`;
      }
      return `Nothing to do: wa2ai connects again ${at(details.retryAtMs)}. If this lasts, check the network.`;
    case 'proxy-failed':
      return `Check the proxy of this account, or set another one: page Accounts of the console, or wa2ai accounts proxy. Next attempt ${at(details.retryAtMs)}. wa2ai never connects this account without its proxy.`;
    case 'logged-out':
      return 'Link this account again with a new QR code or pairing code.';
    case 'replaced':
      return 'Stop the other program that uses this link, then restart the account here.';
    case 'outdated':
      return details.retryAtMs === undefined
        ? 'Update wa2ai, or set WA2AI_WHATSAPP_VERSION=auto: WhatsApp no longer accepts this client version.'
        : `Wait: wa2ai looks for a newer client version ${at(details.retryAtMs)} and connects with it. If this lasts, update wa2ai.`;
    case 'restricted':
      if (details.isConnected) {
        const until = details.retryAtMs === undefined ? '' : ` until ${timeText(details.retryAtMs)}`;
        return `WhatsApp limits this account${until}. People who wrote before are answered; do not write to new contacts until then.`;
      }
      return `Wait: WhatsApp limits this account; wa2ai connects again ${at(details.retryAtMs)}. Do not write to new contacts until then.`;
    case 'stopped':
      return 'Wait: wa2ai is stopping, or moves the account to another node. If this lasts, restart the account.';
  }
}

function passkeyAction(step: AccountStateDetails['passkeyStep']): string {
  switch (step) {
    case 'sign':
      return 'Open the page Accounts of the console within 5 minutes: it shows how to use your passkey.';
    case 'phone':
      return 'Keep WhatsApp open on the phone: wa2ai waits for it.';
    case 'compare':
      return 'Compare the code on the page Accounts of the console with the one on the phone, and confirm it there.';
    case 'finish':
      return 'Nothing to do: WhatsApp is linking the account.';
    default:
      return 'WhatsApp asks for your passkey to link this account. Start pairing again, and follow the steps on the page Accounts of the console.';
  }
}

function at(timeMs: number | undefined): string {
  if (timeMs === undefined) return 'soon';
  return `at ${timeText(timeMs)}`;
}

/** A time for people, to the second and with its zone; programs read `retryAt`. */
function timeText(timeMs: number): string {
  return `${new Date(timeMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}
