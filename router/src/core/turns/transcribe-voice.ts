import { isRetryable, StorageUnavailableError, Wa2aiError } from '../errors.ts';
import type { TranscribeSettings } from '../policies/media-fields.ts';
import type { PolicyStep } from '../policies/policy.ts';
import type { Logger } from '../ports/logger.ts';
import type { Transcripts } from '../ports/transcripts.ts';
import type { PendingTurn } from './turn.ts';

export interface TranscribeDeps {
  /** Absent: voice messages stay files. */
  transcripts?: Transcripts;
  stopping: AbortSignal;
  log: Logger;
}

/** The turn with the words of its voice message as the text, and what was done, for the trace. */
export interface Transcribed {
  turn: PendingTurn;
  step?: PolicyStep;
}

/**
 * Turns a voice message without a text into text, after the texts that were merged with it. Without a transcript the message goes on as a file.
 * @param settings absent: nothing is done
 * @throws {StorageUnavailableError} the turn is repeated · the stopping signal's reason
 */
export async function transcribeVoice(
  { transcripts, stopping, log }: TranscribeDeps,
  turn: PendingTurn,
  settings: TranscribeSettings | undefined,
): Promise<Transcribed> {
  const { message, merged } = turn;
  if (!settings || !transcripts || message.media?.kind !== 'voice') return { turn };
  if (message.text !== '' && !merged) return { turn };
  const step = (outcome: string, sentence: string) => ({ step: 'transcribe', outcome, sentence });
  try {
    const text = await transcripts.textOf(turn, settings, stopping);
    if (text === '') return { turn, step: step('empty', 'The transcript of the voice message is empty.') };
    const isTranscript = message.text === '';
    const words = isTranscript ? { text, isTranscript } : { text: `${message.text}\n${text}` };
    const said: PendingTurn = { ...turn, message: { ...message, ...words } };
    return { turn: said, step: step('transcribed', 'The voice message was turned into text.') };
  } catch (error) {
    stopping.throwIfAborted();
    if (error instanceof StorageUnavailableError || !(error instanceof Wa2aiError)) throw error;
    log.warn({ err: error, isRetryable: isRetryable(error) }, 'voice message not transcribed');
    return { turn, step: step('failed', error.message) };
  }
}
