import QRCode from 'qrcode';
import type { AccountStatus } from '../../core/ports/chat-provider.ts';

/** QR codes shown in a row. A person who pairs needs one or two; WhatsApp sends a new one every 20 to 60 seconds. */
const MAX_QR_CODES = 5;

/**
 * Shows on a terminal what a person needs for pairing: each new QR code or eight-letter code once, and after five QR codes
 * in a row only where to find the page. Meant for the admin's own screen; it writes past the logger, so that no log
 * contains a code.
 */
export class TerminalPairing {
  readonly #write: (text: string) => void;
  readonly #pageUrl: () => string;
  /** By account: the last code, and the number of QR codes since the account was last in another state. */
  readonly #shown = new Map<string, { code: string; qrCodes: number }>();

  constructor(write: (text: string) => void, pageUrl: () => string) {
    this.#write = write;
    this.#pageUrl = pageUrl;
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
        `\nWhatsApp account "${accountId}": on the phone open Linked devices > Link a device and scan this (or open ${page}):\n\n${picture}\n`,
      );
    } else if (qrCodes === MAX_QR_CODES + 1) {
      this.#write(
        `\nWhatsApp account "${accountId}" still waits for pairing. Further QR codes are not printed here; open ${page}\n`,
      );
    }
  }
}
