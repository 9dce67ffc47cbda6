/** Time for core, and a wait that a test can advance. */
export interface Clock {
  /**
   * Wall time in epoch milliseconds. It jumps, hours forward or back, when the machine's clock is set: for times that
   * people see and dates from other systems, never for durations.
   */
  now(): number;
  /** Milliseconds since an arbitrary moment; never jumps and never goes back. For durations, limits and ages. */
  monotonicMs(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
