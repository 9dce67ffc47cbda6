import type { ReplyFile } from '../models.ts';
import type { VoiceSettings } from '../policies/voice-fields.ts';

/** Voice messages of texts. */
export interface Speech {
  /**
   * The text as a voice message, Opus in OGG.
   * @throws {AgentUnavailableError} {AgentProtocolError} the server made none · {FileRefusedError} its sound cannot be sent
   * @throws the signal's reason when it aborts
   */
  voiceNoteOf(text: string, settings: VoiceSettings, signal: AbortSignal | undefined): Promise<ReplyFile>;
}
