import { CredentialsDamagedError, ProxyFailedError, StorageUnavailableError } from '../../../core/errors.ts';
import { because, type Reason, reasonOf, say } from '../../../core/phrases.ts';
import { field } from '../messages/proto-values.ts';

/** Why a connection ended. */
export interface Disconnect extends Reason {
  /** Baileys' DisconnectReason, a code of WhatsApp's `failure` or `stream:error`, or an HTTP status of the upgrade. */
  code: number | undefined;
  /** The account is linked; otherwise the connection was open for pairing. */
  isLinked: boolean;
  /** How long a ban or limit lasts, when WhatsApp named it. */
  expiresInMs?: number;
  /** The database, not WhatsApp, ended it or prevented the attempt. */
  isStorageTrouble?: boolean;
  /** The account's proxy did not make the connection. */
  proxy?: 'unreachable' | 'refuses';
  /** WhatsApp asked for a passkey while a phone was linked, and the passkey did not link it. */
  isPasskeyRequired?: boolean;
  /** Not attempted: the keys for the login cannot be read. */
  isWithoutKeys?: boolean;
  /** Not attempted: an earlier ban or limit lasts for this long. */
  postponedForMs?: number;
  /** Not attempted: WhatsApp refused this client version before. */
  isVersionRefused?: boolean;
}

/** The connection was not attempted: WhatsApp refuses the only client version that is known. */
export class VersionRefusedError extends Error {}

/** The connection was not attempted: an earlier ban or limit of WhatsApp is active. */
export class ConnectionPostponedError extends Error {
  /** The sentence of the ban or limit, ready to show. */
  readonly why: Reason;
  readonly forMs: number;

  constructor(why: Reason, forMs: number) {
    super(why.reason);
    this.why = why;
    this.forMs = forMs;
  }
}

/** What the connection manager does next. The sentences are for the operator. */
export type DisconnectAction =
  | { kind: 'reconnect-now' }
  | ({ kind: 'back-off'; isStorageTrouble?: boolean; proxy?: 'unreachable' | 'refuses' } & Reason)
  /** `isByWhatsApp` is false when only this side cannot log in: the keys are not archived. */
  | ({ kind: 'logged-out'; isByWhatsApp: boolean } & Reason)
  | ({ kind: 'passkey-required' | 'replaced' } & Reason)
  /** `isByWhatsApp` is false when the login was not attempted. */
  | { kind: 'outdated'; isByWhatsApp: boolean }
  | ({ kind: 'restricted'; forMs: number } & Reason);

const HOUR_MS = 60 * 60 * 1000;
/** A temporary ban whose end WhatsApp did not name. */
const DEFAULT_BAN_MS = HOUR_MS;
const RATE_LIMIT_MS = 5 * 60 * 1000;
/** A connection whose QR codes are used up ends with this text. */
export const QR_CODES_ENDED = 'QR refs attempts ended';

/** Of Baileys' errors about the certificates of the server (Utils/noise-handler.js). */
const CERTIFICATE_REFUSED = 'certificate';
const NOT_WHATSAPP = because(say('account.intercepted'));

/**
 * Chooses the action after a disconnect. Pure.
 * Codes: Baileys' DisconnectReason, and WhatsApp's `failure` reasons (402 temporary ban, 406 unknown account, 409 bad
 * client). 500 and Bad MAC end a connection, not the link: one broken session does not require pairing.
 */
