import { createHash } from 'node:crypto';
import type { proto } from '@whiskeysockets/baileys';
import type {
  KeyBundle,
  LinkCodeFinish,
  LinkCodeHello,
  MessageToActor,
  PairRequest,
  PhoneActor,
  Reading,
  ReceiptToActor,
  ServerSide,
} from './actors.ts';
import { parsePairingQr, signDeviceIdentity } from './adv-identity.ts';
import { AppState } from './app-state.ts';
import { EmulatorError } from './emulator-error.ts';
import { answerLinkCode, openLinkCodeKeyBundle } from './link-code.ts';
import { plainText, textOf } from './message-content.ts';
import { MessageReader } from './message-reader.ts';
import { MessageSender } from './message-sender.ts';
import { type Passkey, PhonePasskeyCeremony, type RequestedDevice } from './passkey.ts';
import { lidOf, newMessageId, type ReceivedMessage } from './person-model.ts';
import { SignalPeer } from './signal-peer.ts';
import { SenderKeys } from './signal-sender-keys.ts';
import { PATIENCE_MS, Timeline } from './timeline.ts';

/** The owner of the phone. */
export interface PhoneOptions {
  /** digits of the phone number */
  phone: string;
  /** digits of the LID; default derived from the phone number */
  lid?: string;
  name?: string;
  /** WhatsApp asks for it when a device is linked. Default: it does not ask. */
  passkey?: Passkey;
}

interface CodeLink {
  sharedEphemeral: Buffer;
  resolve: (devicePn: string) => void;
  reject: (error: unknown) => void;
}

/**
 * The phone of an account: links clients by QR or by code, receives copies of their messages, and writes messages.
 */
export class Phone implements PhoneActor {
  readonly pn: string;
  readonly lid: string;
  readonly pushName: string;
  readonly devices: readonly number[] = [0];
  readonly appState = new AppState();
  readonly passkey: Passkey | undefined;
  #ceremony: PhonePasskeyCeremony | undefined;
  readonly #server: ServerSide;
  readonly #peer: SignalPeer;
  readonly #reader: MessageReader;
  readonly #sender: MessageSender;
  readonly #hellos = new Timeline<LinkCodeHello>();
  readonly #codeLinks = new Map<string, CodeLink>();
  readonly #copies = new Timeline<ReceivedMessage>();
  /** Devices, phone number form, that have the key of the app state. */
  readonly #withStateKey = new Set<string>();
  #lastKeyIndex = 0;

  /** Does not register the account; `createPhone` does. */
  constructor(server: ServerSide, options: PhoneOptions) {
    this.#server = server;
    this.pn = `${options.phone}@s.whatsapp.net`;
    this.lid = `${options.lid ?? lidOf(options.phone)}@lid`;
    this.pushName = options.name ?? `Account ${options.phone.slice(-4)}`;
    this.passkey = options.passkey;
    this.#peer = new SignalPeer(options.phone);
    const senderKeys = new SenderKeys();
    this.#reader = new MessageReader(this, server, this.#peer, senderKeys);
    this.#sender = new MessageSender(this, server, this.#peer, senderKeys);
  }

  /** The account's identity key, 32 bytes: it signs linked devices. */
  get identityKey(): Uint8Array {
    return this.#peer.identity.identityKey.public;
  }

  /** The code that the phone shows while a device is linked with a passkey. */
  get passkeyCode(): string | undefined {
    return this.#ceremony?.code;
  }

  /** Copies of the messages of linked devices, in order. */
  get copies(): readonly ReceivedMessage[] {
    return this.#copies.items;
  }

  /**
   * Scans a QR code, given as its text.
   * @returns device JID of the new linked device, phone number form
   * @throws {EmulatorError} when the text is not a pairing QR code, or no connected client shows it
   */
  async scan(qrText: string): Promise<string> {
    const { ref, identityKey, advSecret } = parsePairingQr(qrText);
    return this.#pair(ref, identityKey, advSecret);
  }

