import type { proto } from '@whiskeysockets/baileys';
import type {
  Actor,
  ActorChat,
  Addressing,
  KeyBundle,
  MessageToActor,
  Reading,
  ReceiptToActor,
  ReceiptToDevice,
  ServerSide,
} from './actors.ts';
import { EmulatorError } from './emulator-error.ts';
import {
  changeOf,
  editedText,
  encryptedEdit,
  type MessageReference,
  plainText,
  quotedText,
  reactionOf,
  textOf,
} from './message-content.ts';
import { MessageReader, receiptChat } from './message-reader.ts';
import { MessageSender } from './message-sender.ts';
import {
  type EditAddresses,
  lidOf,
  newMessageId,
  type PersonOptions,
  type ReceiptHabit,
  type ReceivedMessage,
  type ReceivedPresence,
  type ReceivedReaction,
  type ReceivedReceipt,
  type Recipient,
  type SayOptions,
} from './person-model.ts';
import { SignalPeer } from './signal-peer.ts';
import { SenderKeys } from './signal-sender-keys.ts';
import { PATIENCE_MS, Timeline } from './timeline.ts';

/** A virtual person with a phone: writes to accounts and groups, reads their replies and sends receipts. */
export class Person implements Actor {
  readonly phone: string;
  readonly pn: string;
  readonly lid: string;
  readonly pushName: string;
  readonly devices: readonly number[] = [0];
  /** can be changed at any time */
  habit: ReceiptHabit;
  readonly #server: ServerSide;
  readonly username: string | undefined;
  #hidden: Addressing | undefined;
  #via: Addressing;
  readonly #peer: SignalPeer;
  readonly #senderKeys = new SenderKeys();
  readonly #reader: MessageReader;
  readonly #sender: MessageSender;
  readonly #received = new Timeline<ReceivedMessage>();
  readonly #receipts = new Timeline<ReceivedReceipt>();
  readonly #presences = new Timeline<ReceivedPresence>();
  readonly #reactions = new Timeline<ReceivedReaction>();
  readonly #byId = new Map<string, ReceivedMessage>();
  readonly #heldReceipts: ReceiptToDevice[] = [];
  #repliesTaken = 0;

  /** Does not register the person; `createPerson` does. */
  constructor(server: ServerSide, options: PersonOptions) {
    this.#server = server;
    this.phone = options.phone;
    this.pn = `${options.phone}@s.whatsapp.net`;
    this.lid = `${options.lid ?? lidOf(options.phone)}@lid`;
    this.pushName = options.name ?? `Person ${options.phone.slice(-4)}`;
    this.username = options.username;
    this.#hidden = options.hidden;
    this.#via = options.via ?? 'pn';
    this.habit = { receipts: 'delivery', receiptDelayMs: 0, ...options.habit };
    this.#peer = new SignalPeer(options.phone);
    this.#reader = new MessageReader(this, server, this.#peer, this.#senderKeys);
    this.#sender = new MessageSender(this, server, this.#peer, this.#senderKeys);
  }

  /** The address form of direct messages. */
  get via(): Addressing {
    return this.#via;
  }

  get hidden(): Addressing | undefined {
    return this.#hidden;
  }

  /** The server moves the person: direct messages come from this address from now on; stanzas name the other unless it is hidden. */
  moveTo(via: Addressing, hidden?: Addressing): void {
    this.#via = via;
    this.#hidden = hidden;
  }

  /** Bubbles in order of appearance. */
  get received(): readonly ReceivedMessage[] {
    return this.#received.items;
  }

  /** Receipts for own messages, in order of arrival. */
  get receipts(): readonly ReceivedReceipt[] {
    return this.#receipts.items;
  }

  /** `composing`, `paused` and the like, in order. */
  get presences(): readonly ReceivedPresence[] {
    return this.#presences.items;
  }

  /** Reactions of accounts, in order; they are not bubbles. */
  get reactions(): readonly ReceivedReaction[] {
    return this.#reactions.items;
  }

  /**
   * Writes a message; messages appear in the order of the calls. Resolves when the server has received it, whether or not
   * the client is online.
   * @returns its WhatsApp id
   * @throws {EmulatorError} when there is no linked device to receive it
   */
  async say(content: string | proto.IMessage, options: SayOptions): Promise<string> {
    const id = options.id ?? newMessageId();
    const { chat, devices } = this.#destination(options.to, options.via);
    const message = typeof content === 'string' ? textMessage(content, options.quoted) : content;
    const sentAtMs = options.timestamp ?? Date.now();
    const { attrs, shown, isCorrupt, session } = options;
    await this.#sender.send({ id, chat, message, shown, sentAtMs, attrs, isCorrupt, session }, devices);
    return id;
  }

