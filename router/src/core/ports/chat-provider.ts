import type { ClientVersion } from '../client-version.ts';
import type { ChatAddress, InboundMessage } from '../messages/inbound-message.ts';
import type { AccountState, MessageKey, OutgoingMessage } from '../models.ts';
import type { Phrase, Reason } from '../phrases.ts';
import type { LimitKind } from './account-store.ts';

/** What an admin sees of one WhatsApp account. Sentences are ready to show; times are epoch milliseconds. */
export interface AccountStatus {
  accountId: string;
  /** Absent: WhatsApp. */
  provider?: 'playground';
  state: AccountState;
  /** What a person should do now, or that nothing needs doing. */
  nextAction: string;
  sinceMs: number;
  /**
   * The socket is open: messages can be sent. True in `open`, and in `restricted` while WhatsApp limits new contacts
   * only.
   */
  isConnected?: boolean;
  /** Why this state, for `waiting`, `proxy-failed`, `passkey-required`, `logged-out`, `replaced`, `outdated`, `restricted`. */
  reason?: string;
  /** Of the reason. */
  phrase?: Phrase;
  /** Raw text of the current QR code, while pairing by QR. */
  qr?: string;
  /** Eight letters to type on the phone, while pairing by code. */
  pairingCode?: string;
  /** What WhatsApp waits for, in `passkey-required`; absent: nothing, the last attempt ended. */
  passkey?: PasskeyStatus;
  /** When qr, pairingCode or the step of the passkey expires. */
  expiresAtMs?: number;
  /**
   * When the account connects again, in `waiting` and `proxy-failed`; when WhatsApp is asked for a newer version, in `outdated`; when the limit
   * ends, in `restricted`.
   */
  retryAtMs?: number;
  /** For how long WhatsApp still limits writing to new contacts, in milliseconds; absent while it does not. */
  limitLeftMs?: number;
  /** All limits of WhatsApp that apply now; absent: none. */
  limits?: Array<Reason & { kind: LimitKind; untilMs: number }>;
  /** What is wrong with single messages or keys while the account works; absent when nothing is. */
  problems?: string[];
  /** Of each of them; null: it has none. */
  problemPhrases?: Array<Phrase | null>;
  /** The version of WhatsApp Web that the last login announced; absent before the first one. */
  clientVersion?: ClientVersion;
  /** URL of the account's proxy without user name and password; absent: it connects directly. */
  proxy?: string;
  /** The linked account, once known. */
  phone?: string;
  lid?: string;
  name?: string;
  /** The node that has the account; absent while none has. Set for the API, not by providers. */
  node?: string;
}

/** The step of linking with a passkey. */
export type PasskeyStatus =
  /** The owner must sign; `options`: PublicKeyCredentialRequestOptions of WebAuthn as JSON, base64url in place of bytes. */
  | { step: 'sign'; options: string }
  /** The phone must continue. */
  | { step: 'phone' }
  /** The owner must compare this code, eight letters, with the one on the phone. */
  | { step: 'compare'; code: string }
  | { step: 'finish' };

/** What the owner did: `answer` is the signed PublicKeyCredential as JSON. */
export type PasskeyInput = { answer: string } | { isSameCode: boolean };

/** The state of a sent message at WhatsApp. */
export interface MessageReceipt {
  waMessageId: string;
  state: 'acked' | 'delivered' | 'read';
  atMs: number;
  /** The chat that the receipt comes from; absent for WhatsApp's own ack. */
  from?: ChatAddress;
}