  /**
   * Types the eight-letter code that a client shows; waits for the client's request.
   * @returns device JID of the new linked device, phone number form
   * @throws {EmulatorError} when the code is wrong or pairing did not complete in time
   */
  async enterCode(code: string, timeoutMs = PATIENCE_MS): Promise<string> {
    const isNew = ({ ref }: LinkCodeHello) => !this.#codeLinks.has(ref);
    const hello = await this.#hellos.last(isNew, timeoutMs, `a request for code pairing with ${this.pn}`);
    const exchange = await answerLinkCode(code, hello.wrappedCompanionEphemeral);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#codeLinks.delete(hello.ref);
        reject(new EmulatorError(`the client gave no answer to the code within ${timeoutMs} ms`));
      }, timeoutMs);
      const settle =
        <T>(end: (value: T) => void) =>
        (value: T) => {
          clearTimeout(timer);
          end(value);
        };
      this.#codeLinks.set(hello.ref, {
        sharedEphemeral: exchange.sharedEphemeral,
        resolve: settle(resolve),
        reject: settle(reject),
      });
      this.#server.submitLinkCode(hello.ref, exchange.wrappedPrimaryEphemeral, this.identityKey);
    });
  }

  /** The owner writes to a person on the phone; linked devices see it as their own message. */
  async say(
    content: string | proto.IMessage,
    options: {
      to: string | { readonly pn: string } | { readonly jid: string };
      id?: string;
      secretIn?: 'message' | 'outside';
    },
  ): Promise<string> {
    const id = options.id ?? newMessageId();
    const { to } = options;
    const recipient = typeof to === 'string' ? to : 'jid' in to ? to.jid : to.pn;
    const message = typeof content === 'string' ? plainText(content) : content;
    const devices = this.#server.linkedDevices(this.pn).map(({ pn }) => pn);
    if (devices.length === 0) throw new EmulatorError(`the account ${this.pn} has no linked device`);
    const { secretIn } = options;
    const chat = { kind: 'own' as const, recipient };
    await this.#sender.send({ id, chat, message, sentAtMs: Date.now(), secretIn }, devices);
    return id;
  }

  /** The secret of a message that the owner wrote on the phone. */
  secretOf(id: string): Uint8Array {
    return this.#sender.secretOf(id);
  }

  /** The owner locks a chat on the phone, or unlocks it; linked devices learn it. */
  async lock(chat: { readonly pn: string } | { readonly jid: string }, isLocked = true): Promise<void> {
    const collection = await this.appState.lock('jid' in chat ? chat.jid : chat.pn, isLocked);
    await this.shareStateKey();
    this.#server.notifyAppState(this.pn, collection);
  }

  /** Gives linked devices that do not have it the key of the app state, as phones do after linking. */
  async shareStateKey(): Promise<void> {
    const devices = this.#server.linkedDevices(this.pn).map(({ pn }) => pn);
    const chat = { kind: 'own', recipient: this.pn } as const;
    for (const device of devices.filter((each) => !this.#withStateKey.has(each))) {
      this.#withStateKey.add(device);
      const message = this.appState.keyShare();
      const attrs = { category: 'peer', push_priority: 'high' };
      await this.#sender.send({ id: newMessageId(), chat, message, sentAtMs: Date.now(), attrs }, [device]);
    }
  }

  /** The owner unlinks a device; default all devices of the account. */
  unlink(devicePn?: string): void {
    for (const { pn } of this.#server.linkedDevices(this.pn)) {
      if (devicePn === undefined || pn === devicePn) this.#server.unlinkDevice(pn);
    }
  }

  /** The first `count` copies of messages of linked devices, as soon as there are that many. */
  async waitForCopies(count: number, timeoutMs = PATIENCE_MS): Promise<readonly ReceivedMessage[]> {
    if (count > 0) await this.#copies.at(count - 1, timeoutMs, `${count} copies for ${this.pushName}`);
    return this.copies.slice(0, count);
  }

  keyBundle(): KeyBundle {
    return this.#peer.identity.newBundle();
  }

  onLinkCodeHello(hello: LinkCodeHello): void {
    this.#hellos.add(hello);
  }

  async onLinkCodeFinish(finish: LinkCodeFinish): Promise<void> {
    const link = this.#codeLinks.get(finish.ref);
    if (!link) return;
    this.#codeLinks.delete(finish.ref);
    try {
      const advSecret = openLinkCodeKeyBundle(
        link.sharedEphemeral,
        finish.wrappedKeyBundle,
        this.#peer.identity.identityKey,
        finish.companionIdentity,
      );
      link.resolve(await this.#pair(finish.ref, finish.companionIdentity, advSecret));
    } catch (error) {
      link.reject(error);
    }
  }

  async onMessage(message: MessageToActor): Promise<Reading> {
    const reading = await this.#reader.read(message);
    if (reading.kind !== 'read') return reading;
    const { id, chat } = message;
    const text = textOf(reading.message);
    this.#copies.add({ id, text, at: Date.now(), chat, message: reading.message, repeats: 0 });
    return reading;
  }

  async onReceipt(receipt: ReceiptToActor): Promise<void> {
    if (receipt.type === 'retry') await this.#sender.answerRetry(receipt);
  }

  #pair(ref: string, companionIdentity: Uint8Array, advSecret: Uint8Array): Promise<string> {
    const request = this.#requestFor(ref, companionIdentity, advSecret);
    const { passkey } = this;
    if (!passkey) return this.#server.pairDevice(request);
    this.#ceremony = new PhonePasskeyCeremony(advSecret);
    const link = (device: RequestedDevice) =>
      this.#server.pairDevice(this.#requestFor(ref, device.identityKey, device.advSecret));
    return this.#server.pairDevice({ ...request, passkey: { key: passkey, ceremony: this.#ceremony, link } });
  }

  #requestFor(ref: string, companionIdentity: Uint8Array, advSecret: Uint8Array): PairRequest {
    this.#lastKeyIndex += 1;
    const keyIndex = this.#lastKeyIndex;
    const accountKey = this.#peer.identity.identityKey;
    const deviceIdentity = signDeviceIdentity(accountKey, companionIdentity, advSecret, keyIndex);
    const secretId = createHash('sha256').update(advSecret).digest('hex');
    return { ref, phone: this, secretId, deviceIdentity, keyIndex };
  }
}

/** Creates the phone of an account and registers it with the server, so that the account can be paired. */
export function createPhone(server: ServerSide, options: PhoneOptions): Phone {
  const phone = new Phone(server, options);
  server.addPhone(phone);
  return phone;
}