  /** Changes the text of an own message; encrypted with its secret, as phones do it since 2026, when `encrypted` is given. */
  edit(
    id: string,
    text: string,
    { encrypted, ...options }: Omit<SayOptions, 'id' | 'quoted'> & { encrypted?: EditAddresses },
  ): Promise<string> {
    const shown = editedText(id, text);
    if (!encrypted) return this.say(shown, options);
    const original = { id, secret: this.secretOf(id), author: this[encrypted.author] };
    return this.say(encryptedEdit(original, this[encrypted.editor], text), { shown, ...options });
  }

  /** The secret of an own message. All members of its group have it. */
  secretOf(id: string): Uint8Array {
    return this.#sender.secretOf(id);
  }

  /** Posts a status, which the account's devices receive as contacts of the person. */
  postStatus(text: string, to: Recipient): Promise<string> {
    return this.say(text, { to, attrs: { from: 'status@broadcast', participant: this.pn } });
  }

  /** WhatsApp delivers an earlier message once more, byte for byte. */
  redeliver(id: string): void {
    this.#sender.redeliver(id);
  }

  /** The phone sends an earlier message again under its id, with a new encryption. */
  sayAgain(id: string): Promise<void> {
    return this.#sender.resend(id);
  }

  /** Shows that this person is typing, or has stopped. */
  startTyping(to: Recipient, state: 'composing' | 'paused' = 'composing'): void {
    const { chat, devices } = this.#destination(to, undefined);
    if (chat.kind === 'own') return;
    for (const device of devices) this.#server.sendChatState(this, device, chat, state);
  }

  /**
   * The next bubble that no call has returned yet; waits for it.
   * @throws {EmulatorError} when none arrived in time
   */
  async nextReply(timeoutMs = PATIENCE_MS): Promise<ReceivedMessage> {
    const index = this.#repliesTaken++;
    try {
      return await this.#received.at(index, timeoutMs, `a reply for ${this.pushName}`);
    } catch (error) {
      this.#repliesTaken = Math.min(this.#repliesTaken, index);
      throw error;
    }
  }

  /** The first `count` bubbles, as soon as there are that many. */
  async waitForReceived(count: number, timeoutMs = PATIENCE_MS): Promise<readonly ReceivedMessage[]> {
    if (count > 0) await this.#received.at(count - 1, timeoutMs, `${count} replies for ${this.pushName}`);
    return this.received.slice(0, count);
  }

  /** The first receipt for an own message; of that type when one is given, `delivery` naming the plain one. */
  waitForReceipt(id: string, timeoutMs = PATIENCE_MS, type?: string): Promise<ReceivedReceipt> {
    const fits = (receipt: ReceivedReceipt) =>
      receipt.id === id && (type === undefined || (receipt.type ?? 'delivery') === type);
    return this.#receipts.first(fits, timeoutMs, `a receipt for ${id}`);
  }

  /** The first presence of that state. */
  waitForPresence(state: string, timeoutMs = PATIENCE_MS): Promise<ReceivedPresence> {
    return this.#presences.first((presence) => presence.state === state, timeoutMs, `presence ${state}`);
  }

  /** The first reaction to a message with that emoji; `` for its removal. */
  waitForReaction(id: string, emoji: string, timeoutMs = PATIENCE_MS): Promise<ReceivedReaction> {
    const fits = (reaction: ReceivedReaction) => reaction.id === id && reaction.emoji === emoji;
    return this.#reactions.first(fits, timeoutMs, `the reaction ${emoji} to ${id}`);
  }

  /** Requests a message again with a retry receipt, as a phone that lost it; see `ReceivedMessage.repeats`. */
  askAgain(id: string): void {
    this.#reader.askAgain(id);
  }

