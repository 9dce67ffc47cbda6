import { type BinaryNode, decodeBinaryNode, encodeBinaryNode } from '@whiskeysockets/baileys';
import type { RawData, WebSocket } from 'ws';
import { FrameReader, frameOf } from './frames.ts';
import { type ClientFinish, NoiseServer, type ServerIdentity } from './noise-server.ts';

/** Handlers of a connection's events. */
export interface ConnectionListener {
  onClient(connection: Connection, client: ClientFinish): void;
  /** Stanzas arrive one at a time, in the order of the wire. */
  onNode(connection: Connection, stanza: BinaryNode): void;
  onClosed(connection: Connection, reason: string): void;
}

/** One client's WebSocket: handshake, frames, encrypted stanzas in both directions. */
export class Connection {
  readonly openedAtMs = Date.now();
  /** Delays every frame to the client by so many ms, order kept. */
  delayMs = 0;
  /** While true, nothing is sent or read; the TCP connection stays open. */
  isSilent = false;
  readonly #socket: WebSocket;
  readonly #noise: NoiseServer;
  readonly #frames = new FrameReader();
  readonly #listener: ConnectionListener;
  #state: 'hello' | 'finish' | 'open' | 'closed' = 'hello';
  #reading: Promise<void> = Promise.resolve();
  #nextId = 0;
  readonly #delayed: Uint8Array[] = [];
  #lastDueMs = 0;

  constructor(socket: WebSocket, identity: ServerIdentity, listener: ConnectionListener) {
    this.#socket = socket;
    this.#noise = new NoiseServer(identity);
    this.#listener = listener;
    socket.on('message', (data: RawData) => this.#receive(data as Buffer));
    socket.on('close', () => this.#closed('closed by the client'));
    socket.on('error', (error) => this.#closed(error.message));
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  /** An id for a stanza of the server. */
  mintId(): string {
    return `${this.openedAtMs % 1_000_000_000}-${++this.#nextId}`;
  }

  /** Sends a stanza; false when the connection is closed. */
  send(stanza: BinaryNode): boolean {
    if (this.#state !== 'open' || this.isSilent) return false;
    const plain = encodeBinaryNode(stanza);
    if (this.delayMs === 0 && this.#delayed.length === 0) this.#seal(plain);
    else this.#sealLater(plain);
    return true;
  }

  /** Sends a last stanza and closes the connection once it is written. */
  sendAndClose(stanza: BinaryNode, reason: string): void {
    if (this.#state === 'open') this.#seal(encodeBinaryNode(stanza));
    this.#closed(reason);
    this.#socket.close();
  }

  /** Breaks the TCP connection without a stream error. */
  drop(reason = 'dropped'): void {
    this.#closed(reason);
    this.#socket.terminate();
  }

  #sealLater(plain: Uint8Array): void {
    const nowMs = performance.now();
    this.#lastDueMs = Math.max(this.#lastDueMs, nowMs + this.delayMs);
    this.#delayed.push(plain);
    setTimeout(() => this.#seal(this.#delayed.shift() ?? plain), Math.ceil(this.#lastDueMs - nowMs));
  }

  #seal(plain: Uint8Array): void {
    if (this.#state === 'open') this.#socket.send(frameOf(this.#noise.seal(plain)));
  }

  #receive(data: Buffer): void {
    try {
      for (const frame of this.#frames.push(data)) this.#onFrame(frame);
    } catch (error) {
      this.drop(error instanceof Error ? error.message : String(error));
    }
  }

  #onFrame(frame: Buffer): void {
    if (this.#state === 'hello') {
      this.#state = 'finish';
      this.#socket.send(frameOf(this.#noise.hello(frame)));
    } else if (this.#state === 'finish') {
      const client = this.#noise.finish(frame);
      this.#state = 'open';
      this.#listener.onClient(this, client);
    } else if (this.#state === 'open') {
      const plain = this.#noise.open(frame);
      this.#reading = this.#reading
        .then(() => decodeBinaryNode(plain))
        .then((stanza) => {
          if (!this.isSilent) this.#listener.onNode(this, stanza);
        })
        .catch((error: unknown) => this.drop(error instanceof Error ? (error.stack ?? '') : String(error)));
    }
  }

  #closed(reason: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#listener.onClosed(this, reason);
  }
}
