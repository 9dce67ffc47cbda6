import type { EventLog } from './event-log.ts';
import type { Faults } from './faults.ts';
import type { SimProcess } from './sim-process.ts';
import { type Ciphertext, type Content, decrypt, NEW_RATCHET, type Ratchet } from './sim-signal.ts';
import type { Timer, VirtualTime } from './virtual-time.ts';

/** A message to the account as the server queues it. */
export interface SimStanza {
  serial: number;
  id: string;
  /** JID of the chat, and of who wrote in it: the number's JID of a person. */
  chat: string;
  sender: string;
  /** The stanza names the writer by LID first. */
  isByLid: boolean;
  ciphertext: Ciphertext;
  isOffline: boolean;
}

export type ServerFrame =
  | { type: 'logged-in' }
  | { type: 'message'; stanza: SimStanza }
  | { type: 'offline-ended' }
  /** `error`: the server did not take the message. */
  | { type: 'ack'; id: string; error?: string }
  | { type: 'delivered'; id: string; from: string }
  | { type: 'replaced' }
  | { type: 'pong' };

export type ClientFrame =
  | { type: 'login' }
  | { type: 'message'; id: string; to: string; ciphertext: Ciphertext }
  /** The client has the messages: the server deletes them. */
  | { type: 'receipts'; ids: string[] }
  /** The client refuses a stanza: the server deletes it. */
  | { type: 'refusal'; serial: number }
  /** The client cannot read a message: its sender sends it again. */
  | { type: 'retry'; id: string };

interface Draft extends Content {
  id: string;
  chat: string;
  sender: string;
  isByLid: boolean;
}

/** A message that a person wrote. */
export interface Written extends Draft {
  /** The client asked for it again. */
  retries: number;
  /** It was damaged on the way, so it had to be asked for again. */
  wasDamaged: boolean;
  /** Its receipt reached the server. */
  isReceipted: boolean;
}

/** A message as one person sees it. */
export interface Bubble {
  id: string;
  chat: string;
  /** Undefined: the person cannot read it. */
  content: Content | undefined;
}

/** Share of replies that the server refuses with an error ack. */
export interface Refusals {
  share: number;
  /** WhatsApp's code: 429 is a limit for a time, others are final. */
  codes: readonly string[];
}

const PONG_EVERY_MS = 25_000;
/** The server ends a connection that it has not heard of for this long. */
const SILENT_MS = 30_000;

/**
 * WhatsApp with one account and the people who write to it: queues what is not acknowledged and delivers it again after
 * each login, in order, before anything newer; keeps one connection, the last that logged in.
 */
export class SimWhatsApp {
  readonly written: Written[] = [];
  /** What each person sees, by JID, in the order of the first delivery. */
  readonly seen = new Map<string, Bubble[]>();
  /** WhatsApp ids of messages that the server refused at least once. */
  readonly refused = new Set<string>();
  readonly #time: VirtualTime;
  readonly #log: EventLog;
  readonly #faults: Faults;
  readonly #members: ReadonlyMap<string, readonly string[]>;
  readonly #refusals: Refusals;
  readonly #queue: SimStanza[] = [];
  readonly #sending = new Map<string, number>();
  readonly #reading = new Map<string, Ratchet>();
  #connection: SimConnection | undefined;
  #lastSerial = 0;
  onConnect: (socket: SimConnection) => void = () => undefined;
  /** Called for each frame that a client writes, before anything else. */
  onWrite: (process: SimProcess, frame: ClientFrame) => void = () => undefined;

  /** @param members who is in each chat, by the chat's JID */
  constructor(
    deps: { time: VirtualTime; log: EventLog; faults: Faults },
    members: ReadonlyMap<string, readonly string[]>,
    refusals: Refusals,
  ) {
    this.#time = deps.time;
    this.#log = deps.log;
    this.#faults = deps.faults;
    this.#members = members;
    this.#refusals = refusals;
    for (const people of members.values()) for (const person of people) this.seen.set(person, []);
  }

  get deps() {
    return { time: this.#time, log: this.#log, faults: this.#faults };
  }

  /** Messages that no client has acknowledged. */
  get queued(): number {
    return this.#queue.length;
  }

  get connection(): SimConnection | undefined {
    return this.#connection;
  }

  members(chat: string): readonly string[] {
    return this.#members.get(chat) ?? [];
  }

  connect(process: SimProcess): SimConnection {
    const socket = new SimConnection(this, process);
    this.onConnect(socket);
    return socket;
  }

  /** A person writes a message. */
  write(message: Draft, isDamaged: boolean): void {
    this.written.push({ ...message, retries: 0, wasDamaged: isDamaged, isReceipted: false });
    const { id, chat, text, editOf, file } = message;
    const what = editOf === undefined ? `writes ${id}` : `edits ${editOf} with ${id}`;
    this.#log.add(
      message.sender,
      `${what} in ${chat}: "${text}"${file === undefined ? '' : ' and a picture'}`,
    );
    this.#enqueue(message, isDamaged);
  }

