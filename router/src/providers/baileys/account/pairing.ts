import type { WASocket } from '@whiskeysockets/baileys';
import type { AccountStatus } from '../../../core/ports/chat-provider.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import type { AccountStatusTracker } from './account-status.ts';

/** How to link a phone; the number in digits. */
export type PairBy = { method: 'qr' } | { method: 'code'; phone: string };

const FIRST_QR_MS = 60_000;
const LATER_QR_MS = 20_000;
/** Total validity of the QR codes of one connection; an eight-letter code ends with its connection. */
const CODE_MS = 160_000;
/** Longest wait for a code. */
const CODE_WAIT_MS = 20_000;

/** Shows the codes for linking a phone: WhatsApp's QR codes, or one of eight letters. */
export class Pairing {
  readonly #status: AccountStatusTracker;
  readonly #clock: Clock;
  /** How the next codes are shown. */
  by: PairBy;

  constructor(status: AccountStatusTracker, clock: Clock, by: PairBy) {
    this.#status = status;
    this.#clock = clock;
    this.by = by;
  }

  /** Shows that the account is pairing and has no code yet. */
  show(): void {
    this.#status.set({ state: 'pairing', pairingBy: this.by.method });
  }

  /**
   * WhatsApp sends QR codes to a new socket, each valid for a short time. Call the returned function with each of them;
   * it rejects when WhatsApp gives no pairing code.
   */
  offersOf(socket: Pick<WASocket, 'requestPairingCode'>): (qr: string) => Promise<void> {
    let count = 0;
    return async (qr) => {
      count += 1;
      const nowMs = this.#clock.now();
      const by = this.by;
      if (by.method === 'qr') {
        const expiresAtMs = nowMs + (count === 1 ? FIRST_QR_MS : LATER_QR_MS);
        this.#status.set({ state: 'pairing', pairingBy: 'qr', qr, expiresAtMs });
        return;
      }
      if (count > 1) return;
      const pairingCode = await socket.requestPairingCode(by.phone);
      this.#status.set({ state: 'pairing', pairingBy: 'code', pairingCode, expiresAtMs: nowMs + CODE_MS });
    };
  }

  /** Resolves when a code is shown, when none will come, or after 20 s. */
  untilCode(): Promise<AccountStatus> {
    const beforeCode = new Set<string>(['starting', 'connecting', 'pairing']);
    return this.#status.until(
      (status) =>
        status.qr !== undefined || status.pairingCode !== undefined || !beforeCode.has(status.state),
      CODE_WAIT_MS,
    );
  }
}
