/** Notes what this process works on, for the log of one that hangs. */
export interface CurrentWork {
  /**
   * The work that continues now, such as `message 17`; until the next call. Costs about a microsecond: call it whenever work
   * continues that may take long without a pause. Never throws.
   */
  workingOn(name: string): void;
}
