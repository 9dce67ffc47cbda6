import type { Clock } from '../../core/clock.ts';
import type { Logger } from '../../core/logger.ts';
import type { InboundMessage } from '../../core/messages/inbound-message.ts';
import type { AccountStore } from '../../core/ports/account-store.ts';
import type { ProviderEvents } from '../../core/ports/chat-provider.ts';
import type { Fence } from '../../core/ports/cluster.ts';
import type { Journal, OriginalMessage } from '../../core/ports/inbox.ts';
import type { KeyStore, MessageIntake } from '../../core/ports/key-store.ts';
import type { SentMessage } from '../../core/ports/outbox.ts';
import type { StorageHealth } from '../../core/ports/storage-health.ts';
import type { CurrentWork } from '../../core/suspects.ts';
import type { AccountProxy } from './connection/account-proxy.ts';
import type { ClientVersions } from './connection/client-versions.ts';
import type { openSocket } from './connection/open-socket.ts';

export interface BaileysProviderOptions {
  accountId: string;
  events: ProviderEvents & MessageIntake;
  keyStore: KeyStore;
  accountStore: AccountStore;
  journal: Journal;
  /** The message with this WhatsApp id, for a device that could not decrypt it; undefined when unknown. */
  findSentMessage(waMessageId: string): Promise<SentMessage | undefined>;
  /** The message that an encrypted edit names (`Inbox.original`). */
  findOriginal(edit: InboundMessage, waMessageId: string): Promise<OriginalMessage | undefined>;
  current?: CurrentWork;
  clock: Clock;
  log: Logger;
  /** WebSocket server to use instead of WhatsApp's. */
  whatsappWsUrl?: string;
  /**
   * The account's proxy at this moment, read before each connection; undefined: it connects directly. Throws as
   * AccountProxies.of. Default: none.
   */
  proxy?(): Promise<AccountProxy | undefined>;
  /** Which version of WhatsApp Web a login announces. */
  versions: Pick<ClientVersions, 'choose' | 'known' | 'refused' | 'accepted' | 'untilOther'>;
  /** Older messages are stored and not answered. */
  maxMessageAgeMs(): number;
  /** Digits of a number: pair by code for it instead of by QR. */
  pairingPhone?: string;
  /** Makes the socket. Default: a Baileys socket. */
  connect?: typeof openSocket;
  /** Default: Math.random. */
  random?(): number;
  /** Called when a message's delivery receipt was written; for crash tests. */
  onReceiptSent?(): void;
  /** Somebody requested a sent message again whose chat is another one; for the metrics. */
  onResendRefused?(): void;
  /** Checked before each connection, so that nothing is received that cannot be stored. Default: no check. */
  storage?: Pick<StorageHealth, 'check'>;
  /**
   * The lease of this account: verified before each login, and checked for each write to the socket. Default: always
   * valid.
   */
  fence?: Pick<Fence, 'isHeld' | 'isTakeOver' | 'verify'>;
}