export function actionFor(disconnect: Disconnect): DisconnectAction {
  const { code, isLinked, postponedForMs } = disconnect;
  if (postponedForMs !== undefined) {
    return { kind: 'restricted', ...reasonOf(disconnect), forMs: postponedForMs };
  }
  if (disconnect.isVersionRefused) return { kind: 'outdated', isByWhatsApp: false };
  if (disconnect.isWithoutKeys) {
    return { kind: 'logged-out', ...reasonOf(disconnect), isByWhatsApp: false };
  }
  if (disconnect.proxy) return { kind: 'back-off', ...reasonOf(disconnect), proxy: disconnect.proxy };
  if (disconnect.isPasskeyRequired) return { kind: 'passkey-required', ...reasonOf(disconnect) };
  switch (code) {
    case 401:
    case 403:
    case 406:
    case 411:
    case 419:
      // Without a link there is nothing to log out.
      if (!isLinked) return backOff(disconnect);
      return { kind: 'logged-out', ...because(say('account.logged-out', { code })), isByWhatsApp: true };
    case 402:
      return {
        kind: 'restricted',
        ...because(say('account.banned')),
        forMs: disconnect.expiresInMs ?? DEFAULT_BAN_MS,
      };
    case 405:
    case 409:
      return { kind: 'outdated', isByWhatsApp: true };
    case 429:
    case 463:
      return {
        kind: 'restricted',
        ...because(say('account.limited', { code })),
        forMs: disconnect.expiresInMs ?? (code === 429 ? RATE_LIMIT_MS : HOUR_MS),
      };
    case 440:
      return { kind: 'replaced', ...because(say('account.replaced')) };
    case 400:
      if (!disconnect.reason.includes(CERTIFICATE_REFUSED)) return backOff(disconnect);
      return backOff({ ...disconnect, code: undefined, ...NOT_WHATSAPP });
    case 515:
      return { kind: 'reconnect-now' };
    default:
      if (!isLinked && disconnect.reason.includes(QR_CODES_ENDED)) return { kind: 'reconnect-now' };
      return backOff(disconnect);
  }
}

function backOff(disconnect: Disconnect): DisconnectAction {
  const { code, reason, isStorageTrouble } = disconnect;
  return {
    kind: 'back-off',
    ...(code === undefined ? reasonOf(disconnect) : { reason: `${reason} (${code})` }),
    ...(isStorageTrouble && { isStorageTrouble }),
  };
}

/** Of an error ack: too many messages. */
export const TOO_MANY_MESSAGES = '429';
/**
 * Of an error ack: the message goes to a person who never wrote, and WhatsApp refuses this one, has locked such messages, or counted too
 * many; or it had to have a privacy token. Only a question says which.
 */
export const REACH_OUT_REFUSED = '463';
/** The limit that error 429 of an ack means. */
export const RATE_LIMIT = { ...because(say('account.rate-limited')), forMs: RATE_LIMIT_MS };

/** Reads code, reason and expiry of Baileys' `lastDisconnect.error` (a Boom, an Error or undefined). */
export function disconnectOf(error: unknown, isLinked: boolean): Disconnect {
  const output = field(error, 'output');
  const code = field(output, 'statusCode');
  const data = field(error, 'data');
  // Baileys wraps the errors of the WebSocket.
  const ofProxy = [error, data].find((each) => each instanceof ProxyFailedError);
  const expireSeconds = Number(field(data, 'expire') ?? field(field(data, 'attrs'), 'expire'));
  return {
    code: typeof code === 'number' && Number.isFinite(code) ? code : undefined,
    ...(ofProxy ? because(ofProxy.said) : reasonOfError(error)),
    isLinked,
    ...(expireSeconds > 0 && { expiresInMs: expireSeconds * 1000 }),
    ...(ofProxy && { proxy: ofProxy.isRefusal ? ('refuses' as const) : ('unreachable' as const) }),
    ...(error instanceof StorageUnavailableError && { isStorageTrouble: true }),
    ...(error instanceof CredentialsDamagedError && { isWithoutKeys: true }),
    ...(error instanceof ConnectionPostponedError && { postponedForMs: error.forMs }),
    ...(error instanceof VersionRefusedError && { isVersionRefused: true }),
  };
}

function reasonOfError(error: unknown): Reason {
  if (error instanceof ConnectionPostponedError) return error.why;
  return { reason: error instanceof Error && error.message ? error.message : 'Connection closed' };
}
