import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import type { BinaryNode, proto, WASocket } from '@whiskeysockets/baileys';
import {
  gateWrites,
  type OpenedSocket,
  type openSocket,
} from '../../router/src/providers/baileys/connection/open-socket.ts';
import { START_MS } from './sim-process.ts';
import { type Content, encryptTo, simAccountSignal } from './sim-signal.ts';
import {
  type ClientFrame,
  lidOf,
  type ServerFrame,
  type SimConnection,
  type SimStanza,
} from './sim-whatsapp.ts';

type OpenSocketInput = Parameters<typeof openSocket>[0];

/** What `openSocket` gives, over a simulated connection: Baileys' surface as far as the production code uses it. */
export function openSimSocket(input: OpenSocketInput, connection: SimConnection): OpenedSocket {
  const signal = simAccountSignal(input.auth.steps);
  const socket = new SimBaileysSocket(input, connection);
  return { socket: socket as unknown as WASocket, signal, baileysListener: () => undefined };
}

/** DisconnectReason.connectionClosed and connectionReplaced. */
const CLOSED = 428;
const REPLACED = 440;

class SimBaileysSocket {
  readonly ev = new EventEmitter();
  readonly ws = new EventEmitter();
  readonly authState: { keys: { set(data: unknown): Promise<void> } };
  readonly #auth: OpenSocketInput['auth'];
  readonly #connection: SimConnection;
  readonly #wire: SimWire;
  #isClosed = false;

  constructor({ auth, mayUse }: OpenSocketInput, connection: SimConnection) {
    this.#auth = auth;
    this.#connection = connection;
    this.authState = { keys: { set: async () => undefined } };
    this.#wire = new SimWire(connection);
    this.#wire.once('close', () => this.#closed(CLOSED));
    gateWrites(this.#wire as unknown as Socket, auth.commits, mayUse);
    connection.open({
      onOpen: () => {
        this.ws.emit('open');
        this.#write({ type: 'login' });
      },
      onFrame: (frame) => this.#take(frame),
      onClose: (isReplaced) => {
        this.#wire.destroy();
        this.#closed(isReplaced ? REPLACED : CLOSED);
      },
    });
  }

  sendMessage(jid: string, { text }: { text: string }, { messageId }: { messageId: string }): Promise<void> {
    return this.#send(jid, { text }, messageId);
  }

  /** A picture, or a text that quotes a message. */
  relayMessage(jid: string, message: proto.IMessage, { messageId }: { messageId: string }): Promise<void> {
    const { imageMessage, extendedTextMessage } = message;
    if (!imageMessage) return this.#send(jid, { text: extendedTextMessage?.text ?? '' }, messageId);
    const { caption, directPath } = imageMessage;
    return this.#send(jid, { text: caption ?? '', file: directPath ?? '' }, messageId);
  }

  async sendReceipt(_to: string, _participant: string | undefined, ids: string[]): Promise<void> {
    this.#throwIfClosed();
    this.#write({ type: 'receipts', ids });
  }

  async sendMessageAck({ attrs }: BinaryNode): Promise<void> {
    this.#throwIfClosed();
    this.#write({ type: 'refusal', serial: Number(attrs.serial) });
  }

  async sendRetryRequest({ attrs }: BinaryNode): Promise<void> {
    this.#throwIfClosed();
    this.#write({ type: 'retry', id: attrs.id ?? '' });
  }

  async sendPresenceUpdate(): Promise<void> {}

  /** The simulated WhatsApp limits no account. */
  async fetchAccountReachoutTimelock(): Promise<void> {}

  async fetchNewChatMessageCap(): Promise<object> {
    return {};
  }

  async upsertMessage(): Promise<void> {}

  async end(): Promise<void> {
    this.#wire.destroy();
    this.#closed(CLOSED);
  }

  async #send(to: string, content: Content, id: string): Promise<void> {
    this.#throwIfClosed();
    const ciphertext = await this.#auth.steps.step(() => encryptTo(this.#auth.steps, to, content));
    this.#throwIfClosed();
    this.#write({ type: 'message', id, to, ciphertext });
  }

  #write(frame: ClientFrame): void {
    (this.#wire as { write(frame: ClientFrame): boolean }).write(frame);
  }

  #throwIfClosed(): void {
    if (!this.#isClosed && !this.#connection.isEnded) return;
    throw Object.assign(new Error('Connection Closed'), { output: { statusCode: CLOSED } });
  }

  #closed(statusCode: number): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const error = Object.assign(new Error(statusCode === REPLACED ? 'conflict' : 'Connection Closed'), {
      output: { statusCode },
    });
    this.ev.emit('connection.update', { connection: 'close', lastDisconnect: { error } });
  }

  #take(frame: ServerFrame): void {
    if (this.#isClosed) return;
    this.ws.emit('frame');
    const t = String(Math.floor((START_MS + this.#connection.nowMs) / 1_000));
    switch (frame.type) {
      case 'logged-in':
        this.ws.emit('CB:success', { tag: 'success', attrs: { t } });
        this.ev.emit('connection.update', { connection: 'open' });
        break;
      case 'offline-ended':
        this.ws.emit('CB:ib,,offline', { tag: 'ib', attrs: {} });
        break;
      case 'message':
        this.ws.emit('CB:message', nodeOf(frame.stanza, t));
        break;
      case 'ack':
        this.ws.emit('CB:ack,class:message', {
          tag: 'ack',
          attrs: { id: frame.id, t, ...(frame.error && { error: frame.error }) },
        });
        break;
      case 'delivered':
        this.ws.emit('CB:receipt', { tag: 'receipt', attrs: { id: frame.id, from: frame.from, t } });
        break;
    }
  }
}

/** The TCP socket below the WebSocket, one write a frame. */
class SimWire extends EventEmitter {
  destroyed = false;
  readonly #connection: SimConnection;

  constructor(connection: SimConnection) {
    super();
    this.#connection = connection;
  }

  write(frame: ClientFrame): boolean {
    return !this.destroyed && this.#connection.send(frame);
  }

  end(): this {
    this.#connection.end();
    return this;
  }

  destroy(): this {
    if (this.destroyed) return this;
    this.destroyed = true;
    this.#connection.end();
    this.emit('close');
    return this;
  }
}

function nodeOf(stanza: SimStanza, t: string): BinaryNode {
  const { id, chat, sender, isByLid, serial, isOffline, ciphertext } = stanza;
  const isGroup = chat.endsWith('@g.us');
  const author = isByLid ? lidOf(sender) : sender;
  const other = isByLid ? sender : lidOf(sender);
  const role = isGroup ? 'participant' : 'sender';
  return {
    tag: 'message',
    attrs: {
      id,
      from: isGroup ? chat : author,
      ...(isGroup && { participant: author }),
      [`${role}_${isByLid ? 'pn' : 'lid'}`]: other,
      ...(isOffline && { offline: '1' }),
      type: 'text',
      t,
      serial: String(serial),
    },
    content: [
      {
        tag: 'enc',
        attrs: { type: isGroup ? 'skmsg' : 'msg', v: '2' },
        content: Buffer.from(JSON.stringify(ciphertext)),
      },
    ],
  };
}
