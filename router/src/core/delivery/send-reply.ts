import { type ChatId, chatHash } from '../chat-id.ts';
import type { Clock } from '../clock.ts';
import {
  MediaError,
  NotConnectedError,
  SendRefusedError,
  StorageUnavailableError,
  UploadFailedError,
  Wa2aiError,
} from '../errors.ts';
import { Slots } from '../keyed-queue.ts';
import type { Logger } from '../logger.ts';
import { type Said, say } from '../phrases.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Outbox } from '../ports/outbox.ts';
import type { CurrentWork, Suspects } from '../suspects.ts';
import type { QueuedReply } from '../turns/turn.ts';
import type { ContactGovernor } from './govern-contacts.ts';
import type { SendRateLimiter } from './limit-send-rate.ts';

/**
 * Sends of a message, one after the other, that may not have gone out although the account is open (WhatsApp did not say
 * which devices a person has, or who is in a group), and the wait after the first, which grows with each. The later
 * messages of its chat wait as long: sent before it, they would appear before it.
 */
const MAX_UNCERTAIN = 3;
const UNCERTAIN_WAIT_MS = 2_000;
const PROCESS_ENDED = say('send.process-ended');
/** Between attempts while the database does not answer. */
const STORAGE_WAIT_MS = 1_000;

interface SendReplyDeps {
  outbox: Outbox;
  provider: Pick<ChatProvider, 'send' | 'upload' | 'status' | 'untilLimitsKnown'>;
  marker: SentMarker;
  /** Messages can be sent: the account is open, perhaps limited. */
  isConnected(): boolean;
  /** Called when the outbox may have rows that were not seen yet. */
  pollQueue(): void;
  /** Spaces messages to people who never wrote. Absent: they are sent immediately. */
  governor?: Pick<ContactGovernor, 'maySend'>;
  /** Absent: every message leaves immediately. */
  sendRate?: Pick<SendRateLimiter, 'admit' | 'type'>;
  /** Aborted: all waits end. */
  finishing: AbortSignal;
  current?: CurrentWork;
  /** Absent: a reply during which processes ended is sent as any other. */
  suspects?: Suspects;
  clock: Clock;
  log: Logger;
}

/** Sends one outbox row at a time of each chat; the caller waits for `send` before it sends the chat's next row. */
export class ReplySender {
  readonly #deps: SendReplyDeps;
  readonly #files: ReplyFiles;
  /** Chats with a reply that was not sent because this process finishes. */
  readonly #closedChats = new Set<ChatId>();

  constructor(deps: SendReplyDeps) {
    this.#deps = deps;
    this.#files = new ReplyFiles(deps);
  }