/** What a provider reports to core. The provider awaits every promise before it drops the event. */
export interface ProviderEvents {
  /**
   * One message, in stanza order within its chat. Rejects with StorageUnavailableError: the provider keeps it and
   * retries.
   */
  receive(message: InboundMessage): Promise<void>;
  /** Server acks and receipts of own messages. */
  receipts(receipts: MessageReceipt[]): Promise<void>;
  /**
   * An error ack: WhatsApp refused the message with this code. `limitLeftMs` is set while WhatsApp limits messages to people who never
   * wrote, which the status then contains already.
   */
  refused(waMessageId: string, code: string, limitLeftMs?: number): Promise<void>;
  /**
   * The owner has locked a chat on the phone, or unlocked it. Also called when nothing changed. Rejects with
   * StorageUnavailableError: the provider reports it again.
   */
  chatLocked(chat: ChatAddress, isLocked: boolean): Promise<void>;
  /** The name of a group, when the provider hears it. Without effect while nothing is stored about the group. */
  groupNamed(groupId: string, name: string): Promise<void>;
  /** Every change of the named state, also the first. In `open` queued replies are sent. */
  status(status: AccountStatus): void;
}

/** One WhatsApp account's connection. Sends of one chat are made one at a time by the caller. */
export interface ChatProvider {
  readonly accountId: string;
  status(): AccountStatus;
  /** Connects (or waits for pairing). Returns immediately; the status reports the result. */
  start(): Promise<void>;
  /** Closes the socket and awaits the last key and journal writes. Idempotent. */
  stop(): Promise<void>;
  /**
   * Resolves when the bytes are written, which is not the ack. A message with a file needs its uploaded `content`.
   * @throws {NotConnectedError} nothing was sent · {SendUncertainError} it may have been sent · {SendRefusedError} no
   *   retry helps
   */
  send(message: OutgoingMessage, content?: Uint8Array): Promise<void>;
  /**
   * Uploads the file of a message; nothing is sent to the chat. The result is for `send`, in every attempt.
   * @throws {NotConnectedError} · {UploadFailedError} a retry may help · {SendRefusedError} no retry helps
   */
  upload(message: OutgoingMessage, bytes: Uint8Array): Promise<Uint8Array>;
  /**
   * Asks the account's phone for a file that WhatsApp's servers dropped.
   * @returns a reference by which it can be fetched
   * @throws {MediaError} the phone does not have it either · {NotConnectedError}
   */
  reloadMedia(reference: string): Promise<string>;
  /**
   * The account belongs to another node now: nothing leaves the socket from this call on, nothing more is written, and
   * the socket is closed. Resolves when all work that was running has ended.
   */
  abandon(): Promise<void>;
  /**
   * Asks WhatsApp whether a number has an account. Absent: every number has one.
   * @param phone digits
   * @throws {NotConnectedError} · {LookUpFailedError} WhatsApp gave no answer
   */
  isOnWhatsApp?(phone: string): Promise<boolean>;
  /** While WhatsApp is asked which limits the account has, as after a login: resolves with the answer, or after 10 s. Else undefined. */
  untilLimitsKnown(): Promise<void> | undefined;
  /** Shows or hides "typing..." in a chat; failures are ignored. */
  setTyping(to: string, isTyping: boolean): Promise<void>;
  /** Shows the person that their message was read, as the account's privacy settings allow; failures are ignored. */
  markRead(message: MessageKey): Promise<void>;
  /** Sets the account's reaction on a message, `` for none. @returns false when it was not sent, such as without a connection */
  react(message: MessageKey, emoji: string): Promise<boolean>;
  /** Starts pairing again: by QR, or by code for this phone number (digits). Only while not linked. */
  pair(by: { method: 'qr' } | { method: 'code'; phone: string }): Promise<AccountStatus>;
  /**
   * Continues linking with a passkey. Absent: no passkey is ever asked for.
   * @throws {PasskeyAnswerError} give another answer · {PasskeyNotAskedError} WhatsApp does not wait for this now
   */
  usePasskey?(input: PasskeyInput): Promise<AccountStatus>;
  /** Unlinks at WhatsApp when connected, archives the keys and goes to `pairing`. */
  logout(): Promise<AccountStatus>;
  /** Unlinks at WhatsApp when connected, and ends the connection: the account is being deleted. */
  unlink(): Promise<AccountStatus>;
  /** Something may have come that no socket reports: reads it now. Absent: the provider needs no report. */
  readNow?(): void;
  /** New socket now, also out of `replaced`, `waiting`, `restricted` and `stopped`. */
  restart(): Promise<AccountStatus>;
}