  /** Sends the receipts delayed under the habit `hold`. */
  releaseReceipts(): void {
    for (const receipt of this.#heldReceipts.splice(0)) this.#server.sendReceipt(receipt);
  }

  /**
   * Deletes the Signal sessions with an account and the keys of its groups, like a reinstalled phone: messages of its
   * devices cannot be decrypted until they respond to a retry receipt.
   */
  async loseSession(account: string | { readonly pn: string }): Promise<void> {
    for (const device of this.#server.linkedDevices(accountJid(account))) {
      await this.#peer.forgetSession(device.pn);
    }
  }

  /** Deletes all sender keys of a group, own and others'. */
  loseGroupKeys(group: string | { readonly jid: string }): void {
    this.#sender.forgetGroup(typeof group === 'string' ? group : group.jid);
  }

  keyBundle(): KeyBundle {
    return this.#peer.identity.newBundle();
  }

  async onMessage(message: MessageToActor): Promise<Reading> {
    const reading = await this.#reader.read(message);
    if (reading.kind === 'unreadable') return reading;
    if (reading.kind === 'read') this.#show(message, reading.message);
    if (reading.kind === 'repeat') this.#countRepeat(message.id);
    this.#acknowledge(message, reading);
    return reading;
  }

  async onReceipt(receipt: ReceiptToActor): Promise<void> {
    const at = Date.now();
    for (const id of receipt.ids) this.#receipts.add({ id, type: receipt.type, at });
    if (receipt.type === 'retry') await this.#sender.answerRetry(receipt);
  }

  onPresence(presence: { from: string; chat: string; state: string }): void {
    this.#presences.add({ ...presence, at: Date.now() });
  }

  #show(message: MessageToActor, content: proto.IMessage): void {
    const change = changeOf(content);
    if (change) {
      const changed = this.#byId.get(change.id);
      if (changed) changed.text = change.text;
      return;
    }
    const reaction = reactionOf(content);
    if (reaction) {
      this.#reactions.add({ ...reaction, at: Date.now() });
      return;
    }
    const chat = message.isGroup ? message.chat : userOf(message.from.pn);
    const bubble = {
      id: message.id,
      text: textOf(content),
      at: Date.now(),
      chat,
      message: content,
      repeats: 0,
    };
    this.#byId.set(message.id, bubble);
    this.#received.add(bubble);
  }

  #countRepeat(id: string): void {
    const bubble = this.#byId.get(id);
    if (bubble) bubble.repeats += 1;
  }

  #acknowledge(message: MessageToActor, reading: Reading): void {
    const { receipts, receiptDelayMs } = this.habit;
    if (receipts === 'none') return;
    const delivery: ReceiptToDevice = {
      from: this,
      fromDevice: message.device,
      to: message.from.pn,
      ids: [message.id],
      chat: receiptChat(message),
    };
    const isRead = receipts === 'read' && reading.kind === 'read';
    const batch: ReceiptToDevice[] = isRead ? [delivery, { ...delivery, type: 'read' }] : [delivery];
    if (receipts === 'hold') {
      this.#heldReceipts.push(...batch);
      return;
    }
    const send = () => {
      for (const receipt of batch) this.#server.sendReceipt(receipt);
    };
    if (receiptDelayMs > 0) setTimeout(send, receiptDelayMs).unref();
    else send();
  }

  #destination(to: Recipient, via: Addressing | undefined): { chat: ActorChat; devices: string[] } {
    const jid = typeof to === 'string' ? to : 'jid' in to ? to.jid : to.pn;
    if (!jid.endsWith('@g.us')) {
      const devices = this.#server.linkedDevices(accountJid(jid)).map(({ pn }) => pn);
      if (devices.length === 0) throw new EmulatorError(`the account ${jid} has no linked device`);
      return { chat: { kind: 'direct', addressing: via ?? this.#via }, devices };
    }
    const group = this.#server.group(jid);
    if (!group) throw new EmulatorError(`there is no group ${jid}`);
    if (!group.members.some(({ pn }) => pn === this.pn)) {
      throw new EmulatorError(`${this.pushName} is not in group ${jid}`);
    }
    const devices = group.members.flatMap(({ pn }) =>
      this.#server.linkedDevices(pn).map((device) => device.pn),
    );
    if (devices.length === 0) throw new EmulatorError(`no member of group ${jid} has a linked device`);
    return { chat: { kind: 'group', group: jid }, devices };
  }
}

/** Creates a person and registers them with the server. */
export function createPerson(server: ServerSide, options: PersonOptions): Person {
  const person = new Person(server, options);
  server.addActor(person);
  return person;
}

/**
 * Creates `count` people with consecutive phone numbers.
 * @param first digits of the first phone number
 */
export function createPeople(server: ServerSide, count: number, first = '34600100000'): Person[] {
  return Array.from({ length: count }, (_, index) =>
    createPerson(server, { phone: String(BigInt(first) + BigInt(index)), name: `Person ${index + 1}` }),
  );
}

function textMessage(text: string, quoted: MessageReference | undefined): proto.IMessage {
  return quoted ? quotedText(text, quoted) : plainText(text);
}

function accountJid(account: string | { readonly pn: string }): string {
  const address = typeof account === 'string' ? account : account.pn;
  return address.includes('@') ? userOf(address) : `${address.replace(/^\+/, '')}@s.whatsapp.net`;
}

function userOf(jid: string): string {
  return jid.replace(/:\d+@/, '@');
}