  /**
   * Never rejects: after a failure, the next rows of the chat are sent.
   * @returns whether its bytes were written
   * @param isCurrent false once the connection that the row was queued for has ended: nothing is sent or stored then
   */
  async send(reply: QueuedReply, isCurrent: () => boolean = () => true): Promise<boolean> {
    const { chatId } = reply;
    if (this.#closedChats.has(chatId)) return false;
    const log = this.#deps.log.child(replyFields(reply));
    try {
      const isSuspect = this.#deps.suspects?.isSuspect(reply);
      const sent = await (isSuspect
        ? this.#sendSuspect(reply, log, isCurrent)
        : this.#sendUntilCertain(reply, log, isCurrent));
      if (sent !== undefined) return sent;
    } catch (error) {
      // The row stays unacknowledged: its ack moves it on, or it is sent again with the same id at the next opening.
      log.warn({ err: error }, 'cannot store the state of a reply');
    }
    if (this.#deps.finishing.aborted) this.closeChat(chatId);
    return false;
  }

  /** @returns undefined: a wait ended before it was certain */
  async #sendUntilCertain(
    reply: QueuedReply,
    log: Logger,
    isCurrent: () => boolean,
  ): Promise<boolean | undefined> {
    for (let attempt = 1; ; attempt++) {
      const isMarked = attempt === 1 && reply.isSending === true;
      const outcome = await this.#sendOnce(reply, isMarked, log, isCurrent);
      if (outcome === 'sent') return true;
      if (outcome !== 'uncertain' || attempt >= MAX_UNCERTAIN) return false;
      if (!(await this.#isStillConnectedAfter(UNCERTAIN_WAIT_MS * attempt, isCurrent))) return undefined;
    }
  }

  /** Processes ended while it was sent: it is sent alone, or not any more. */
  async #sendSuspect(
    reply: QueuedReply,
    log: Logger,
    isCurrent: () => boolean,
  ): Promise<boolean | undefined> {
    const { outbox, suspects, finishing } = this.#deps;
    const { outboxId, chatId, suspicion } = reply;
    const stored = (write: () => Promise<void>) => this.#whenStorageAnswers(write, log, isCurrent);
    if (suspects?.isGuilty(reply)) {
      await stored(() => outbox.markDead(outboxId, PROCESS_ENDED, 'process-ended'));
      log.error({ suspicion }, 'processes ended while this reply was sent, storing a dead letter');
      return false;
    }
    const leave = await suspects?.enter(() => undefined, finishing);
    if (!leave) {
      this.closeChat(chatId);
      return false;
    }
    try {
      if (!isCurrent()) return false;
      return await suspects?.run(
        { ...replyFields(reply), suspicion },
        (runsAlone) => stored(() => outbox.setAlone(outboxId, runsAlone)),
        () => this.#sendUntilCertain(reply, log, isCurrent),
      );
    } finally {
      leave();
    }
  }

  /** An older reply of the chat is left to the next process: later ones would overtake it. */
  closeChat(chatId: ChatId): void {
    this.#closedChats.add(chatId);
  }

  /** @param isMarked its row is `sending` for this attempt already */
  async #sendOnce(
    reply: QueuedReply,
    isMarked: boolean,
    log: Logger,
    isCurrent: () => boolean,
  ): Promise<'sent' | 'uncertain' | 'ended'> {
    const { provider, marker, sendRate, finishing } = this.#deps;
    const { message } = reply;
    if (!isCurrent()) return 'ended';
    const maySend = () => this.#maySend(reply, isMarked, log, isCurrent);
    if (!(await this.#whenStorageAnswers(maySend, log, isCurrent))) return 'ended';
    await sendRate?.type(reply, finishing);
    try {
      const content =
        message.media && (await this.#whenStorageAnswers(() => this.#files.contentOf(reply), log, isCurrent));
      if (!isCurrent()) return 'ended';
      this.#deps.current?.workingOn(`reply ${reply.outboxId}`);
      await provider.send(message, content);
    } catch (error) {
      // The row is queued again for the present connection.
      if (!isCurrent()) return 'ended';
      return this.#sendFailed(reply, error, log, isCurrent);
    }
    log.info({}, 'reply sent');
    marker.sent(reply);
    return 'sent';
  }

  /** Moves the row to `sending`; false when it is not to be sent now. */
  async #maySend(
    reply: QueuedReply,
    isMarked: boolean,
    log: Logger,
    isCurrent: () => boolean,
  ): Promise<boolean> {
    if (await this.#isDelayed(reply, log)) return false;
    const { governor, sendRate, finishing, outbox } = this.#deps;
    if (!isMarked && governor && !(await governor.maySend(reply, log))) return false;
    if (sendRate && !(await sendRate.admit(reply, isCurrent, finishing))) {
      // Its row waits for the next process, and with it the later ones of its chat.
      if (finishing.aborted) this.closeChat(reply.chatId);
      return false;
    }
    if (isMarked) return true;
    if (await outbox.markSending(reply.outboxId)) return true;
    // A delayed message of the chat may stand before this reply; its person wrote since.
    if (governor && reply.messageId !== undefined) await outbox.endDelaysOf(reply.chatId);
    // The row is past sending, or an older one of its chat, stored by another node, was not seen here yet.
    this.#deps.pollQueue();
    return false;
  }

  /**
   * Repeats `ask` until the database answers. It may have stored that the row is being sent; the later messages of its
   * chat must not be sent before it.
   * @throws {StorageUnavailableError} the account is not open any more: the row is sent at the next opening, in its order
   */
  async #whenStorageAnswers<T>(ask: () => Promise<T>, log: Logger, isCurrent: () => boolean): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof StorageUnavailableError)) throw error;
        if (!(await this.#isStillConnectedAfter(STORAGE_WAIT_MS, isCurrent))) throw error;
        log.warn({ err: error }, 'database unavailable, retrying reply');
      }
    }
  }

  /** Time in which an ack may still come; it ends with the connection or the service. */
  async #isStillConnectedAfter(waitMs: number, isCurrent: () => boolean): Promise<boolean> {
    const { clock, finishing, isConnected } = this.#deps;
    try {
      await clock.sleep(waitMs, finishing);
      return isConnected() && isCurrent();
    } catch {
      return false;
    }
  }

  /** While WhatsApp limits the account, messages to people who never wrote to it are delayed until the limit ends. */
  async #isDelayed({ outboxId }: QueuedReply, log: Logger): Promise<boolean> {
    const { outbox, provider } = this.#deps;
    // After a login a limit may not be known yet.
    const limitsKnown = provider.untilLimitsKnown();
    if (limitsKnown === undefined && provider.status().limitLeftMs === undefined) return false;
    if (!(await outbox.isCold(outboxId))) return false;
    await limitsKnown;
    const { reason, phrase, limitLeftMs } = provider.status();
    if (limitLeftMs === undefined) return false;
    const why = reason === undefined ? say('send.limited') : { sentence: reason, ...(phrase && { phrase }) };
    await outbox.delay(outboxId, limitLeftMs, why);
    log.warn({ limitLeftMs }, 'message to a new contact delayed: WhatsApp limits this account');
    return true;
  }

  async #sendFailed(
    reply: QueuedReply,
    error: unknown,
    log: Logger,
    isCurrent: () => boolean,
  ): Promise<'uncertain' | 'ended'> {
    const said =
      error instanceof Wa2aiError
        ? error.said
        : { sentence: error instanceof Error ? error.message : String(error) };
    const reason = said.sentence;
    if (error instanceof NotConnectedError) {
      await this.#deps.outbox.release(reply.outboxId, said);
      return 'ended';
    }
    if (error instanceof UploadFailedError) {
      await this.#files.uploadFailed(reply, said, log, (write) =>
        this.#whenStorageAnswers(write, log, isCurrent),
      );
      return 'ended';
    }
    if (error instanceof Wa2aiError && error.disposition === 'dead') {
      await this.#deps.outbox.markDead(reply.outboxId, said);
      log.error({ reason }, 'reply refused');
      return 'ended';
    }
    // It may have been sent: the row stays in `sending` and is sent again, with the same id, unless its ack comes.
    log.warn({ reason }, 'reply may not have been sent, sending it again with the same id');
    return 'uncertain';
  }
}

