/** Thrown when a test or an actor requests something impossible; the message names it. */
export class EmulatorError extends Error {
  override readonly name = 'EmulatorError';
}
