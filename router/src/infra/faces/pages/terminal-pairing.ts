import QRCode from 'qrcode';
import type { AccountStatus } from '../../../core/ports/chat-provider.ts';

/**
 * Shows on a terminal what a person needs to pair: each new QR code or eight-letter code once. Meant for the admin's own
 * screen; it writes past the logger so that no log file ever holds a code.
 */
export class TerminalPairing {
  readonly #write: (text: string) => void;
  readonly #pageUrl: () => string;
  #shown: string | undefined;

  constructor(write: (text: string) => void, pageUrl: () => string) {
    this.#write = write;
    this.#pageUrl = pageUrl;
  }

  async show(status: AccountStatus): Promise<void> {
    const code = status.state === 'pairing' ? (status.pairingCode ?? status.qr) : undefined;
    if (code === undefined || code === this.#shown) return;
    this.#shown = code;
    if (status.pairingCode) {
      const spaced = `${status.pairingCode.slice(0, 4)}-${status.pairingCode.slice(4)}`;
      this.#write(
        `\nWhatsApp account "${status.accountId}": on the phone open Linked devices > Link a device > Link with phone number, and enter\n\n    ${spaced}\n\n`,
      );
      return;
    }
    const picture = await QRCode.toString(code, { type: 'terminal', small: true });
    this.#write(
      `\nWhatsApp account "${status.accountId}": on the phone open Linked devices > Link a device and scan this (or open ${this.#pageUrl()}/qr):\n\n${picture}\n`,
    );
  }
}
