import { z } from 'zod';
import { type ChatId, channelIdOf, jidHash, parseJid } from '../../core/chat-id.ts';
import { type Clock, within } from '../../core/clock.ts';
import { type NodeBus, nodeMessage } from '../../core/cluster/node-bus.ts';
import {
  AlreadyLinkedError,
  MediaError,
  NotConnectedError,
  SendUncertainError,
  StorageUnavailableError,
  UploadFailedError,
} from '../../core/errors.ts';
import type { Logger } from '../../core/logger.ts';
import type { ChatAddress, InboundMessage, ToUs } from '../../core/messages/inbound-message.ts';
import type { MediaKind, MessageKey, MessageKind, OutgoingMessage } from '../../core/models.ts';
import { say } from '../../core/phrases.ts';
import {
  PLAYGROUND,
  PLAYGROUND_PHONE,
  playgroundReference,
} from '../../core/playground/playground-account.ts';
import type { AccountStore } from '../../core/ports/account-store.ts';
import type { AccountStatus, ChatProvider, ProviderEvents } from '../../core/ports/chat-provider.ts';
import type { MessageLog, ReceivedMessage, SentMessageRow } from '../../core/ports/message-log.ts';
import type {
  InventedPerson,
  Playground,
  PlaygroundChat,
  PlaygroundEvent,
  WrittenMessage,
} from '../../core/ports/playground.ts';

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
      throw new SendUncertainError(say('send.playground-not-stored'), { cause: error });
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
      throw new UploadFailedError(say('send.playground-file-not-stored'), { cause: error });
    }
  }

  async reloadMedia(): Promise<string> {
    throw new MediaError('MEDIA_GONE', say('media.playground-gone'));
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

  /** Undefined: nobody of the playground has this address, such as the account owner. */
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

/** How long the node of the account may take to store a message in the inbox. */
const STORED_WITHIN_MS = 10_000;

/** What an invented person does. `quote`, `about`, `edit` and `deletion` are ids of stored messages. */
export interface Writing {
  /** Name or number of the person; default: the first of the chat. */
  as?: string;
  text?: string;
  file?: { kind: MediaKind; mimeType: string; fileName?: string; bytes: Uint8Array };
  reaction?: { about: string; emoji: string };
  quote?: string;
  /** A message of the same person, whose text becomes `text`. */
  edit?: string;
  /** A message of the same person, deleted for everybody. */
  deletion?: string;
  /** The text begins with a mention of the account. */
  isMention?: boolean;
  /** A UUID: a message that was written with it before is not written again. */
  repeatId?: string;
}

/** An invented person wrote something. */
export const playgroundInput = nodeMessage('playground-input');

/** A chat of the playground changed. */
export const playgroundChanged = nodeMessage('playground-changed', { chatId: z.string() });

interface WriteMessageDeps {
  playground: Playground;
  messageLog: Pick<MessageLog, 'message' | 'sentMessage'>;
  changes: Pick<PlaygroundChanges, 'until'>;
  bus: Pick<NodeBus, 'broadcast'>;
  mintId(): string;
  clock: Pick<Clock, 'now'>;
}

/** `id` is absent while no node runs the account; the message is stored and is answered later. */
export type Written =
  | { kind: 'written'; waMessageId: string; id?: string }
  | { kind: 'unknown'; field: 'as' | 'quote' | 'reaction' | 'edit' | 'deletion' };

type Row = ReceivedMessage | SentMessageRow;

/**
 * Writes a message as an invented person. When it resolves with `written`, the message is stored and no crash loses it; the
 * node of the account puts it into the inbox, where it is a message like any other.
 * @throws {StorageUnavailableError} it is unknown whether it was stored
 */
export async function writeMessage(
  deps: WriteMessageDeps,
  chat: PlaygroundChat,
  writing: Writing,
): Promise<Written> {
  const writer = personOf(chat, writing.as);
  if (!writer) return { kind: 'unknown', field: 'as' };
  const quoted = writing.quote === undefined ? undefined : await rowOf(deps, chat, writing.quote);
  if (writing.quote !== undefined && !quoted) return { kind: 'unknown', field: 'quote' };
  const about = writing.reaction && (await rowOf(deps, chat, writing.reaction.about));
  if (writing.reaction && !about) return { kind: 'unknown', field: 'reaction' };
  const own = async (id: string | undefined) => {
    const row = id === undefined ? undefined : await rowOf(deps, chat, id);
    return row && row.direction === 'incoming' && writerOf(row) === writer.phone ? row : undefined;
  };
  const edited = await own(writing.edit);
  if (writing.edit !== undefined && !edited) return { kind: 'unknown', field: 'edit' };
  const deleted = await own(writing.deletion);
  if (writing.deletion !== undefined && !deleted) return { kind: 'unknown', field: 'deletion' };

  const target = deleted ?? about;
  const { file, reaction } = writing;
  const text = reaction ? reaction.emoji : textOf(writing);
  const mentions = mentionsIn(text, chat);
  const toUs = toUsOf(
    mentions.some(({ phone }) => phone === PLAYGROUND_PHONE),
    quoted,
  );
  const quotedPerson = quoted && writerOf(quoted);
  const details = {
    ...(quotedPerson && { quoted: { phone: quotedPerson } }),
    ...(chat.kind === 'group' && { subject: chat.name }),
    ...(target && { of: target.waMessageId }),
  };
  const waMessageId = writing.repeatId === undefined ? deps.mintId() : waMessageIdOf(writing.repeatId);
  const message: WrittenMessage = {
    waMessageId,
    chat: addressOf(chat),
    sender: { phone: writer.phone, pushName: writer.name },
    kind: kindOf(writing),
    text,
    ...(quoted && { quotedText: quoted.text }),
    ...(!reaction && mentions.length > 0 && { mentions }),
    ...(toUs && { toUs }),
    ...(Object.keys(details).length > 0 && { details }),
    ...(file && { media: await storedFile(deps.playground, chat, waMessageId, file) }),
    // WhatsApp's clock has whole seconds.
    sentAtMs: Math.trunc(deps.clock.now() / 1000) * 1000,
    ...(reaction && about && { ignoredReason: 'reaction', reactsTo: about.waMessageId }),
    // An edit of an edited message names the first version.
    ...(edited && { editOf: edited.editOf ?? edited.waMessageId }),
    ...(deleted && { ignoredReason: 'deleted', deletes: deleted.editOf ?? deleted.waMessageId }),
  };
  await deps.playground.addInput(chat.id, message);
  deps.bus.broadcast(playgroundInput());
  const id = await deps.changes.until(chat.id, STORED_WITHIN_MS, () =>
    deps.playground.messageId(chat.id, waMessageId),
  );
  return { kind: 'written', waMessageId, ...(id !== undefined && { id }) };
}

/** WhatsApp's form of an id; the inbox stores a message with the same one once. */
function waMessageIdOf(repeatId: string): string {
  return `3EB0${repeatId.replaceAll('-', '').slice(0, 18).toUpperCase()}`;
}

/** The address of a chat of the playground. */
function addressOf({ kind, channelId }: Pick<PlaygroundChat, 'kind' | 'channelId'>): ChatAddress {
  return kind === 'person'
    ? { kind, phone: channelId }
    : { kind, groupId: channelId.slice(0, channelId.indexOf('@')) };
}

function personOf({ people }: PlaygroundChat, as: string | undefined): InventedPerson | undefined {
  if (as === undefined) return people[0];
  const digits = as.replace(/\D/g, '');
  return people.find(({ name }) => name === as) ?? people.find(({ phone }) => phone === digits);
}

async function rowOf(
  { messageLog }: Pick<WriteMessageDeps, 'messageLog'>,
  chat: PlaygroundChat,
  id: string,
): Promise<Row | undefined> {
  const row = (await messageLog.message(id)) ?? (await messageLog.sentMessage(id));
  return row?.accountId === PLAYGROUND && row.chatId === chat.id ? row : undefined;
}

function writerOf(row: Row): string {
  return row.direction === 'outgoing' ? PLAYGROUND_PHONE : row.from.slice(0, row.from.indexOf('@'));
}

function textOf({ text = '', isMention }: Writing): string {
  const tag = `@${PLAYGROUND_PHONE}`;
  return isMention && !text.includes(tag) ? `${tag} ${text}`.trim() : text;
}

/** WhatsApp's apps write a mention as `@` and the digits of the person. */
function mentionsIn(text: string, { people }: PlaygroundChat): NonNullable<InboundMessage['mentions']> {
  return [PLAYGROUND_PHONE, ...people.map(({ phone }) => phone)]
    .map((phone) => ({ phone, tag: `@${phone}` }))
    .filter(({ tag }) => text.includes(tag));
}

function toUsOf(isMention: boolean, quoted: Row | undefined): ToUs | undefined {
  const isQuote = quoted?.direction === 'outgoing';
  if (isMention) return isQuote ? 'both' : 'mention';
  return isQuote ? 'quote' : undefined;
}

/** As of messages of WhatsApp: media with a caption counts as text. */
function kindOf({ text = '', file, reaction, deletion }: Writing): MessageKind {
  if (reaction) return 'reaction';
  if (deletion !== undefined) return 'other';
  if (!file || text !== '') return 'text';
  return file.kind === 'voice' ? 'audio' : file.kind;
}

async function storedFile(
  playground: Playground,
  chat: PlaygroundChat,
  waMessageId: string,
  { kind, mimeType, fileName, bytes }: NonNullable<Writing['file']>,
): Promise<NonNullable<InboundMessage['media']>> {
  const name = fileName === undefined ? {} : { fileName };
  const id = await playground.addFile(chat.id, waMessageId, { mimeType, ...name, bytes });
  return { kind, mimeType, ...name, sizeBytes: bytes.length, reference: playgroundReference(id) };
}

/** Between reads when no node reports a change: the report may be lost. */
const LOOK_EVERY_MS = 1_000;

/** Waits for what changes in chats of the playground, on whatever node. */
export class PlaygroundChanges {
  readonly #clock: Pick<Clock, 'sleep' | 'monotonicMs'>;
  readonly #waiting = new Map<ChatId, Set<() => void>>();

  constructor(bus: Pick<NodeBus, 'on'>, clock: Pick<Clock, 'sleep' | 'monotonicMs'>) {
    this.#clock = clock;
    bus.on(playgroundChanged, ({ chatId }) => {
      for (const wake of this.#waiting.get(chatId) ?? []) wake();
    });
  }

  /**
   * Reads until there is something, after each change of the chat and at least once a second.
   * @returns undefined after `limitMs`, or when the signal aborts
   * @throws what `read` throws
   */
  async until<T>(
    chatId: ChatId,
    limitMs: number,
    read: () => Promise<T | undefined>,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const endMs = this.#clock.monotonicMs() + limitMs;
    for (;;) {
      // Before the read, so that a change during it is not missed.
      const change = this.#change(chatId);
      try {
        const found = await read();
        const leftMs = endMs - this.#clock.monotonicMs();
        if (found !== undefined || leftMs <= 0 || signal?.aborted) return found;
        await within(this.#clock, Math.min(leftMs, LOOK_EVERY_MS), change.promise);
      } finally {
        change.forget();
      }
    }
  }

  #change(chatId: ChatId): { promise: Promise<void>; forget(): void } {
    let wake: () => void = () => undefined;
    const promise = new Promise<void>((resolve) => {
      wake = resolve;
    });
    const waiting = this.#waiting.get(chatId) ?? new Set();
    this.#waiting.set(chatId, waiting.add(wake));
    return {
      promise,
      forget: () => {
        waiting.delete(wake);
        if (waiting.size === 0 && this.#waiting.get(chatId) === waiting) this.#waiting.delete(chatId);
      },
    };
  }
}
