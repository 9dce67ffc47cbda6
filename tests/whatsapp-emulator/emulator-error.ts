/** Thrown when a test or an actor asks the emulator for something it cannot do; the message names it. */
export class EmulatorError extends Error {
  override readonly name = 'EmulatorError';
}
