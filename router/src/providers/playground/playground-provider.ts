import { channelIdOf, jidHash, parseJid } from '../../core/chat-id.ts';
import type { Clock } from '../../core/clock.ts';
import type { NodeBus } from '../../core/cluster/node-bus.ts';
import {
  AlreadyLinkedError,
  MediaError,
  NotConnectedError,
  SendUncertainError,
  StorageUnavailableError,
  UploadFailedError,
} from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { MessageKey, OutgoingMessage } from '../../core/models.ts';
import { PLAYGROUND_PHONE } from '../../core/playground/playground-account.ts';
import type { AccountStore } from '../../core/ports/account-store.ts';
import type { AccountStatus, ChatProvider, ProviderEvents } from '../../core/ports/chat-provider.ts';
import type { Playground, PlaygroundChat, PlaygroundEvent } from '../../core/ports/playground.ts';
import { addressOf, playgroundChanged } from './write-message.ts';

/** How often messages are read whose report from another node was lost. */
const READ_EVERY_MS = 5_000;
const STORAGE_WAIT_MS = 500;
const PAGE = 100;

interface PlaygroundProviderOptions {
  accountId: string;
  playground: Playground;
  accountStore: Pick<AccountStore, 'save'>;
  events: ProviderEvents;
  bus: Pick<NodeBus, 'broadcast'>;
  clock: Clock;
  log: Logger;
}

/**
 * A ChatProvider without WhatsApp: messages of invented people come from the table of the playground, and what is sent to
 * them is recorded there. Nothing leaves the machine. A message that was written is received at least once and removed
 * when the inbox has it; one that is sent twice is recorded once, as a phone shows it once.
 */
export class PlaygroundProvider implements ChatProvider {
  readonly accountId: string;
  readonly #options: PlaygroundProviderOptions;
  #state: 'starting' | 'open' | 'stopped' = 'starting';
  #sinceMs: number;
  readonly #stopping = new AbortController();
  #wake: () => void = () => undefined;
  #isDue = false;
  #reading: Promise<void> | undefined;

  constructor(options: PlaygroundProviderOptions) {
    this.accountId = options.accountId;
    this.#options = options;
    this.#sinceMs = options.clock.now();
  }

  untilLimitsKnown(): undefined {
    return undefined;
  }

  status(): AccountStatus {
    const state = this.#state;
    return {
      accountId: this.accountId,
      provider: 'playground',
      state,
      nextAction: 'Nothing to do: the playground needs no phone.',
      sinceMs: this.#sinceMs,
      isConnected: state === 'open',
      phone: PLAYGROUND_PHONE,
      name: 'Playground',
    };
  }

  async start(): Promise<void> {
    this.#set('open');
    const { accountStore } = this.#options;
    await accountStore.save(this.accountId, {
      state: 'open',
      phone: PLAYGROUND_PHONE,
      pushName: 'Playground',
    });
    this.#reading ??= this.#read();
  }

  async stop(): Promise<void> {
    if (this.#state === 'stopped') return;
    this.#set('stopped');
    this.#stopping.abort();
    this.#wake();
    await this.#reading;
  }

  abandon(): Promise<void> {
    return this.stop();
  }

  /** A person wrote something, maybe. */
  readNow(): void {
    this.#isDue = true;
    this.#wake();
  }

  async send(message: OutgoingMessage, content?: Uint8Array): Promise<void> {
    if (this.#state !== 'open') throw new NotConnectedError(this.accountId);
    const { to, waMessageId } = message;
    let chat: PlaygroundChat | undefined;
    try {
      chat = await this.#chatOf(to);
      if (chat) await this.#record(chat, eventOf(message, content));
    } catch (error) {
      throw new SendUncertainError('The playground could not store the message.', { cause: error });
    }
    const atMs = this.#options.clock.now();
    const receipts = this.#options.events.receipts([
      { waMessageId, state: 'acked', atMs },
      ...(chat
        ? (['delivered', 'read'] as const).map((state) => ({
            waMessageId,
            state,
            atMs,
            from: addressOf(chat),
          }))
        : []),
    ]);
    // As on WhatsApp, sending does not wait for receipts. Without an ack the message is sent again, and recorded once.
    receipts.catch((error: unknown) => {
      this.#options.log.warn({ err: error, waMessageId }, 'receipts of the playground not stored');
    });
  }

