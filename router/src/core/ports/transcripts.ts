import type { TranscribeSettings } from '../policies/media-fields.ts';
import type { PendingTurn } from '../turns/turn.ts';

/** Texts of voice messages. */
export interface Transcripts {
  /**
   * The words of the turn's voice message; `` when nobody speaks in it.
   * @throws {MediaError} the file could not be loaded · {AgentUnavailableError} {AgentProtocolError} there is no transcript
   * @throws {StorageUnavailableError} · the signal's reason
   */
  textOf(turn: PendingTurn, settings: TranscribeSettings, signal: AbortSignal): Promise<string>;
}
