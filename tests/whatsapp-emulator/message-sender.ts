import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import type { Actor, ActorChat, Addressing, MessageToDevice, ReceiptToActor, ServerSide } from './actors.ts';
import { EmulatorError } from './emulator-error.ts';
import { stanzaAttributes, withSecret } from './message-content.ts';
import type { DirectCiphertext, SignalPeer } from './signal-peer.ts';
import type { SenderKeys } from './signal-sender-keys.ts';

/** A message to send, with the id it has in the chat. */
export interface OutgoingMessage {
  id: string;
  chat: ActorChat;
  message: proto.IMessage;
  /** what readers see, when the content is encrypted once more */
  shown?: proto.IMessage;
  /** ms since 1970 */
  sentAtMs: number;
  /** more attributes of the stanza */
  attrs?: Record<string, string>;
  /** in a direct chat: the session of this address form */
  session?: Addressing;
  /** in messages of the owner: where linked devices find the secret; default: in both places, as Baileys sends it */
  secretIn?: 'message' | 'outside';
  /** corrupts the bytes of the first delivery, so that the client must request the message again */
  isCorrupt?: boolean;
}

const REMEMBERED_MESSAGES = 500;
const MAX_RESENDS = 5;
const SPOILT_OFFSET = 20;

/**
 * Encrypts for one actor and passes stanzas to the server, in the order of calls: for each linked device with its session
 * and, in groups, with the sender key, distributed in the same stanza to devices that do not have it.
 */
export class MessageSender {
  readonly #actor: Actor;
  readonly #server: ServerSide;
  readonly #peer: SignalPeer;
  readonly #senderKeys: SenderKeys;
  readonly #sent = new Map<string, { outgoing: OutgoingMessage; stanzas: Map<string, MessageToDevice> }>();
  readonly #keyOwners = new Map<string, Set<string>>();
  #tail: Promise<unknown> = Promise.resolve();

  constructor(actor: Actor, server: ServerSide, peer: SignalPeer, senderKeys: SenderKeys) {
    this.#actor = actor;
    this.#server = server;
    this.#peer = peer;
    this.#senderKeys = senderKeys;
  }

  /**
   * Sends to these linked devices (phone number form).
   * @throws {EmulatorError} when a session has to be opened and a device has no keys on the server
   */
  send(outgoing: OutgoingMessage, devices: readonly string[]): Promise<void> {
    const message = withSecret(outgoing.message);
    const work = this.#tail.then(() => this.#sendNow({ ...outgoing, message }, devices));
    this.#tail = work.catch(() => undefined);
    return work;
  }

  /** Sends the same stanzas of an earlier message again, as WhatsApp redelivers. */
  redeliver(id: string): void {
    const sent = this.#sent.get(id);
    if (!sent) throw new EmulatorError(`no message ${id} was sent lately`);
    for (const stanza of sent.stanzas.values()) this.#server.sendMessage(stanza);
  }

  /** Encrypts an earlier message again under its id, as a phone does after an uncertain send. */
  resend(id: string): Promise<void> {
    const sent = this.#sent.get(id);
    if (!sent) throw new EmulatorError(`no message ${id} was sent lately`);
    return this.send({ ...sent.outgoing, isCorrupt: false }, [...sent.stanzas.keys()]);
  }

  /** Responds to a retry receipt: a new session, and the same message for that device. */
  answerRetry(receipt: ReceiptToActor): Promise<void> {
    const work = this.#tail.then(() => this.#answerRetryNow(receipt));
    this.#tail = work.catch(() => undefined);
    return work;
  }

  /** The secret of a message that was sent, which all its readers have. */
  secretOf(id: string): Uint8Array {
    const secret = this.#sent.get(id)?.outgoing.message.messageContextInfo?.messageSecret;
    if (!secret) throw new EmulatorError(`no message ${id} with a secret was sent lately`);
    return secret;
  }

  /** Forgets all sender keys of a group; the own key is distributed again with the next message. */
  forgetGroup(group: string): void {
    this.#keyOwners.delete(group);
    this.#senderKeys.forget(group);
  }

