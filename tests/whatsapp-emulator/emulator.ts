import { randomInt } from 'node:crypto';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { type WebSocket, WebSocketServer } from 'ws';
import type {
  Actor,
  GroupInfo,
  KeyBundle,
  LinkedDevice,
  MessageToDevice,
  PairRequest,
  PhoneActor,
  ReceiptToDevice,
  ServerSide,
} from './actors.ts';
import { ClientStanzas } from './client-stanzas.ts';
import { Connection, type ConnectionListener } from './connection.ts';
import { deliver } from './delivery.ts';
import type { Device } from './device.ts';
import { createContext, type EmulatorContext } from './emulator-context.ts';
import { EmulatorError } from './emulator-error.ts';
import type { EmulatorEvents, Events } from './events.ts';
import { type Faults, type StreamErrorCode, streamError } from './faults.ts';
import { logIn, refuse } from './login.ts';
import { MediaHost } from './media-host.ts';
import { deviceJid, node, SERVER, seconds } from './nodes.ts';
import { isLogin, Pairing } from './pairing.ts';
import { PATIENCE_MS } from './timeline.ts';
import { groupAddress, messageStanza, receiptStanza } from './to-device.ts';
import type { ArrivedStanza, Bubble, TranscriptEntry } from './transcript.ts';
import { VersionPage } from './version-page.ts';

const PATH = '/ws/chat';
const NO_REPLY_KINDS = new Set(['category']);

export interface EmulatorOptions {
  /** A free port unless given. Loopback only. */
  readonly port?: number;
  /** Receives one readable line per event. */
  readonly log?: (line: string) => void;
  /** Its Noise certificate is not signed by its issuer, as one of a proxy that intercepts the connection. */
  readonly isForged?: boolean;
}

/** Somebody in a group. */
type GroupPerson = Pick<GroupInfo['members'][number], 'pn' | 'lid'>;

/**
 * A WhatsApp Web server on loopback for an unmodified Baileys socket. Set `waWebSocketUrl` to `url`.
 * Nothing here depends on time: everything happens on a stanza, a socket event or a call.
 */
export class WhatsAppEmulator implements ServerSide, ConnectionListener {
  readonly url: string;
  readonly port: number;
  /** The page by which clients learn the current version, `/sw.js` at the port of the WebSocket. */
  readonly versionPage: VersionPage;
  readonly #context: EmulatorContext;
  readonly #pairing: Pairing;
  readonly #stanzas: ClientStanzas;
  readonly #http: Server;
  readonly #connections = new Map<Connection, Device | undefined>();

  private constructor(context: EmulatorContext, http: Server, versionPage: VersionPage) {
    this.versionPage = versionPage;
    this.#context = context;
    this.#pairing = new Pairing(context);
    this.#stanzas = new ClientStanzas(context);
    this.#http = http;
    this.port = (http.address() as AddressInfo).port;
    this.url = `ws://127.0.0.1:${this.port}${PATH}`;
  }

