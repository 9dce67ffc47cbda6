import { type BinaryNode, encodeBigEndian, type proto } from '@whiskeysockets/baileys';
import type { Actor, Ciphertext, MessageToActor, Reading, ReceiptToDevice, ServerSide } from './actors.ts';
import { EmulatorError } from './emulator-error.ts';
import { changeOf } from './message-content.ts';
import { RepeatedCiphertextError, type SignalPeer } from './signal-peer.ts';
import type { SenderKeys } from './signal-sender-keys.ts';

/** The number of requests for one message before a phone shows "waiting for this message". */
const MAX_RETRIES = 5;

/** Reads messages for one actor: decrypts, recognizes repeats, requests undecryptable messages again. */
export class MessageReader {
  readonly #actor: Actor;
  readonly #server: ServerSide;
  readonly #peer: SignalPeer;
  readonly #senderKeys: SenderKeys;
  readonly #readings = new Map<string, Reading>();
  readonly #retries = new Map<string, number>();
  readonly #messages = new Map<string, MessageToActor>();

  constructor(actor: Actor, server: ServerSide, peer: SignalPeer, senderKeys: SenderKeys) {
    this.#actor = actor;
    this.#server = server;
    this.#peer = peer;
    this.#senderKeys = senderKeys;
  }

  /**
   * Decrypts a message. An undecryptable one is requested again with a retry receipt, unless its id was read
   * before. Expects one call at a time.
   */
  async read(message: MessageToActor): Promise<Reading> {
    const known = this.#readings.get(message.id);
    this.#messages.set(message.id, message);
    try {
      const content = await this.#decrypt(message);
      this.#retries.delete(message.id);
      if (known?.kind === 'read') return { kind: 'repeat', message: content };
      const reading: Reading = isForTheEye(content) ? { kind: 'read', message: content } : { kind: 'silent' };
      this.#readings.set(message.id, reading);
      return reading;
    } catch (error) {
      if (known?.kind === 'read') return { kind: 'repeat', message: known.message };
      if (known) return known;
      if (!(error instanceof RepeatedCiphertextError)) this.#askAgain(message);
      return { kind: 'unreadable', reason: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Requests a message that was read before, as a phone that lost it. @throws {EmulatorError} when it was not read */
  askAgain(id: string): void {
    const message = this.#messages.get(id);
    if (!message) throw new EmulatorError(`there was no message ${id}`);
    this.#askAgain(message);
  }

  async #decrypt(message: MessageToActor): Promise<proto.IMessage> {
    if (message.ciphertexts.length === 0) throw new Error('the message has nothing for this device');
    const content: proto.IMessage = {};
    for (const ciphertext of message.ciphertexts) {
      const part = await this.#decryptOne(message, ciphertext);
      const distribution = part.senderKeyDistributionMessage;
      if (distribution?.groupId && distribution.axolotlSenderKeyDistributionMessage) {
        const key = distribution.axolotlSenderKeyDistributionMessage;
        await this.#senderKeys.learn(distribution.groupId, message.from.pn, key);
      }
      Object.assign(content, part.deviceSentMessage?.message ?? part);
    }
    delete content.senderKeyDistributionMessage;
    return content;
  }

  async #decryptOne(message: MessageToActor, { type, bytes }: Ciphertext): Promise<proto.IMessage> {
    if (type === 'skmsg') return this.#senderKeys.decrypt(message.chat, message.from.pn, bytes);
    return this.#peer.decryptFrom(message.from.pn, type, bytes);
  }

  #askAgain(message: MessageToActor): void {
    const count = (this.#retries.get(message.id) ?? 0) + 1;
    if (count > MAX_RETRIES) return;
    this.#retries.set(message.id, count);
    this.#server.sendReceipt({
      from: this.#actor,
      fromDevice: message.device,
      to: message.from.pn,
      ids: [message.id],
      type: 'retry',
      chat: receiptChat(message),
      children: retryChildren(this.#actor, message, count, this.#peer.identity.registrationId),
    });
  }
}

/** The chat attributes of a receipt for this message. */
export function receiptChat(message: MessageToActor): ReceiptToDevice['chat'] {
  return message.isGroup
    ? { kind: 'group', group: message.chat }
    : { kind: 'direct', addressing: message.addressing };
}

// From the second request on the own keys are included, so that the other side can open a new session at once.
function retryChildren(
  actor: Actor,
  message: MessageToActor,
  count: number,
  registrationId: number,
): BinaryNode[] {
  const t = message.stanza.attrs.t ?? String(Math.floor(Date.now() / 1000));
  const children: BinaryNode[] = [
    { tag: 'retry', attrs: { count: String(count), id: message.id, t, v: '1', error: '0' } },
    { tag: 'registration', attrs: {}, content: encodeBigEndian(registrationId) },
  ];
  if (count > 1) children.push(keysNode(actor, message.device));
  return children;
}

function keysNode(actor: Actor, device: number): BinaryNode {
  const { identityKey, signedPreKey, preKey } = actor.keyBundle(device);
  const key = (tag: string, id: number, value: Uint8Array, more: BinaryNode[] = []): BinaryNode => ({
    tag,
    attrs: {},
    content: [leaf('id', encodeBigEndian(id, 3)), leaf('value', value), ...more],
  });
  return {
    tag: 'keys',
    attrs: {},
    content: [
      leaf('type', Buffer.from([5])),
      leaf('identity', identityKey),
      ...(preKey ? [key('key', preKey.keyId, preKey.publicKey)] : []),
      key('skey', signedPreKey.keyId, signedPreKey.publicKey, [leaf('signature', signedPreKey.signature)]),
    ],
  };
}

function leaf(tag: string, content: Uint8Array): BinaryNode {
  return { tag, attrs: {}, content };
}

// A decoded message has only the fields that were sent.
function isForTheEye(content: proto.IMessage): boolean {
  return changeOf(content) !== undefined || Object.keys(content).some((kind) => !HOUSEKEEPING.has(kind));
}

const HOUSEKEEPING = new Set(['messageContextInfo', 'protocolMessage']);
