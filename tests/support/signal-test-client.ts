import {
  type AuthenticationCreds,
  addTransactionCapability,
  type BinaryNode,
  decryptMessageNode,
  encodeWAMessage,
  getNextPreKeys,
  initAuthCreds,
  parseAndInjectE2ESessions,
  type proto,
  type SignalDataSet,
  type SignalDataTypeMap,
  type SignalKeyStoreWithTransaction,
  type SignalRepositoryWithLIDStore,
  type WAMessage,
  xmppPreKey,
  xmppSignedPreKey,
} from '@whiskeysockets/baileys';
import { makeLibSignalRepository } from '@whiskeysockets/baileys/lib/Signal/libsignal.js';
import { pino } from 'pino';
import type {
  Actor,
  Addressing,
  Ciphertext,
  GroupInfo,
  KeyBundle,
  MessageToActor,
  MessageToDevice,
  PairRequest,
  ReceiptToActor,
  ReceiptToDevice,
  ServerSide,
} from '../whatsapp-emulator/actors.ts';
import { Timeline } from '../whatsapp-emulator/timeline.ts';

const logger = pino({ level: 'silent' });
const PN = '34600000001:3@s.whatsapp.net';
const LID = '100000000000001:3@lid';

/**
 * A linked device made of Baileys' own Signal code with keys in memory, and a server side that keeps whatever actors
 * hand to it: enough to hold a conversation without a connection.
 */
export class TestClient implements ServerSide {
  readonly pn = PN;
  readonly lid = LID;
  /** the account, as people address it */
  readonly account = '34600000001@s.whatsapp.net';
  readonly creds: AuthenticationCreds = initAuthCreds();
  readonly messages: MessageToDevice[] = [];
  readonly receipts: ReceiptToDevice[] = [];
  readonly pairRequests: PairRequest[] = [];
  readonly #linkCodes = new Timeline<{ ref: string; wrapped: Uint8Array; identity: Uint8Array }>();
  bundlesTaken = 0;
  readonly #repository: SignalRepositoryWithLIDStore;
  readonly #keys: SignalKeyStoreWithTransaction;
  readonly #groups = new Map<string, GroupInfo>();
  #preKeys: { id: number; publicKey: Uint8Array }[] = [];