  async upload(message: OutgoingMessage, bytes: Uint8Array): Promise<Uint8Array> {
    const { to, media, waMessageId } = message;
    try {
      const chat = await this.#chatOf(to);
      if (!chat || !media) return new Uint8Array();
      const { mimeType, fileName } = media;
      const file = { mimeType, ...(fileName !== undefined && { fileName }), bytes };
      return new TextEncoder().encode(await this.#options.playground.addFile(chat.id, waMessageId, file));
    } catch (error) {
      throw new UploadFailedError('The playground could not store the file.', { cause: error });
    }
  }

  async reloadMedia(): Promise<string> {
    throw new MediaError('MEDIA_GONE', 'The file of the playground was deleted with its chat.');
  }

  async setTyping(to: string, isTyping: boolean): Promise<void> {
    await this.#show(to, { kind: 'typing', isTyping });
  }

  async markRead({ chat, waMessageId }: MessageKey): Promise<void> {
    await this.#show(chat, { kind: 'read', about: waMessageId });
  }

  react({ chat, waMessageId }: MessageKey, emoji: string): Promise<boolean> {
    return this.#show(chat, { kind: 'reaction', about: waMessageId, emoji });
  }

  async pair(): Promise<AccountStatus> {
    throw new AlreadyLinkedError(this.accountId);
  }

  /** There is nothing to unlink. */
  async logout(): Promise<AccountStatus> {
    return this.status();
  }

  async unlink(): Promise<AccountStatus> {
    await this.stop();
    return this.status();
  }

  async restart(): Promise<AccountStatus> {
    this.readNow();
    return this.status();
  }

  #set(state: 'open' | 'stopped'): void {
    this.#state = state;
    this.#sinceMs = this.#options.clock.now();
    this.#options.events.status(this.status());
  }

  /** Puts what people wrote into the inbox, in order, until the provider stops. */
  async #read(): Promise<void> {
    const { playground, events, clock, log, bus } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#isDue = false;
      try {
        const inputs = await playground.inputs(PAGE);
        for (const { id, chatId, message } of inputs) {
          if (signal.aborted) return;
          const order = { accountId: this.accountId, stanzaOrder: BigInt(id) };
          await events.receive({ ...message, ...order }).catch((error: unknown) => {
            if (error instanceof StorageUnavailableError) throw error;
            // The database never accepts it: it must not block those behind it.
            log.error({ err: error, waMessageId: message.waMessageId }, 'message of the playground refused');
          });
          await playground.removeInput(id);
          bus.broadcast(playgroundChanged({ chatId }));
        }
        if (inputs.length === PAGE || this.#isDue) continue;
        const waited = new AbortController();
        const pause = clock.sleep(READ_EVERY_MS, waited.signal).catch(() => undefined);
        await Promise.race([woken, pause]);
        waited.abort();
      } catch (error) {
        log.warn({ err: error }, 'cannot store messages of the playground, retrying');
        await clock.sleep(STORAGE_WAIT_MS, signal).catch(() => undefined);
      }
    }
  }

  /** Undefined: nobody of the playground has this address, such as the owner of the account. */
  async #chatOf(jid: string): Promise<PlaygroundChat | undefined> {
    const address = parseJid(jid);
    const channelId = address && channelIdOf(address);
    return channelId === undefined ? undefined : this.#options.playground.chatAt(channelId);
  }

  async #record(chat: PlaygroundChat, event: PlaygroundEvent): Promise<void> {
    await this.#options.playground.addEvent(chat.id, event);
    this.#options.bus.broadcast(playgroundChanged({ chatId: chat.id }));
  }

  /** Records what nobody waits for. @returns whether it was recorded */
  async #show(jid: string, event: PlaygroundEvent): Promise<boolean> {
    try {
      const chat = await this.#chatOf(jid);
      if (!chat || this.#state !== 'open') return false;
      await this.#record(chat, event);
      return true;
    } catch (error) {
      this.#options.log.debug({ err: error, jidHash: jidHash(this.accountId, jid) }, 'presence not recorded');
      return false;
    }
  }
}

function eventOf(
  { waMessageId, text, media, quote, special }: OutgoingMessage,
  content: Uint8Array | undefined,
): PlaygroundEvent {
  if (special?.kind === 'reaction') {
    return { kind: 'reaction', about: special.of, emoji: special.emoji };
  }
  return {
    kind: 'message',
    waMessageId,
    text,
    ...(media &&
      content && {
        file: {
          id: new TextDecoder().decode(content),
          kind: media.kind,
          mimeType: media.mimeType,
          ...(media.fileName !== undefined && { fileName: media.fileName }),
        },
      }),
    ...(quote && { quotedText: quote.text }),
    ...(special && { special: special.kind }),
  };
}
