import type { BinaryNode } from '@whiskeysockets/baileys';
import { node } from './nodes.ts';

/** How the server can end a connection with a stream error. */
export type StreamErrorCode = 401 | 403 | 405 | 408 | 428 | 440 | 500 | 503 | 515;

/**
 * Faults on request. Each counter decreases as it is used; 0 is the normal state. They apply to all clients of the
 * emulator, except faults of one connection.
 */
export class Faults {
  /** Scanned codes to retire: their phone must scan a fresh one. */
  retiredScans = 0;
  /** Passkeys whose phone's nonce is replaced on the way to the client: both sides then show different codes. */
  replacedNonces = 0;
  /** Upgrades to refuse, and the HTTP status to refuse them with. */
  refusedUpgrades = 0;
  refusalStatus = 503;
  /** Logins to answer with `<failure reason>`. */
  failedLogins = 0;
  failureReason = 503;
  /** Messages of clients that get no ack; `isLost` ones are not delivered either. */
  withheldAcks = 0;
  isWithheldLost = false;
  /** Messages of clients that get `<ack error>` and are not delivered. */
  refusedMessages = 0;
  refusalCode = 463;
  /** Numbers of people to whom the next message gets `<ack error>` 463, although the account is not locked. */
  refusedContacts: ReadonlySet<string> = new Set();
  /** The account is locked until then: messages to people who never wrote get `<ack error>` 463. */
  reachOutLock: { endsAtMs: number; type: string } | undefined = undefined;
  /** How many new chats the account began; from `quota` on, the next one gets `<ack error>` 463. */
  newChats: { used: number; quota: number; endsAtMs: number } | undefined = undefined;
  /** Messages to clients that are sent twice, byte for byte. */
  duplicates = 0;
  /** Messages to clients whose ciphertext has a bit turned. */
  corruptions = 0;
  /** Delay of every frame to a client, ms. */
  delayMs = 0;
  /** Never end the offline batch of a login: the client's first buffer stays full. */
  isOfflineEndless = false;
  /** Clients whose version ends with a lower number get `<failure reason>` 405; 0: none. */
  refusedBelow = 0;
  /** Leave keep-alive pings unanswered. */
  isIgnoringPings = false;
  /** Leave questions whether a number has an account unanswered. */
  isIgnoringLookUps = false;

  /** Uses one of a counted fault. */
  take(
    fault:
      | 'replacedNonces'
      | 'retiredScans'
      | 'refusedUpgrades'
      | 'failedLogins'
      | 'withheldAcks'
      | 'refusedMessages'
      | 'duplicates'
      | 'corruptions',
  ): boolean {
    if (this[fault] <= 0) return false;
    this[fault] -= 1;
    return true;
  }

  /** Back to normal. */
  clear(): void {
    Object.assign(this, new Faults());
  }
}

/** The stanza that ends a stream; Baileys reads 440 from the conflict alone. */
export function streamError(code: StreamErrorCode): BinaryNode {
  if (code === 440) return node('stream:error', {}, [node('conflict', { type: 'replaced' })]);
  if (code === 401)
    return node('stream:error', { code: '401' }, [node('conflict', { type: 'device_removed' })]);
  return node('stream:error', { code: `${code}` });
}

/** The same stanza with one bit of its last ciphertext turned. */
export function corrupted(stanza: BinaryNode): BinaryNode {
  if (!Array.isArray(stanza.content)) return stanza;
  const last = stanza.content.findLast((child) => child.tag === 'enc');
  const content = stanza.content.map((child) => {
    if (child !== last || !(child.content instanceof Uint8Array)) return child;
    const bytes = Buffer.from(child.content);
    const at = bytes.length - 12;
    bytes[at] = (bytes[at] ?? 0) ^ 1;
    return { ...child, content: bytes };
  });
  return { ...stanza, content };
}
