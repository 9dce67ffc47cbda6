import type { OwnerEffect } from '../messages/inbound-message.ts';
import type { ChatState } from './chat-state.ts';
import type { Conversation } from './settings.ts';

/** Reasons of messages that go along with the next one after a pause. */
export const PAUSE_CONTEXT_REASONS = ['chat-paused', 'owner-message'] as const;

/** What a message that the owner writes in a chat does to the chat; undefined: nothing. Pure. */
export function ownerEffectOf(
  text: string,
  { takeover }: Pick<Conversation, 'takeover'>,
): OwnerEffect | undefined {
  const command = /^\s*#(pause|resume)(?:\s+(\d{1,5}))?\s*$/i.exec(text);
  if (command?.[1]?.toLowerCase() === 'resume') return { kind: 'resume' };
  if (command) {
    const minutes = Number(command[2] ?? 0);
    return { kind: 'pause', ...(minutes > 0 && { forMs: minutes * 60_000 }) };
  }
  return takeover.minutes > 0 ? { kind: 'takeover', forMs: takeover.minutes * 60_000 } : undefined;
}

/** Whether the agent did not get messages of a pause, or the owner's, since its last answer. Pure. */
export function hasPauseContext({ contextMs = 0, contextTakenMs = 0 }: ChatState = {}): boolean {
  return contextMs > contextTakenMs;
}