  /** A frame of a client reached the server. */
  take(socket: SimConnection, frame: ClientFrame): void {
    if (frame.type === 'login') this.#login(socket);
    else if (socket !== this.#connection) return;
    else if (frame.type === 'message') this.#forward(socket, frame);
    else if (frame.type === 'receipts') for (const id of frame.ids) this.#receipted(id);
    else if (frame.type === 'refusal') this.#forget((stanza) => stanza.serial === frame.serial);
    else this.#sendAgain(frame.id);
  }

  ended(socket: SimConnection): void {
    if (this.#connection === socket) this.#connection = undefined;
  }

  #login(socket: SimConnection): void {
    const before = this.#connection;
    this.#connection = socket;
    this.#log.add('whatsapp', `${socket.name} logs in, ${this.#queue.length} messages are queued`);
    if (before) {
      before.deliver({ type: 'replaced' });
      before.closeByServer();
    }
    socket.deliver({ type: 'logged-in' });
    for (const stanza of this.#queue) {
      stanza.isOffline = true;
      socket.deliver({ type: 'message', stanza: { ...stanza } });
    }
    socket.deliver({ type: 'offline-ended' });
    this.#keepAlive(socket);
  }

  #keepAlive(socket: SimConnection): void {
    this.#time.after(PONG_EVERY_MS, () => {
      if (this.#connection !== socket) return;
      if (socket.silentForMs() > SILENT_MS) return socket.closeByServer();
      socket.deliver({ type: 'pong' });
      this.#keepAlive(socket);
    });
  }

  #enqueue({ id, chat, sender, isByLid, text, editOf, encryptedBy, file }: Draft, isDamaged: boolean): void {
    const chain = `${chat}/${sender}`;
    const number = this.#sending.get(chain) ?? 0;
    this.#sending.set(chain, number + 1);
    const ciphertext = { chain, number, content: { text, editOf, encryptedBy, file } };
    this.#lastSerial += 1;
    const stanza: SimStanza = {
      serial: this.#lastSerial,
      id,
      chat,
      sender,
      isByLid,
      ciphertext: isDamaged ? { ...ciphertext, isDamaged } : ciphertext,
      isOffline: this.#connection === undefined,
    };
    this.#queue.push(stanza);
    this.#connection?.deliver({ type: 'message', stanza: { ...stanza } });
  }

  #receipted(id: string): void {
    this.#log.add('whatsapp', `receipt of ${id}`);
    const message = this.written.find((each) => each.id === id);
    if (message) message.isReceipted = true;
    this.#forget((stanza) => stanza.id === id);
  }

  #forget(isMeant: (stanza: SimStanza) => boolean): void {
    const at = this.#queue.findIndex(isMeant);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  #sendAgain(id: string): void {
    this.#log.add('whatsapp', `retry request for ${id}`);
    const message = this.written.find((each) => each.id === id);
    if (!message) return;
    message.retries += 1;
    this.#time.after(this.#faults.networkMs() + 20, () => {
      this.#log.add(message.sender, `sends ${id} again`);
      this.#enqueue(message, false);
    });
  }

  #forward(socket: SimConnection, { id, to, ciphertext }: Extract<ClientFrame, { type: 'message' }>): void {
    this.#log.add('whatsapp', `message ${id} to ${to}, ${ciphertext.chain} ${ciphertext.number}`);
    if (this.#faults.happens(this.#refusals.share)) {
      const error = this.#faults.oneOf(this.#refusals.codes);
      this.#log.add('whatsapp', `refuses ${id} with error ${error}`);
      this.refused.add(id);
      socket.deliver({ type: 'ack', id, error });
      return;
    }
    socket.deliver({ type: 'ack', id });
    const chat = numberOf(to);
    for (const person of this.members(chat)) this.#show(person, id, chat, ciphertext);
    this.#time.after(this.#faults.networkMs() + 30, () =>
      this.#connection?.deliver({ type: 'delivered', id, from: to }),
    );
  }

  #show(person: string, id: string, chat: string, ciphertext: Ciphertext): void {
    const chain = `${person}<${ciphertext.chain}`;
    const reading = decrypt(this.#reading.get(chain) ?? NEW_RATCHET, ciphertext);
    if (reading.kind === 'read') this.#reading.set(chain, reading.ratchet);
    const content = reading.kind === 'read' ? reading.content : undefined;
    const bubbles = this.seen.get(person) ?? [];
    const known = bubbles.find((bubble) => bubble.id === id);
    if (known?.content) return;
    this.#log.add(person, content ? `reads ${id} in ${chat}: "${content.text}"` : `cannot read ${id}`);
    if (known) known.content = content;
    else bubbles.push({ id, chat, content });
  }
}

const NUMBER = '@s.whatsapp.net';
const LID = '@lid';

