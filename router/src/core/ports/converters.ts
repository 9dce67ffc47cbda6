import type { ReplyFile } from '../models.ts';
import type { TranscribeSettings, VoiceSettings } from '../policies/conversation-fields.ts';
import type { PendingTurn } from '../turns/turn.ts';

/** Voice messages of texts. */
export interface Speech {
  /**
   * The text as a voice message, Opus in OGG.
   * @throws {AgentUnavailableError} {AgentProtocolError} the server made none · {FileRefusedError} its sound cannot be sent
   * @throws the signal's reason when it aborts
   */
  voiceNoteOf(text: string, settings: VoiceSettings, signal: AbortSignal | undefined): Promise<ReplyFile>;
}

/** Texts of voice messages. */
export interface Transcripts {
  /**
   * The words of the turn's voice message; `` when nobody speaks in it.
   * @throws {MediaError} the file could not be loaded · {AgentUnavailableError} {AgentProtocolError} there is no transcript
   * @throws {StorageUnavailableError} · the signal's reason
   */
  textOf(turn: PendingTurn, settings: TranscribeSettings, signal: AbortSignal): Promise<string>;
}

/** Makes voice notes of sounds. */
export interface VoiceEncoder {
  /**
   * A sound in any usual format → Opus in OGG, one channel.
   * @throws {FileRefusedError} there is no encoder on this machine, or it cannot read the sound in time
   * @throws the signal's reason when `signal` aborts
   */
  encode(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
}

/**
 * Matches ECMAScript patterns away from the event loop, under a time budget. Never throws for a pattern or a text:
 * `timeout` is a result (the route does not match, with that reason in the trace).
 */
export interface TextMatcher {
  test(pattern: string, text: string): Promise<'match' | 'no-match' | 'timeout' | 'invalid'>;
}

/** How the text of an agent is written for a chat: in WhatsApp's marks, without marks, or unchanged. */
type ReplyFormat = 'whatsapp' | 'plain' | 'as-is';

/**
 * Converts Markdown for a chat. A text without Markdown comes back unchanged, and so does a result. Must not throw: what is
 * not understood stays as it is.
 */
export type FormatReply = (markdown: string, format: ReplyFormat) => string;

/** Recognizes the language of a text. Never throws for a text. */
export interface LanguageDetector {
  /** ISO 639-1 code (`es`), one of `LANGUAGE_CODES`; undefined when it is not known. */
  languageOf(text: string): Promise<string | undefined>;
}