/** Uploads of one file before its row is dead, and the wait after the first failure; it doubles with each. */
const MAX_UPLOADS = 5;
const UPLOAD_BACKOFF_MS = 2_000;
/** Files in memory at a time, however many chats wait for one. */
const UPLOADS_AT_ONCE = 4;

interface ReplyFilesDeps {
  outbox: Pick<Outbox, 'fileOf' | 'keepContent' | 'markDead' | 'release' | 'delay'>;
  provider: Pick<ChatProvider, 'upload'>;
}

/** Uploads the files of replies to WhatsApp, a few at a time. */
class ReplyFiles {
  readonly #deps: ReplyFilesDeps;
  readonly #slots = new Slots(UPLOADS_AT_ONCE);
  /** Failed uploads by row, in this process. */
  readonly #failures = new Map<string, number>();

  constructor(deps: ReplyFilesDeps) {
    this.#deps = deps;
  }

  /**
   * The uploaded form of a reply's file, stored before anything is sent, so that every attempt sends the same message.
   * @throws {UploadFailedError} {SendRefusedError} {StorageUnavailableError}
   */
  contentOf(reply: QueuedReply): Promise<Uint8Array> {
    return this.#slots.run(() => this.#contentOf(reply));
  }

  async #contentOf({ outboxId, message }: QueuedReply): Promise<Uint8Array> {
    const { outbox, provider } = this.#deps;
    const file = await outbox.fileOf(outboxId).catch(notLoaded);
    if (!file) throw new SendRefusedError(say('send.no-file'));
    if (file.content) return file.content;
    const content = await outbox.keepContent(outboxId, await provider.upload(message, file.bytes));
    this.#failures.delete(outboxId);
    return content;
  }

  /**
   * Nothing was sent: the row is delayed, and with it the later messages of its chat.
   * @param store repeats a write until the database answers; until then no later message of the chat may be sent
   */
  async uploadFailed(
    { outboxId }: QueuedReply,
    said: Said,
    log: Logger,
    store: (write: () => Promise<void>) => Promise<void>,
  ): Promise<void> {
    const { outbox } = this.#deps;
    const reason = said.sentence;
    const failures = (this.#failures.get(outboxId) ?? 0) + 1;
    if (failures >= MAX_UPLOADS) {
      this.#failures.delete(outboxId);
      await store(() => outbox.markDead(outboxId, say('send.attempts', { error: said, count: failures })));
      log.error({ reason, failures }, 'file of a reply not uploaded, giving up');
      return;
    }
    this.#failures.set(outboxId, failures);
    await store(() => outbox.release(outboxId, said));
    await store(() => outbox.delay(outboxId, UPLOAD_BACKOFF_MS * 2 ** (failures - 1), said));
    log.warn({ reason, failures }, 'file of a reply not uploaded, retrying');
  }
}

