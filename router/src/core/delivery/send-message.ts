import { jidOfChannelId } from '../chat-id.ts';
import { NotOnWhatsAppError } from '../errors.ts';
import type { MediaKind, Quote, ReplyFile, ReplyMedia } from '../models.ts';
import type { AccountControl } from '../ports/cluster.ts';
import type { Outbox, OutboxRow } from '../ports/outbox.ts';
import type { QueuedReply } from '../turns/turn.ts';
import type { SpecialMessage } from './special-message.ts';

interface SendMessageDeps {
  outbox: Outbox;
  mintId(): string;
  deliver(reply: QueuedReply): void;
}

/** The file of a message to send. */
export interface FileToSend {
  kind: MediaKind;
  /** What it was made of; equal for a repeat of the same request. */
  source: string;
  /** Its bytes, loaded when this is called. @throws {FileRefusedError} */
  load(): Promise<ReplyFile>;
}

/** A message an admin sends: `to` is a canonical channelId other than `*`. */
export interface SendMessageInput {
  accountId: string;
  to: string;
  /** With a file, its caption. */
  text: string;
  file?: FileToSend;
  special?: SpecialMessage;
  quote?: Quote;
  /** JIDs, as OutgoingMessage.mentions. */
  mentions?: string[];
  /** Makes a repeat harmless: the same key returns the first row. */
  idempotencyKey?: string;
  /** A person wrote it by hand: the chat is paused for so long, 0 not at all, and the agent gets it as context. */
  byHand?: { pauseMs: number };
}

/**
 * Stores a message of an admin, with the bytes of its file, and starts its delivery. The file of a repeat is not loaded.
 * @returns `known` for a repeat, `conflict` when the key was used for another chat or message; nothing is sent then
 * @throws {StorageUnavailableError} {FileRefusedError} nothing was stored
 */
export async function sendMessage(
  deps: SendMessageDeps,
  input: SendMessageInput,
): Promise<{ outcome: 'queued' | 'known' | 'conflict'; row: OutboxRow }> {
  const { file, idempotencyKey } = input;
  const isRepeat =
    file !== undefined &&
    idempotencyKey !== undefined &&
    (await deps.outbox.hasDirect(input.accountId, idempotencyKey));
  const loaded = isRepeat ? undefined : await file?.load();
  const message = {
    accountId: input.accountId,
    to: jidOfChannelId(input.to) ?? input.to,
    waMessageId: deps.mintId(),
    text: input.text,
    ...(input.special && { special: input.special }),
    ...(input.quote && { quote: input.quote }),
    ...(input.mentions && { mentions: input.mentions }),
    ...(loaded && { media: mediaOf(loaded) }),
  };
  const stored = await deps.outbox.addDirect(message, {
    idempotencyKey,
    byHand: input.byHand,
    ...(file && { file: { source: file.source, ...(loaded && { bytes: loaded.bytes }) } }),
  });
  if (stored.outcome === 'queued') {
    const { id, chatId, text, timerSeconds } = stored.row;
    const row = { ...message, text, ...(timerSeconds && { timerSeconds }) };
    deps.deliver({ outboxId: id, chatId, message: row });
  }
  return stored;
}

/**
 * Says before a message is stored that it would go to a number without an account. Waits a few seconds for WhatsApp; without an answer
 * the message can be stored, and the governor asks again before it is sent.
 * @throws {NotOnWhatsAppError} · {StorageUnavailableError}
 */
export async function refuseUnknownNumber(
  {
    outbox,
    accounts,
  }: { outbox: Pick<Outbox, 'numberToCheck'>; accounts: Pick<AccountControl, 'isOnWhatsApp'> },
  { accountId, to, idempotencyKey }: Pick<SendMessageInput, 'accountId' | 'to' | 'idempotencyKey'>,
): Promise<void> {
  const number = await outbox.numberToCheck(accountId, jidOfChannelId(to) ?? to, idempotencyKey);
  if (!number) return;
  const isOnWhatsApp = number.isOnWhatsApp ?? (await accounts.isOnWhatsApp(accountId, number.phone));
  if (isOnWhatsApp === false) throw new NotOnWhatsAppError();
}

function mediaOf({ kind, mimeType, fileName, bytes }: ReplyFile): ReplyMedia {
  return { kind, mimeType, ...(fileName !== undefined && { fileName }), sizeBytes: bytes.length };
}

/** Random bytes that an id takes. */
const WA_MESSAGE_ID_BYTES = 9;

/**
 * Makes a WhatsApp message id in the form that Baileys mints: `3EB0` and 18 upper-case hexadecimal digits. Phones
 * recognize the kind of client by its length and prefix, so no other form is used. 72 random bits: unique without a
 * check.
 * @param random exactly 9 bytes from a cryptographic source
 * @throws {RangeError} another number of bytes
 */
export function mintWaMessageId(random: Uint8Array): string {
  if (random.length !== WA_MESSAGE_ID_BYTES) {
    throw new RangeError(`A WhatsApp message id takes ${WA_MESSAGE_ID_BYTES} random bytes.`);
  }
  const digits = Array.from(random, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return `3EB0${digits.toUpperCase()}`;
}