/** The LID of a person whose number's JID this is. */
export function lidOf(person: string): string {
  return `99${person.slice(0, -NUMBER.length)}${LID}`;
}

/** The number's JID of a person; a group's JID stays as it is. */
function numberOf(jid: string): string {
  return jid.endsWith(LID) ? `${jid.slice(2, -LID.length)}${NUMBER}` : jid;
}

/** One connection of a client to the server: frames arrive in order, unless it breaks. */
export class SimConnection {
  readonly name: string;
  readonly #server: SimWhatsApp;
  readonly #process: SimProcess;
  #isConnected = false;
  /** At the client: nothing may be written any more. */
  #isEnded = false;
  /** Between both: what is under way is lost. */
  #isCut = false;
  #isPartitioned = false;
  #stuck: Array<() => void> = [];
  #toServerMs = 0;
  #toClientMs = 0;
  #heardMs: number;
  #closing: Timer | undefined;
  #onFrame: (frame: ServerFrame) => void = () => undefined;
  #onClose: (isReplaced: boolean) => void = () => undefined;
  #isReplaced = false;

  constructor(server: SimWhatsApp, process: SimProcess) {
    this.#server = server;
    this.#process = process;
    this.name = process.name;
    this.#heardMs = server.deps.time.nowMs;
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** WhatsApp's clock. */
  get nowMs(): number {
    return this.#server.deps.time.nowMs;
  }

  silentForMs(): number {
    return this.#isPartitioned ? this.#server.deps.time.nowMs - this.#heardMs : 0;
  }

  /** Opens the connection; `onOpen` is called when it can be written to. */
  open(handlers: {
    onOpen(): void;
    onFrame(frame: ServerFrame): void;
    onClose(isReplaced: boolean): void;
  }): void {
    this.#onFrame = handlers.onFrame;
    this.#onClose = handlers.onClose;
    this.#process.after(this.#server.deps.faults.networkMs() * 2, () => {
      if (this.#isEnded || this.#isCut) return;
      this.#isConnected = true;
      handlers.onOpen();
    });
  }

  /** Writes to the connection; no promise that it arrives. @returns false: it is over, nothing was written */
  send(frame: ClientFrame): boolean {
    if (this.#process.isDead || this.#isEnded || !this.#isConnected) return false;
    const { time, faults } = this.#server.deps;
    this.#server.onWrite(this.#process, frame);
    this.#toServerMs = Math.max(this.#toServerMs, time.nowMs + faults.networkMs());
    const pass = () => this.#server.take(this, frame);
    time.after(this.#toServerMs - time.nowMs, () => this.#pass(pass));
    return true;
  }

  /** The server writes to the client. */
  deliver(frame: ServerFrame): void {
    const { time, faults } = this.#server.deps;
    this.#toClientMs = Math.max(this.#toClientMs, time.nowMs + faults.networkMs());
    const read = () => {
      if (this.#isEnded) return;
      if (frame.type === 'replaced') this.#isReplaced = true;
      this.#onFrame(frame);
    };
    // A paused process reads its socket's buffer when it resumes.
    time.after(this.#toClientMs - time.nowMs, () => this.#pass(() => this.#process.after(0, read)));
  }

  /** The client ends the connection; what it wrote still arrives. */
  end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#closeAtServer();
  }

  /** The client's process died; what it wrote still arrives. */
  processEnded(): void {
    this.#closeAtServer();
  }

  isOf(process: SimProcess): boolean {
    return this.#process === process;
  }

  /** The server ends the connection; what it wrote still arrives. */
  closeByServer(): void {
    this.#server.ended(this);
    const { time } = this.#server.deps;
    const delayMs = Math.max(0, this.#toClientMs - time.nowMs);
    time.after(delayMs, () => this.#pass(() => this.#process.after(0, () => this.#closed())));
  }

  /** The connection breaks: what is under way in either direction is lost. Each side learns of it in its time. */
  break(serverNoticesMs: number, clientNoticesMs: number): void {
    if (this.#isCut) return;
    this.#isCut = true;
    this.#server.deps.time.after(serverNoticesMs, () => this.#server.ended(this));
    this.#process.after(clientNoticesMs, () => this.#closed());
  }

  /** Nothing passes until `heal`; it arrives then, unless the server gave the connection up. */
  partition(): void {
    this.#isPartitioned = true;
    this.#heardMs = this.#server.deps.time.nowMs;
  }

  heal(): void {
    this.#isPartitioned = false;
    for (const pass of this.#stuck.splice(0)) this.#pass(pass);
  }

  #pass(pass: () => void): void {
    if (this.#isCut) return;
    if (this.#isPartitioned) this.#stuck.push(pass);
    else pass();
  }

  #closeAtServer(): void {
    const { time, faults } = this.#server.deps;
    this.#closing ??= time.after(Math.max(this.#toServerMs - time.nowMs, faults.networkMs()), () =>
      this.#server.ended(this),
    );
  }

  #closed(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#onClose(this.#isReplaced);
  }
}