  async #sendNow(outgoing: OutgoingMessage, devices: readonly string[]): Promise<void> {
    const stanzas = new Map<string, MessageToDevice>();
    const forGroup = await this.#encryptForGroup(outgoing, devices);
    for (const device of devices) {
      const encs = forGroup
        ? [...(forGroup.distributions.get(device) ?? []), forGroup.enc]
        : [directEnc(await this.#encryptFor(device, wrapOwn(outgoing), outgoing.session))];
      const stanza = this.#stanza(outgoing, device, outgoing.isCorrupt ? corrupted(encs) : encs);
      stanzas.set(device, stanza);
      this.#server.sendMessage(stanza);
    }
    this.#remember(outgoing, stanzas);
  }

  async #encryptForGroup(outgoing: OutgoingMessage, devices: readonly string[]) {
    if (outgoing.chat.kind !== 'group') return undefined;
    const { group } = outgoing.chat;
    const keyOwners = this.#keyOwners.get(group) ?? new Set<string>();
    this.#keyOwners.set(group, keyOwners);
    const distribution = await this.#senderKeys.distribution(group);
    const distributions = new Map<string, BinaryNode[]>();
    for (const device of devices) {
      if (keyOwners.has(device)) continue;
      const message = senderKeyMessage(group, distribution);
      distributions.set(device, [directEnc(await this.#encryptFor(device, message))]);
      keyOwners.add(device);
    }
    const bytes = await this.#senderKeys.encrypt(group, outgoing.message);
    return { distributions, enc: encNode('skmsg', bytes) };
  }

  async #answerRetryNow({ ids, from, retry }: ReceiptToActor): Promise<void> {
    const sent = this.#sent.get(ids[0] ?? '');
    if (!sent || !retry || retry.count > MAX_RESENDS) return;
    const { outgoing } = sent;
    await this.#peer.openSession(from.pn, retry.bundle ?? this.#server.takeKeyBundle(from.pn));
    let message = wrapOwn(outgoing);
    if (outgoing.chat.kind === 'group') {
      const { group } = outgoing.chat;
      message = { ...message, ...senderKeyMessage(group, await this.#senderKeys.distribution(group)) };
    }
    const enc = directEnc(await this.#encryptFor(from.pn, message));
    enc.attrs.count = String(retry.count);
    const stanza = this.#stanza(outgoing, from.pn, [enc]);
    sent.stanzas.set(from.pn, stanza);
    this.#server.sendMessage(stanza);
  }

  #encryptFor(device: string, message: proto.IMessage, session?: Addressing): Promise<DirectCiphertext> {
    return this.#peer.encryptFor(device, message, () => this.#server.takeKeyBundle(device), session);
  }

  #stanza(outgoing: OutgoingMessage, device: string, encs: BinaryNode[]): MessageToDevice {
    return {
      id: outgoing.id,
      from: this.#actor,
      to: device,
      chat: outgoing.chat,
      encs,
      message: outgoing.shown ?? outgoing.message,
      sentAtMs: outgoing.sentAtMs,
      attrs: { ...stanzaAttributes(outgoing.shown ?? outgoing.message), ...outgoing.attrs },
    };
  }

  #remember(outgoing: OutgoingMessage, stanzas: Map<string, MessageToDevice>): void {
    this.#sent.set(outgoing.id, { outgoing, stanzas });
    if (this.#sent.size <= REMEMBERED_MESSAGES) return;
    const [oldest] = this.#sent.keys();
    if (oldest !== undefined) this.#sent.delete(oldest);
  }
}

// Messages of the owner reach the other devices of the account inside a deviceSentMessage; those to the devices themselves do not.
function wrapOwn({ chat, message, attrs, secretIn }: OutgoingMessage): proto.IMessage {
  if (chat.kind !== 'own' || attrs?.category === 'peer') return message;
  const { messageContextInfo, ...content } = message;
  const inner = secretIn === 'outside' ? content : message;
  const outer = secretIn === 'message' ? {} : { messageContextInfo };
  return { deviceSentMessage: { destinationJid: chat.recipient, message: inner }, ...outer };
}

function senderKeyMessage(groupId: string, distribution: Uint8Array): proto.IMessage {
  return { senderKeyDistributionMessage: { groupId, axolotlSenderKeyDistributionMessage: distribution } };
}

function directEnc({ type, bytes }: DirectCiphertext): BinaryNode {
  return encNode(type, bytes);
}

function encNode(type: string, content: Uint8Array): BinaryNode {
  return { tag: 'enc', attrs: { v: '2', type }, content };
}

// Far enough from the end to be in the encrypted part of each kind. Copies the nodes: devices share the skmsg node.
function corrupted(encs: BinaryNode[]): BinaryNode[] {
  return encs.map((enc) => {
    if (!(enc.content instanceof Uint8Array)) return enc;
    const bytes = Buffer.from(enc.content);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - SPOILT_OFFSET) ^ 0xff, bytes.length - SPOILT_OFFSET);
    return { ...enc, content: bytes };
  });
}
