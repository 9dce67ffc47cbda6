/** A part of the service: what other parts use of it, and how it starts and stops. */
export interface Part<Parts> {
  readonly parts: Parts;
  start(): Promise<void>;
  /** Called once, also when `start` failed. */
  stop(): Promise<void>;
}
