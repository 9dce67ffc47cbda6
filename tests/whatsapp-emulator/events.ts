import { EventEmitter } from 'node:events';
import type { BinaryNode, proto } from '@whiskeysockets/baileys';
import { EmulatorError } from './emulator-error.ts';
import { PATIENCE_MS } from './timeline.ts';

/** A message of an account that a person, or a group's member, could read. */
interface Reply {
  readonly id: string;
  /** The sending device, phone number form. */
  readonly account: string;
  /** The reader: user JID, phone number form. */
  readonly person: string;
  /** The chat it was sent to, as the client addressed it. */
  readonly chat: string;
  readonly text: string | undefined;
  readonly message: proto.IMessage;
  /** True when this person had read the same id before. */
  readonly isRepeat: boolean;
  readonly atMs: number;
}

/** The events of the emulator; `device` is a device JID in phone number form. */
export interface EmulatorEvents {
  /** A client finished its handshake; its account is not known yet. */
  connected: { readonly isRegistration: boolean; readonly version: string };
  /** A client requests linking: its QR refs were sent. */
  pairing: { readonly refs: readonly string[] };
  paired: { readonly device: string };
  'logged-in': { readonly device: string };
  /** The client has received all waiting stanzas; later ones are live. */
  live: { readonly device: string; readonly offlineCount: number };
  closed: { readonly device: string | undefined; readonly reason: string };
  unlinked: { readonly device: string };
  /** Any stanza from a client, before it is handled. */
  stanza: { readonly device: string | undefined; readonly stanza: BinaryNode };
  reply: Reply;
  /** A reader of an account's message `id` saw its new text, or that it was deleted. */
  change: { readonly person: string; readonly id: string; readonly text: string | undefined };
  /** An actor could not decrypt what a client sent it. */
  unreadable: { readonly id: string; readonly person: string; readonly reason: string };
  /** A client's receipt; `type` is undefined for delivery. */
  receipt: {
    readonly device: string;
    readonly id: string;
    readonly chat: string;
    readonly type: string | undefined;
  };
  /** A client acknowledged a stanza by ack or receipt: it is not sent again. `error` is the code of a refusal. */
  settled: { readonly device: string; readonly stanza: BinaryNode; readonly error: string | undefined };
  /** A client showed `composing`, `paused`, `available` or `unavailable`; `chat` is empty for the last two. */
  presence: { readonly device: string; readonly chat: string; readonly state: string };
  'unknown-query': { readonly device: string | undefined; readonly stanza: BinaryNode };
}

/** Typed events with a wait that cannot hang. */
export class Events {
  readonly #emitter = new EventEmitter({ captureRejections: false });

  constructor() {
    this.#emitter.setMaxListeners(0);
  }

  on<K extends keyof EmulatorEvents>(event: K, listener: (value: EmulatorEvents[K]) => void): void {
    this.#emitter.on(event, listener);
  }

  off<K extends keyof EmulatorEvents>(event: K, listener: (value: EmulatorEvents[K]) => void): void {
    this.#emitter.off(event, listener);
  }

  emit<K extends keyof EmulatorEvents>(event: K, value: EmulatorEvents[K]): void {
    this.#emitter.emit(event, value);
  }

  /**
   * Waits for the next matching event; earlier ones do not count, so call it before the cause.
   * @throws {EmulatorError} after `timeoutMs`, naming the event
   */
  waitFor<K extends keyof EmulatorEvents>(
    event: K,
    fits: (value: EmulatorEvents[K]) => boolean = () => true,
    timeoutMs = PATIENCE_MS,
  ): Promise<EmulatorEvents[K]> {
    return new Promise((resolve, reject) => {
      const listener = (value: EmulatorEvents[K]) => {
        if (!fits(value)) return;
        clearTimeout(timer);
        this.off(event, listener);
        resolve(value);
      };
      const timer = setTimeout(() => {
        this.off(event, listener);
        reject(new EmulatorError(`no fitting '${event}' within ${timeoutMs} ms`));
      }, timeoutMs);
      this.on(event, listener);
    });
  }
}
