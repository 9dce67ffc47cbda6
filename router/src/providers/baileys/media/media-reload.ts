import {
  type BaileysEventMap,
  decryptMediaRetryData,
  encryptMediaRetryRequest,
  proto,
  type WASocket,
} from '@whiskeysockets/baileys';
import { MediaError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports/clock.ts';
import { within } from '../../../core/time-limit.ts';
import { changeReference, readReference } from './media-reference.ts';

/** Longest wait for the phone, which may be switched off. */
const ANSWER_TIMEOUT_MS = 15_000;

export interface ReloadOptions {
  clock: Clock;
  /** The account's own JID. */
  ownJid: string;
  /** Longest wait for the phone, in milliseconds. Default: 15,000. */
  timeoutMs?: number;
}

/**
 * Requests from the account's phone, which has the message too, to upload a file again that WhatsApp's servers have
 * deleted. Baileys' own function keeps its listener when no response arrives.
 * @returns the reference with the file's new path
 * @throws {MediaError} MEDIA_GONE: the phone no longer has it, or did not answer
 */
export async function reloadFile(
  reference: string,
  socket: Pick<WASocket, 'ev' | 'sendNode'>,
  options: ReloadOptions,
): Promise<string> {
  const file = readReference(reference);
  if (!file?.message)
    throw gone('The file cannot be requested from the phone: the id of its message is unknown.');
  const { message, mediaKey } = file;
  const { clock, ownJid, timeoutMs = ANSWER_TIMEOUT_MS } = options;
  const done = new AbortController();
  const answer = untilAnswered(socket.ev, message.id, done.signal);
  try {
    await socket.sendNode(encryptMediaRetryRequest({ ...message, fromMe: false }, mediaKey, ownJid));
    const update = await within(clock, timeoutMs, answer);
    if (!update)
      throw gone('The phone was asked to upload the file of the message again and did not answer.');
    if (!update.media) throw gone('The phone no longer has the file of the message.');
    const { result, directPath } = decryptMediaRetryData(update.media, mediaKey, message.id);
    if (result !== proto.MediaRetryNotification.ResultType.SUCCESS || !directPath?.startsWith('/')) {
      throw gone('The phone could not upload the file of the message again.');
    }
    return changeReference(reference, { path: directPath });
  } catch (error) {
    if (error instanceof MediaError) throw error;
    throw gone('The file of the message could not be requested from the phone.', error);
  } finally {
    done.abort();
  }
}

type MediaUpdate = BaileysEventMap['messages.media-update'][number];

function untilAnswered(ev: WASocket['ev'], id: string, signal: AbortSignal): Promise<MediaUpdate> {
  return new Promise((resolve) => {
    const listener = (updates: MediaUpdate[]) => {
      const update = updates.find(({ key }) => key.id === id);
      if (update) resolve(update);
    };
    ev.on('messages.media-update', listener);
    signal.addEventListener('abort', () => ev.off('messages.media-update', listener), { once: true });
  });
}

function gone(sentence: string, cause?: unknown): MediaError {
  return new MediaError('MEDIA_GONE', sentence, { cause });
}
