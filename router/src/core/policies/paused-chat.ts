import { say } from '../phrases.ts';
import type { PendingTurn } from '../turns/turn.ts';
import { type ChatPolicy, CONTINUE, type Decision } from './policy.ts';

/** Ends the turns of a paused chat without an answer (reason `chat-paused`). */
export function pausedChatPolicy(): ChatPolicy {
  return { name: 'pause', before: async ({ turn }) => decidePause(turn) };
}

/**
 * Whether the chat was paused when the message had its turn. The agent gets the message with a later one. Where the owner
 * approves answers the turn continues, and its answer is a draft. Pure.
 */
export function decidePause({
  isPaused,
  isApproving,
  receivedAtMs,
}: Pick<PendingTurn, 'isPaused' | 'isApproving' | 'receivedAtMs'>): Decision {
  if (isApproving) {
    const sentence = say('draft.waits');
    return { kind: 'continue', step: { step: 'pause', outcome: 'approve', ...sentence } };
  }
  if (!isPaused) return CONTINUE;
  const sentence = say('chat.was-paused');
  const step = { step: 'pause', outcome: 'stopped', ...sentence };
  return { kind: 'end', reason: 'chat-paused', step, patch: { contextMs: receivedAtMs } };
}
