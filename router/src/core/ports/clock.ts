/** Time for core: wall time in epoch milliseconds and a wait that a test can advance. */
export interface Clock {
  now(): number;
  /** Resolves after `ms`, or rejects with the signal's reason. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
