import type { Logger } from '../logger.ts';
import type { TraceStep, TurnReason } from '../messages/inbound-message.ts';
import type { Route } from '../models.ts';
import type { LoopChange, PendingTurn } from '../turns/turn.ts';
import type { ChatState } from './chat-state.ts';
import type { ChatSettings } from './settings.ts';
import type { Language } from './texts.ts';

/**
 * What a policy decides about a turn; `patch` has the parts of the chat's state that change when the turn ends, `turn` the
 * turn with further messages of the chat in it.
 */
export type Decision =
  | { kind: 'continue'; step?: TraceStep; patch?: ChatState; loop?: LoopChange; turn?: PendingTurn }
  /** The turn is decided about again at this time, or when something changes in the chat before. */
  | { kind: 'wait'; untilMs: number; step: TraceStep; patch?: undefined }
  /** The turn ends without the agent, for this stored reason. `say`: the chat gets this text. */
  | {
      kind: 'end';
      reason: TurnReason;
      step: TraceStep;
      say?: string;
      patch?: ChatState;
      /** The owner is asked whether the chat gets answers. */
      asksOwner?: true;
      turn?: PendingTurn;
      loop?: LoopChange;
    };

/** The turn that policies decide about: a message that has a route. */
export interface TurnView {
  turn: PendingTurn;
  route: Pick<Route, 'id' | 'channelId'>;
  conversation: ChatSettings;
  /** Of the texts that wa2ai itself sends to the person. */
  language: Language;
  nowMs: number;
  /** Whether the chat has a part of the answer that the agent is writing. */
  hasSentParts?(): boolean;
  /** Whether the last attempt could not reach the agent. */
  isUnreachable?(): boolean;
  /** The chat read that an answer comes: the turn must not end without a text. */
  onPromise?(): void;
}

/** How the agent's work ended. */
export interface WorkEnd {
  kind: 'answer' | 'fallback-text' | 'failed';
}

/** A rule of how wa2ai converses in a chat. A policy is made once and sees every turn. */
export interface ChatPolicy {
  /** As its steps name it. */
  name: string;
  /**
   * Changes nothing itself: what a decision has as an effect is done when the turn ends. Evaluated when a message has a route, before its agent is called; the first policy that ends the turn is the last one.
   * @throws {StorageUnavailableError} the turn is repeated
   */
  before?(view: TurnView, log: Logger): Promise<Decision>;
  /** Called once the policies have let the message pass, with the effects that nobody waits for; must not throw. */
  started?(view: TurnView): void;
  /**
   * Something was stored for the chat while the agent works: whether its call ends and the turn starts again.
   * @throws {StorageUnavailableError} the call goes on
   */
  interrupts?(view: TurnView): Promise<boolean>;
  /**
   * Runs around the agent's work. Must call `work` exactly once and return what it returns.
   * @param patch changes parts of the chat's state when the turn ends
   */
  during?<T extends WorkEnd>(
    view: TurnView & { state: ChatState },
    work: () => Promise<T>,
    patch: (change: ChatState) => void,
  ): Promise<T>;
}

export const CONTINUE: Decision = { kind: 'continue' };
