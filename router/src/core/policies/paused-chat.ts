import type { ChatPolicy } from './policy.ts';

/** Ends the turns of a paused chat without an answer (reason `chat-paused`). */
export function pausedChatPolicy(): ChatPolicy {
  return {
    before: async ({ isPaused }) => {
      if (!isPaused) return undefined;
      const sentence = 'The chat was paused when the message had its turn.';
      return { reason: 'chat-paused', step: { step: 'pause', outcome: 'stopped', sentence } };
    },
  };
}