  /** Listens on 127.0.0.1. @throws the listen error when the port is taken */
  static async start({ port = 0, log, isForged }: EmulatorOptions = {}): Promise<WhatsAppEmulator> {
    const page = new VersionPage();
    const http = createServer((request, response) => page.answer(request, response));
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      http.listen(port, '127.0.0.1', resolve);
    });
    const emulator = new WhatsAppEmulator(createContext(await MediaHost.start(), isForged), http, page);
    const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
    http.on('upgrade', (request, socket, head) => emulator.#upgrade(sockets, request, socket, head));
    if (log) emulator.#logTo(log);
    return emulator;
  }

  /** Drops every client and closes the port. */
  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#http.close(() => resolve()));
    for (const connection of this.#connections.keys()) connection.drop('the emulator stops');
    this.#http.closeAllConnections();
    await closed;
    await this.#context.mediaHost.stop();
    await this.#stanzas.settle();
  }

  get events(): Events {
    return this.#context.events;
  }

  /** Faults for all clients; see `Faults`. */
  get faults(): Faults {
    return this.#context.faults;
  }

  /** The media servers. */
  get mediaHost(): MediaHost {
    return this.#context.mediaHost;
  }

  /** Environment variables that a service needs to exchange files with this server. */
  get mediaEnv(): { WA2AI_WHATSAPP_MEDIA_HOST: string; NODE_EXTRA_CA_CERTS: string } {
    const { hostname, caFile } = this.#context.mediaHost;
    return { WA2AI_WHATSAPP_MEDIA_HOST: hostname, NODE_EXTRA_CA_CERTS: caFile };
  }

  /** Shorthand of `events.waitFor`. */
  waitFor<K extends keyof EmulatorEvents>(
    event: K,
    fits?: (value: EmulatorEvents[K]) => boolean,
    timeoutMs?: number,
  ): Promise<EmulatorEvents[K]> {
    return this.#context.events.waitFor(event, fits, timeoutMs);
  }

  /** The transcript so far. */
  transcript(): TranscriptEntry[] {
    return this.#context.transcript.entries();
  }

  /** Every stanza that clients sent so far, in order of arrival. */
  stanzas(): ArrivedStanza[] {
    return this.#context.transcript.stanzas();
  }

  /** The numbers, in order, of which clients asked whether they have an account. */
  lookUps(): string[] {
    return [...this.#stanzas.lookUps];
  }

  /** Locks messages to people who never wrote, for so long; 0 ends the lock. Clients are notified. */
  lockNewContacts(forMs: number, type = 'WEB_COMPANION_ONLY'): void {
    this.faults.reachOutLock = { endsAtMs: Date.now() + forMs, type };
    this.#stanzas.limitChanged('lock');
  }

  /** Sets how many new chats the account began. Clients are notified. */
  countNewChats(used: number, quota: number, forMs: number): void {
    this.faults.newChats = { used, quota, endsAtMs: Date.now() + forMs };
    this.#stanzas.limitChanged('new chats');
  }

  /** The bubbles of a chat, one per WhatsApp id. `chat`: a group's JID or a person's, in either form. */
  bubbles(chat: string): Bubble[] {
    return this.#context.transcript.bubbles(this.#context.directory.actor(chat)?.pn ?? chat);
  }

  /** The number of stanzas that a linked device has not acknowledged. */
  waitingFor(devicePn: string): number {
    return this.#device(devicePn).mailbox.size;
  }

  /** Resolves when a linked device has acknowledged all its stanzas. @throws {EmulatorError} after `timeoutMs` */
  async waitUntilSettled(devicePn: string, timeoutMs = PATIENCE_MS): Promise<void> {
    const { mailbox } = this.#device(devicePn);
    if (mailbox.size > 0) await this.waitFor('settled', () => mailbox.size === 0, timeoutMs);
  }

  /** Breaks TCP connections without a stream error: of one device, or of all clients. */
  drop(devicePn?: string): void {
    for (const connection of this.#connectionsOf(devicePn)) connection.drop();
  }

  /** Ends connections with a stream error: of one device, or of all clients. */
  endStream(code: StreamErrorCode, devicePn?: string): void {
    for (const connection of this.#connectionsOf(devicePn)) {
      connection.sendAndClose(streamError(code), `stream error ${code}`);
    }
  }

  /** Keeps connections open but neither sends nor reads on them. */
  silence(devicePn?: string): void {
    for (const connection of this.#connectionsOf(devicePn)) connection.isSilent = true;
  }

  /** Delays every frame of the open and of future connections. */
  slowDown(delayMs: number): void {
    this.faults.delayMs = delayMs;
    for (const connection of this.#connections.keys()) connection.delayMs = delayMs;
  }

  addActor(actor: Actor): void {
    this.#context.directory.addActor(actor);
  }

  addPhone(phone: PhoneActor): void {
    this.#context.directory.addPhone(phone);
  }

  addGroup(group: GroupInfo): void {
    this.#context.directory.addGroup(group);
  }

  group(jid: string): GroupInfo | undefined {
    return this.#context.directory.group(jid);
  }

  /** A member adds people to a group or removes them; all accounts in the group are notified. */
  changeGroup(
    group: GroupInfo,
    by: GroupPerson,
    change: 'add' | 'remove',
    people: readonly GroupPerson[],
  ): void {
    const { directory } = this.#context;
    const isChanged = ({ pn }: GroupPerson) => people.some((person) => person.pn === pn);
    const others = group.members.filter((member) => !isChanged(member));
    const added = change === 'add' ? people.map(({ pn, lid }) => ({ pn, lid, isAdmin: false })) : [];
    directory.addGroup({ ...group, members: [...others, ...added] });
    const participants = people.map(({ pn, lid }) =>
      group.addressing === 'lid'
        ? node('participant', { jid: lid, phone_number: pn })
        : node('participant', { jid: pn, lid }),
    );
    const from = {
      from: group.jid,
      participant: groupAddress(by, group.jid, directory),
      participant_pn: by.pn,
    };
    const attrs = { ...from, id: `${randomInt(1e9)}`, type: 'w:gp2', t: seconds(Date.now()) };
    for (const { pn } of [...group.members, ...added]) {
      for (const { pn: device } of directory.devicesOf(pn)) {
        deliver(
          this.#context,
          this.#device(device),
          node('notification', attrs, [node(change, {}, participants)]),
        );
      }
    }
  }

  linkedDevices(user: string): readonly LinkedDevice[] {
    return this.#context.directory.devicesOf(user);
  }

  takeKeyBundle(devicePn: string): KeyBundle {
    const device = this.#device(devicePn);
    const bundle = device.takeKeyBundle();
    this.#stanzas.warnOfLowKeys(device);
    return bundle;
  }

  sendMessage(message: MessageToDevice): void {
    const device = this.#device(message.to);
    const { chat } = message;
    if (chat.kind === 'direct') this.#stanzas.newContacts.wrote(message.from.pn);
    const stanza = messageStanza(message, device, this.#context.directory);
    const isSilent = Object.keys(message.attrs ?? {}).some((name) => NO_REPLY_KINDS.has(name));
    if (chat.kind !== 'own' && !isSilent) {
      const key = chat.kind === 'group' ? chat.group : (stanza.attrs.from ?? '');
      const { id, from, message: content } = message;
      this.#context.transcript.wrote({
        id,
        account: device.pn,
        person: from.pn,
        chat: key,
        message: content,
      });
    }
    deliver(this.#context, device, stanza);
  }

  sendReceipt(receipt: ReceiptToDevice): void {
    deliver(this.#context, this.#device(receipt.to), receiptStanza(receipt, this.#context.directory));
  }

  /** Delivers any stanza to a linked device, like a message: again after each login until it is acknowledged. */
  deliverStanza(devicePn: string, stanza: BinaryNode): void {
    deliver(this.#context, this.#device(devicePn), stanza);
  }

  sendChatState(from: Actor, to: string, chat: ReceiptToDevice['chat'], state: 'composing' | 'paused'): void {
    const address =
      chat.kind === 'group'
        ? { from: chat.group, participant: groupAddress(from, chat.group, this.#context.directory) }
        : { from: deviceJid(chat.addressing === 'lid' ? from.lid : from.pn, 0) };
    this.#device(to).connection?.send(node('chatstate', address, [node(state)]));
  }

  pairDevice(request: PairRequest): Promise<string> {
    return this.#pairing.pairDevice(request);
  }

  submitLinkCode(ref: string, wrappedPrimaryEphemeral: Uint8Array, primaryIdentity: Uint8Array): void {
    this.#pairing.submitLinkCode(ref, wrappedPrimaryEphemeral, primaryIdentity);
  }

  notifyAppState(user: string, collection: string): void {
    const attrs = { from: SERVER, id: `${randomInt(1e9)}`, type: 'server_sync', t: seconds(Date.now()) };
    for (const { pn } of this.linkedDevices(user)) {
      const notification = node('notification', attrs, [node('collection', { name: collection })]);
      deliver(this.#context, this.#device(pn), notification);
    }
  }

  unlinkDevice(devicePn: string): void {
    this.#stanzas.unlink(this.#device(devicePn));
  }

  onClient: ConnectionListener['onClient'] = (connection, { noiseKey, payload }) => {
    const isRegistration = !isLogin(payload);
    const { primary, secondary, tertiary } = payload.userAgent?.appVersion ?? {};
    this.events.emit('connected', { isRegistration, version: `${primary}.${secondary}.${tertiary}` });
    if (Number(tertiary) < this.faults.refusedBelow) refuse(connection, 405);
    else if (isRegistration) this.#pairing.begin(connection, noiseKey, payload);
    else {
      const device = logIn(this.#context, connection, noiseKey.toString('hex'), payload);
      if (device) this.#connections.set(connection, device);
    }
  };

  onNode: ConnectionListener['onNode'] = (connection, stanza) => {
    const device = this.#connections.get(connection);
    this.#context.transcript.arrived(device?.pn, stanza);
    this.events.emit('stanza', { device: device?.pn, stanza });
    if (device) this.#stanzas.handle(device, stanza);
    else if (
      !this.#pairing.onNode(connection, stanza) &&
      stanza.tag === 'iq' &&
      stanza.attrs.xmlns === 'w:p'
    ) {
      connection.send(node('iq', { id: stanza.attrs.id, from: SERVER, type: 'result' }));
    }
  };

  onClosed: ConnectionListener['onClosed'] = (connection, reason) => {
    const device = this.#connections.get(connection);
    this.#connections.delete(connection);
    this.#pairing.onClosed(connection);
    if (device?.connection === connection) {
      device.connection = undefined;
      device.isLive = false;
    }
    this.events.emit('closed', { device: device?.pn, reason });
  };

  #upgrade(sockets: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const isChat = request.url?.split('?')[0] === PATH;
    if (!isChat || this.faults.take('refusedUpgrades')) {
      const status = isChat ? this.faults.refusalStatus : 404;
      socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client: WebSocket) => {
      this.#connections.set(new Connection(client, this.#context.identity, this), undefined);
    });
  }

  #device(devicePn: string): Device {
    const device = this.#context.directory.device(devicePn);
    if (!device) throw new EmulatorError(`no device ${devicePn} is linked`);
    return device;
  }

  #connectionsOf(devicePn: string | undefined): Connection[] {
    if (devicePn === undefined) return [...this.#connections.keys()];
    const { connection } = this.#device(devicePn);
    return connection ? [connection] : [];
  }

  #logTo(log: (line: string) => void): void {
    this.events.on('paired', ({ device }) => log(`paired ${device}`));
    this.events.on('logged-in', ({ device }) => log(`logged in ${device}`));
    this.events.on('closed', ({ device, reason }) => log(`closed ${device ?? 'a client'}: ${reason}`));
    this.events.on('unreadable', ({ person, id, reason }) => log(`${person} cannot read ${id}: ${reason}`));
    this.events.on('unknown-query', ({ stanza }) => log(`unknown query ${stanza.attrs.xmlns}`));
  }
}