/** @throws {UploadFailedError} {SendRefusedError} the store has no file, or not now */
function notLoaded(error: unknown): never {
  if (!(error instanceof MediaError)) throw error;
  const Failed = error.disposition === 'retry' ? UploadFailedError : SendRefusedError;
  throw new Failed(error.said, { cause: error });
}

/**
 * Most acks are stored sooner than this and say more than that the bytes were written: one write is enough for both. The
 * connection gathers acks for half a second.
 */
const ACK_GRACE_MS = 1_000;

interface SentMarkerDeps {
  outbox: Pick<Outbox, 'markSent'>;
  clock: Clock;
  log: Logger;
}

/** Marks replies as sent in the outbox, unless an acknowledgement of WhatsApp is stored within a second. */
export class SentMarker {
  readonly #deps: SentMarkerDeps;
  /** Rows whose bytes are written and whose ack did not come yet, by WhatsApp id; the oldest first. */
  readonly #unmarked = new Map<string, { reply: QueuedReply; dueMs: number }>();
  #marking: Promise<void> = Promise.resolve();
  #isWaiting = false;

  constructor(deps: SentMarkerDeps) {
    this.#deps = deps;
  }

  /** The bytes of a reply are written. */
  sent(reply: QueuedReply): void {
    const { waMessageId } = reply.message;
    const dueMs = this.#deps.clock.monotonicMs() + ACK_GRACE_MS;
    // A row that is sent again is the newest.
    this.#unmarked.delete(waMessageId);
    this.#unmarked.set(waMessageId, { reply, dueMs });
    if (!this.#isWaiting) void this.#markWhenDue();
  }

  /** WhatsApp acknowledged these; the acks are stored by the caller. */
  acknowledged(waMessageIds: readonly string[]): void {
    for (const waMessageId of waMessageIds) this.#unmarked.delete(waMessageId);
  }

  /**
   * Resolves when all sends so far are marked. Never rejects: a row that is not marked is still `sending`, and is sent again
   * with the same id when no ack comes.
   */
  finish(): Promise<void> {
    return this.#mark(Infinity);
  }

  async #markWhenDue(): Promise<void> {
    const { clock } = this.#deps;
    this.#isWaiting = true;
    for (let waitMs = ACK_GRACE_MS; ; ) {
      await clock.sleep(waitMs);
      await this.#mark(clock.monotonicMs());
      const [oldest] = this.#unmarked.values();
      if (!oldest) break;
      waitMs = Math.max(1, oldest.dueMs - clock.monotonicMs());
    }
    this.#isWaiting = false;
  }

  /** Marks the rows that are due by this time. */
  #mark(untilMs: number): Promise<void> {
    this.#marking = this.#marking.then(async () => {
      for (const [waMessageId, { reply, dueMs }] of this.#unmarked) {
        if (dueMs > untilMs) break;
        this.#unmarked.delete(waMessageId);
        try {
          await this.#deps.outbox.markSent(reply.outboxId);
        } catch (error) {
          this.#deps.log.warn({ err: error, ...replyFields(reply) }, 'cannot store that a reply was sent');
        }
      }
    });
    return this.#marking;
  }
}

/**
 * The fields of every log line about a reply. `messageId` is the message that it answers; for a message of an admin it is
 * the row itself, under whose id the API shows it.
 */
export function replyFields({ outboxId, messageId = outboxId, chatId, message }: QueuedReply) {
  return { outboxId, messageId, waMessageId: message.waMessageId, chat: chatHash(chatId) };
}
