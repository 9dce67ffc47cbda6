import { isRetryable, StorageUnavailableError, Wa2aiError } from '../errors.ts';
import type { TraceStep } from '../messages/inbound-message.ts';
import type { NoTranscript } from '../models.ts';
import { say } from '../phrases.ts';
import type { TranscribeSettings } from '../policies/media-fields.ts';
import type { Inbox } from '../ports/inbox.ts';
import type { Logger } from '../ports/logger.ts';
import type { Transcripts } from '../ports/transcripts.ts';
import type { PendingTurn } from './turn.ts';

export interface TranscribeDeps {
  /** Absent: voice messages stay files. */
  transcripts?: Transcripts;
  inbox: Pick<Inbox, 'saveTranscript'>;
  stopping: AbortSignal;
  log: Logger;
}

/** The turn with the words of its voice message as the text, and what was done, for the trace. */
export interface Transcribed {
  turn: PendingTurn;
  step?: TraceStep;
}

const NOBODY_SPEAKS: NoTranscript = {
  outcome: 'empty',
  ...say('transcript.empty'),
};

/**
 * Turns a voice message without a text into text, after the texts that were merged with it. Without a transcript the message
 * goes on as a file. The result is stored, also that there is none: a turn that starts again asks for nothing.
 * @param settings absent: nothing is done
 * @throws {StorageUnavailableError} the turn is repeated · the stopping signal's reason
 */
export async function transcribeVoice(
  deps: TranscribeDeps,
  turn: PendingTurn,
  settings: TranscribeSettings | undefined,
): Promise<Transcribed> {
  const { message, merged } = turn;
  if (message.media?.kind !== 'voice') return { turn };
  if (message.isTranscript) return { turn, step: transcribed() };
  if (message.noTranscript) return { turn, step: { step: 'transcribe', ...message.noTranscript } };
  if (!settings || !deps.transcripts || (message.text !== '' && !merged)) return { turn };
  const result = await resultOf(deps, deps.transcripts, turn, settings);
  await deps.inbox.saveTranscript(turn.messageId, result);
  if (!('text' in result)) {
    const noTranscript = result;
    const step = { step: 'transcribe', ...noTranscript };
    return { turn: { ...turn, message: { ...message, noTranscript } }, step };
  }
  const text = message.text === '' ? result.text : `${message.text}\n${result.text}`;
  return { turn: { ...turn, message: { ...message, text, isTranscript: true } }, step: transcribed() };
}

async function resultOf(
  { stopping, log }: TranscribeDeps,
  transcripts: Transcripts,
  turn: PendingTurn,
  settings: TranscribeSettings,
): Promise<{ text: string } | NoTranscript> {
  try {
    const text = await transcripts.textOf(turn, settings, stopping);
    return text === '' ? NOBODY_SPEAKS : { text };
  } catch (error) {
    stopping.throwIfAborted();
    if (error instanceof StorageUnavailableError || !(error instanceof Wa2aiError)) throw error;
    log.warn({ err: error, isRetryable: isRetryable(error) }, 'voice message not transcribed');
    return { outcome: 'failed', ...error.said };
  }
}

function transcribed(): TraceStep {
  return {
    step: 'transcribe',
    outcome: 'transcribed',
    ...say('transcript.made'),
  };
}