  constructor() {
    this.#keys = addTransactionCapability(memoryKeys(), logger, {
      maxCommitRetries: 1,
      delayBetweenTriesMs: 1,
    });
    this.#repository = makeLibSignalRepository({ creds: this.creds, keys: this.#keys }, logger);
  }

  /** Makes one-time keys, as a client uploads them after its first login. */
  async uploadKeys(count: number): Promise<void> {
    const { update, preKeys } = await getNextPreKeys({ creds: this.creds, keys: this.#keys }, count);
    Object.assign(this.creds, update);
    this.#preKeys = Object.entries(preKeys).map(([id, pair]) => ({ id: Number(id), publicKey: pair.public }));
  }

  /** Decrypts a message of an actor the way the socket does, from the stanza that the server would write. */
  async read(message: MessageToDevice): Promise<WAMessage> {
    const { id, from, chat, sentAtMs = 0 } = message;
    const addressing = (chat.kind === 'group' && this.#groups.get(chat.group)?.addressing) || 'lid';
    const common = { id, t: String(Math.floor(sentAtMs / 1000)), notify: from.pushName };
    const attrs = { ...common, ...addressOf(message, addressing), ...message.attrs };
    const stanza: BinaryNode = { tag: 'message', attrs, content: [...message.encs] };
    const { fullMessage, decrypt } = decryptMessageNode(stanza, PN, LID, this.#repository, logger);
    await decrypt();
    return fullMessage;
  }

  /** Reads the message handed over last. */
  async readLast(): Promise<WAMessage> {
    const last = this.messages.at(-1);
    if (!last) throw new Error('no actor sent anything');
    return this.read(last);
  }

  /** Encrypts for a person as the socket does; opens a session with a bundle when there is none. */
  async write(
    to: Actor,
    message: proto.IMessage,
    id: string,
    via: 'pn' | 'lid' = 'pn',
  ): Promise<MessageToActor> {
    const jid = via === 'pn' ? to.pn : to.lid;
    // the socket learns the devices before it writes; Baileys moves a session from number to LID only for known ones
    await this.#keys.set({ 'device-list': { [to.pn.split('@')[0] ?? '']: ['0'] } });
    const session = await this.#repository.validateSession(jid);
    if (!session.exists) await this.openSession(to, jid);
    const { type, ciphertext } = await this.#repository.encryptMessage({
      jid,
      data: encodeWAMessage(message),
    });
    return this.#toActor(id, jid, false, [{ type, bytes: ciphertext }]);
  }

  /** Opens a session from a bundle of that actor, forgetting an earlier one. */
  async openSession(to: Actor, jid = to.pn): Promise<void> {
    await parseAndInjectE2ESessions(bundleReply(jid, to.keyBundle(0)), this.#repository);
  }

  /** Encrypts for a group, the sender key inside when asked for. */
  async writeToGroup(
    group: GroupInfo,
    to: Actor,
    message: proto.IMessage,
    id: string,
    withKey: boolean,
  ): Promise<MessageToActor> {
    const meId = group.addressing === 'lid' ? LID : PN;
    const data = encodeWAMessage(message);
    const sealed = await this.#repository.encryptGroupMessage({ group: group.jid, data, meId });
    const ciphertexts: Ciphertext[] = [{ type: 'skmsg', bytes: sealed.ciphertext }];
    if (withKey) {
      const key = {
        groupId: group.jid,
        axolotlSenderKeyDistributionMessage: sealed.senderKeyDistributionMessage,
      };
      const direct = await this.write(to, { senderKeyDistributionMessage: key }, id, group.addressing);
      ciphertexts.unshift(...direct.ciphertexts);
    }
    return { ...this.#toActor(id, group.jid, true, ciphertexts), addressing: group.addressing };
  }

  /** A retry receipt for a message of an actor, with the own keys when a bundle is wanted in it. */
  async retryReceipt(id: string, count: number): Promise<ReceiptToActor> {
    return {
      from: { pn: PN, lid: LID },
      ids: [id],
      type: 'retry',
      chat: this.account,
      isGroup: false,
      retry: { count, bundle: count > 1 ? this.takeKeyBundle() : undefined },
      stanza: { tag: 'receipt', attrs: {} },
    };
  }

  /** What the phone answered to the first request for code pairing. */
  nextLinkCode() {
    return this.#linkCodes.at(0, 5_000, 'an answer to the code');
  }

  addActor(): void {}
  addPhone(): void {}
  addGroup(group: GroupInfo): void {
    this.#groups.set(group.jid, group);
  }
  group(jid: string): GroupInfo | undefined {
    return this.#groups.get(jid);
  }
  linkedDevices(user: string) {
    const isOwn = user === this.account || user === '100000000000001@lid';
    return isOwn ? [{ pn: PN, lid: LID, isOnline: true }] : [];
  }
  takeKeyBundle(): KeyBundle {
    const preKey = this.#preKeys.shift();
    const { registrationId, signedIdentityKey, signedPreKey } = this.creds;
    this.bundlesTaken += 1;
    return {
      registrationId,
      identityKey: signedIdentityKey.public,
      signedPreKey: {
        keyId: signedPreKey.keyId,
        publicKey: signedPreKey.keyPair.public,
        signature: signedPreKey.signature,
      },
      preKey: preKey && { keyId: preKey.id, publicKey: preKey.publicKey },
    };
  }
  sendMessage(message: MessageToDevice): void {
    this.messages.push(message);
  }
  sendReceipt(receipt: ReceiptToDevice): void {
    this.receipts.push(receipt);
  }
  sendChatState(): void {}
  async pairDevice(request: PairRequest): Promise<string> {
    this.pairRequests.push(request);
    return PN;
  }
  submitLinkCode(ref: string, wrapped: Uint8Array, identity: Uint8Array): void {
    this.#linkCodes.add({ ref, wrapped, identity });
  }
  unlinkDevice(): void {}
  notifyAppState(): void {}

  #toActor(id: string, chat: string, isGroup: boolean, ciphertexts: Ciphertext[]): MessageToActor {
    return {
      id,
      from: { pn: PN, lid: LID },
      device: 0,
      chat,
      isGroup,
      addressing: chat.endsWith('@lid') ? 'lid' : 'pn',
      ciphertexts,
      type: 'text',
      stanza: { tag: 'message', attrs: { id, t: '1790000000' } },
    };
  }
}

function addressOf({ from, chat }: MessageToDevice, groupAddressing: Addressing): Record<string, string> {
  if (chat.kind === 'own') return { from: from.pn, recipient: chat.recipient };
  if (chat.kind === 'direct') {
    return chat.addressing === 'lid'
      ? { from: from.lid, sender_pn: from.pn }
      : { from: from.pn, sender_lid: from.lid };
  }
  const participant: Record<string, string> =
    groupAddressing === 'lid'
      ? { participant: from.lid, participant_pn: from.pn }
      : { participant: from.pn, participant_lid: from.lid };
  return { from: chat.group, addressing_mode: groupAddressing, ...participant };
}

function bundleReply(jid: string, bundle: KeyBundle): BinaryNode {
  const registration = Buffer.alloc(4);
  registration.writeUInt32BE(bundle.registrationId);
  const signed = {
    keyId: bundle.signedPreKey.keyId,
    keyPair: { public: bundle.signedPreKey.publicKey, private: Buffer.alloc(32) },
    signature: bundle.signedPreKey.signature,
  };
  const content: BinaryNode[] = [
    { tag: 'registration', attrs: {}, content: registration },
    { tag: 'identity', attrs: {}, content: bundle.identityKey },
    xmppSignedPreKey(signed),
  ];
  if (bundle.preKey) {
    const pair = { public: bundle.preKey.publicKey, private: Buffer.alloc(32) };
    content.push(xmppPreKey(pair, bundle.preKey.keyId));
  }
  const user: BinaryNode = { tag: 'user', attrs: { jid }, content };
  return { tag: 'iq', attrs: {}, content: [{ tag: 'list', attrs: {}, content: [user] }] };
}

function memoryKeys() {
  const values = new Map<string, unknown>();
  return {
    async get<T extends keyof SignalDataTypeMap>(type: T, ids: string[]) {
      const found: { [id: string]: SignalDataTypeMap[T] } = {};
      for (const id of ids) {
        const value = values.get(`${type}/${id}`);
        if (value !== undefined) found[id] = structuredClone(value) as SignalDataTypeMap[T];
      }
      return found;
    },
    async set(data: SignalDataSet) {
      for (const [type, entries] of Object.entries(data)) {
        for (const [id, value] of Object.entries(entries ?? {})) {
          if (value === null) values.delete(`${type}/${id}`);
          else values.set(`${type}/${id}`, structuredClone(value));
        }
      }
    },
  };
}
