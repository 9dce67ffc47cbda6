/** Makes voice notes of sounds. */
export interface VoiceEncoder {
  /**
   * A sound in any usual format → Opus in OGG, one channel.
   * @throws {FileRefusedError} there is no encoder on this machine, or it cannot read the sound in time
   * @throws the signal's reason when `signal` aborts
   */
  encode(bytes: Uint8Array, signal?: AbortSignal): Promise<Uint8Array>;
}
