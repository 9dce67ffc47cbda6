/**
 * Points in the processing of a message at which a crash test can end the process, in their order:
 *
 * - `after-decrypt` the plaintext is known, neither it nor the ratchet's step is stored
 * - `after-journal` both are stored, no delivery receipt is sent
 * - `after-receipt` the delivery receipt is written
 * - `after-inbox-commit` the inbox has the message, its turn is not started
 * - `in-agent-call` the request was sent, the agent has not answered
 * - `after-outbox-write` the reply is stored, nothing is sent
 * - `after-socket-write` the reply's bytes are written, its row does not say so
 * - `before-ack-recorded` WhatsApp's ack came, its row does not say so
 */
export const FAULT_POINTS = [
  'after-decrypt',
  'after-journal',
  'after-receipt',
  'after-inbox-commit',
  'in-agent-call',
  'after-outbox-write',
  'after-socket-write',
  'before-ack-recorded',
] as const;

export type FaultPoint = (typeof FAULT_POINTS)[number];

/** The process ends when it reaches `point` for the `pass`-th time, counted from 1. */
export interface FaultPlan {
  point: FaultPoint;
  pass: number;
}
