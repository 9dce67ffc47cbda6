import { EventEmitter } from 'node:events';
import {
  type AuthenticationCreds,
  type BaileysEventMap,
  BufferJSON,
  initAuthCreds,
  makeWASocket,
  type SignalDataSet,
  type SignalKeyStore,
  type UserFacingSocketConfig,
  type WAMessage,
  type WASocket,
} from '@whiskeysockets/baileys';
import { pino } from 'pino';
import { PATIENCE_MS } from '../whatsapp-emulator/timeline.ts';
import { untilEvent } from './until-event.ts';

/** Credentials and keys in memory, serialised on every write as a real store would. */
export class MemoryAuth {
  readonly creds: AuthenticationCreds = initAuthCreds();
  readonly #data = new Map<string, string>();

  readonly keys: SignalKeyStore = {
    get: async (type, ids) => {
      const found: Record<string, never> = {};
      for (const id of ids) {
        const text = this.#data.get(`${type} ${id}`);
        if (text !== undefined) found[id] = JSON.parse(text, BufferJSON.reviver) as never;
      }
      return found;
    },
    set: async (data: SignalDataSet) => {
      for (const [type, entries] of Object.entries(data)) {
        for (const [id, value] of Object.entries(entries ?? {})) {
          if (value) this.#data.set(`${type} ${id}`, JSON.stringify(value, BufferJSON.replacer));
          else this.#data.delete(`${type} ${id}`);
        }
      }
    },
  };
}

/** One message as the socket gave it out. */
export interface Upsert {
  readonly type: 'notify' | 'append';
  readonly message: WAMessage;
}

/** A Baileys socket with nothing around it, for tests of what it talks to. */
export class BareClient {
  readonly auth: MemoryAuth;
  readonly upserts: Upsert[] = [];
  /** Texts that came in from others, in order. */
  readonly texts: string[] = [];
  socket: WASocket;
  readonly #url: string;
  readonly #more: Partial<UserFacingSocketConfig>;
  readonly #events = new EventEmitter();

  constructor(url: string, auth = new MemoryAuth(), more: Partial<UserFacingSocketConfig> = {}) {
    this.#url = url;
    this.auth = auth;
    this.#more = more;
    this.#events.setMaxListeners(0);
    this.socket = this.connect();
  }

  /** Opens a new socket with the same credentials; end the old one first. */
  connect(): WASocket {
    const socket = makeWASocket({
      waWebSocketUrl: this.#url,
      auth: this.auth,
      logger: pino({ level: process.env.BAILEYS_LOG ?? 'silent' }),
      shouldSyncHistoryMessage: () => false,
      ...this.#more,
    });
    this.socket = socket;
    socket.ev.on('creds.update', (update) => Object.assign(this.auth.creds, update));
    socket.ev.on('connection.update', (update) => this.#events.emit('connection.update', update));
    socket.ev.on('messages.update', (update) => this.#events.emit('messages.update', update));
    socket.ev.on('messages.upsert', ({ messages, type }) => {
      for (const message of messages) this.#onMessage({ type, message });
    });
    return socket;
  }

  /** The next connection update that fits. @throws after `timeoutMs` */
  waitForUpdate(
    fits: (update: BaileysEventMap['connection.update']) => boolean,
    timeoutMs = PATIENCE_MS,
  ): Promise<BaileysEventMap['connection.update']> {
    return this.#wait('connection.update', fits, timeoutMs);
  }

  /** The next status update of a message. @throws after `timeoutMs` */
  waitForStatus(
    fits: (update: BaileysEventMap['messages.update'][number]) => boolean,
    timeoutMs = PATIENCE_MS,
  ): Promise<BaileysEventMap['messages.update']> {
    return this.#wait('messages.update', (updates) => updates.some(fits), timeoutMs);
  }

  /** A message that came in, or the first to come, that fits. @throws after `timeoutMs` */
  async waitForMessage(fits: (upsert: Upsert) => boolean, timeoutMs = PATIENCE_MS): Promise<Upsert> {
    return this.upserts.find(fits) ?? this.#wait('upsert', fits, timeoutMs);
  }

  /** The text of a QR code that the phone may scan. */
  async waitForQr(): Promise<string> {
    const { qr } = await this.waitForUpdate((update) => update.qr !== undefined);
    return qr ?? '';
  }

  /** Answers every incoming text with `echo: <text>`, one answer at a time; one that cannot be sent is lost. */
  echo(): void {
    let sending: Promise<unknown> = Promise.resolve();
    this.#events.on('upsert', ({ message }: Upsert) => {
      const { remoteJid, fromMe } = message.key;
      const text = textOf(message);
      if (fromMe || !remoteJid || text === undefined) return;
      sending = sending
        .then(() => this.socket.sendMessage(remoteJid, { text: `echo: ${text}` }))
        .catch(() => undefined);
    });
  }

  close(): void {
    this.socket.end(undefined);
  }

  #onMessage(upsert: Upsert): void {
    this.upserts.push(upsert);
    const text = textOf(upsert.message);
    if (!upsert.message.key.fromMe && text !== undefined) this.texts.push(text);
    this.#events.emit('upsert', upsert);
  }

  #wait<T>(event: string, fits: (value: T) => boolean, timeoutMs: number): Promise<T> {
    return untilEvent(this.#events, event, fits, { timeoutMs });
  }
}

function textOf({ message }: WAMessage): string | undefined {
  return message?.conversation ?? message?.extendedTextMessage?.text ?? undefined;
}
