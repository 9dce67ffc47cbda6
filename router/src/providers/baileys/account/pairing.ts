import { randomBytes } from 'node:crypto';
import {
  type BinaryNode,
  buildPairingQRData,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  S_WHATSAPP_NET,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { Clock } from '../../../core/clock.ts';
import type { Logger } from '../../../core/logger.ts';
import type { AccountStatus } from '../../../core/ports/chat-provider.ts';
import { QR_CODES_ENDED } from '../connection/connection.ts';
import { BROWSER } from '../connection/open-socket.ts';
import type { AuthState } from '../signal/auth-state.ts';
import type { AccountStatusTracker } from './account-status.ts';

/** How to link a phone; the number in digits. */
export type PairBy = { method: 'qr' } | { method: 'code'; phone: string };

const FIRST_QR_MS = 60_000;
const LATER_QR_MS = 20_000;
/** Total validity of the QR codes of one connection; an eight-letter code ends with its connection. */
const CODE_MS = 160_000;
/** Longest wait for a code. */
const CODE_WAIT_MS = 20_000;
/** WhatsApp Web accepts `companion_reg_refresh` with one of these children. */
const REFRESH_CHILDREN = ['companion_reg_refresh', 'pair-device-rotate-qr'];

/** Shows the codes for linking a phone: WhatsApp's QR codes, or one of eight letters. */
export class Pairing {
  readonly #status: AccountStatusTracker;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** How the next codes are shown. */
  by: PairBy;

  constructor(status: AccountStatusTracker, clock: Clock, log: Logger, by: PairBy) {
    this.#status = status;
    this.#clock = clock;
    this.#log = log;
    this.by = by;
  }

  /** Shows that the account is pairing and has no code yet. */
  show(): void {
    this.#status.set({ state: 'pairing', pairingBy: this.by.method });
  }

  /** The codes of a new socket. */
  codesOf(socket: CodesSocket, auth: Pick<AuthState, 'creds' | 'isLinked' | 'saveCreds'>): PairingCodes {
    return new PairingCodes({
      socket,
      auth,
      clock: this.#clock,
      log: this.#log,
      status: this.#status,
      by: this.by,
    });
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

type CodesSocket = Pick<WASocket, 'requestPairingCode' | 'sendNode' | 'end'> & {
  ev: Pick<WASocket['ev'], 'emit'>;
};

interface CodesOptions {
  socket: CodesSocket;
  auth: Pick<AuthState, 'creds' | 'isLinked' | 'saveCreds'>;
  clock: Clock;
  log: Logger;
  status: AccountStatusTracker;
  by: PairBy;
}

/**
 * The codes of one socket, made in place of Baileys, which cannot replace the secret of a code that is shown.
 * Workaround: refs/baileys-workarounds.md.
 */
class PairingCodes {
  readonly #options: CodesOptions;
  readonly #ended = new AbortController();
  #shown: { ref: string; expiresAtMs: number } | undefined;

  constructor(options: CodesOptions) {
    this.#options = options;
  }

  /** `pair-device`: shows its codes one after the other, the first for a minute, later ones for 20 s, and ends the socket. */
  async pairDevice(iq: BinaryNode): Promise<void> {
    const { socket, clock, by } = this.#options;
    await socket.sendNode({
      tag: 'iq',
      attrs: { to: S_WHATSAPP_NET, type: 'result', id: iq.attrs.id ?? '' },
    });
    const refs = getBinaryNodeChildren(getBinaryNodeChild(iq, 'pair-device'), 'ref');
    for (const [index, { content }] of refs.entries()) {
      const validForMs = index === 0 ? FIRST_QR_MS : LATER_QR_MS;
      const ref = Buffer.from((content ?? '') as Uint8Array).toString();
      this.#shown = { ref, expiresAtMs: clock.now() + validForMs };
      const isOver = clock.sleep(validForMs, this.#ended.signal).then(
        () => false,
        () => true,
      );
      if (by.method === 'qr') this.#showQr();
      else if (index === 0) await this.#showLetters(by.phone);
      if (await isOver) return;
    }
    await socket.end(Object.assign(new Error(QR_CODES_ENDED), { output: { statusCode: 408 } }));
  }

  /**
   * `companion_reg_refresh`: WhatsApp retired the secret of the QR code that is shown, and no phone can link with it.
   * Shows the same ref with a new secret.
   */
  async refresh(notification: BinaryNode): Promise<void> {
    const { auth, by, log } = this.#options;
    await this.acknowledge(notification);
    const isKnown = REFRESH_CHILDREN.some((tag) => getBinaryNodeChild(notification, tag));
    // After `companion_finish` the phone has the secret already.
    if (!isKnown || auth.isLinked() || auth.creds.registered) return;
    auth.creds.advSecretKey = randomBytes(32).toString('base64');
    auth.saveCreds();
    log.info({ pairingBy: by.method }, 'WhatsApp retired the pairing secret, made a new one');
    if (by.method === 'qr') this.#showQr();
  }

  /** Acknowledges a notification; Baileys cannot before it knows the account. */
  async acknowledge({ tag, attrs }: BinaryNode): Promise<void> {
    const { socket, auth } = this.#options;
    if (auth.creds.me) return;
    const { id = '', from = S_WHATSAPP_NET, type = '' } = attrs;
    await socket.sendNode({ tag: 'ack', attrs: { id, to: from, class: tag, type } });
  }

  /** Shows no further code. */
  end(): void {
    this.#ended.abort();
    this.#shown = undefined;
  }

  #showQr(): void {
    if (!this.#shown) return;
    const { socket, auth, status } = this.#options;
    const { ref, expiresAtMs } = this.#shown;
    const { noiseKey, signedIdentityKey, advSecretKey } = auth.creds;
    const base64 = (key: Uint8Array) => Buffer.from(key).toString('base64');
    const qr = buildPairingQRData(
      ref,
      base64(noiseKey.public),
      base64(signedIdentityKey.public),
      advSecretKey,
      BROWSER,
    );
    socket.ev.emit('connection.update', { qr });
    status.set({ state: 'pairing', pairingBy: 'qr', qr, expiresAtMs });
  }

  async #showLetters(phone: string): Promise<void> {
    const { socket, clock, status } = this.#options;
    socket.ev.emit('connection.update', { qr: '' });
    const expiresAtMs = clock.now() + CODE_MS;
    const pairingCode = await socket.requestPairingCode(phone);
    status.set({ state: 'pairing', pairingBy: 'code', pairingCode, expiresAtMs });
  }
}
