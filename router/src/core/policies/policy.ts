import type { Logger } from '../ports/logger.ts';
import type { PendingTurn } from '../turns/turn.ts';

/** Why a policy ends a turn without an answer: the stored reason, and a step for the message's trace. */
export interface PolicyStop {
  reason: string;
  step: { step: string; outcome: string; sentence: string };
}

/** A rule of how wa2ai converses in a chat. A policy is made once and sees every turn. */
export interface ChatPolicy {
  /**
   * Evaluated when a message has a route, before its agent is called; the first policy that returns a stop ends the turn.
   * @throws {StorageUnavailableError} the turn is repeated
   */
  before?(turn: PendingTurn, log: Logger): Promise<PolicyStop | undefined>;
  /** Runs around the agent's work. Must call `work` exactly once and return what it returns. */
  during?<T>(turn: PendingTurn, work: () => Promise<T>): Promise<T>;
}
