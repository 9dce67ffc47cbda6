import { say } from '../phrases.ts';
import { type ChatState, withEntry } from './chat-state.ts';
import { type ChatPolicy, CONTINUE, type Decision } from './policy.ts';
import type { Conversation } from './settings.ts';
import { type Language, textOf } from './texts.ts';

/** How many messages of one person are answered in a time (reason `quota-exceeded`). */
export function quotaPolicy(): ChatPolicy {
  return {
    name: 'quota',
    before: async ({ turn, conversation, language, nowMs }) =>
      decideQuota(turn.sender, turn.chatState ?? {}, conversation.quota, language, nowMs),
  };
}

/**
 * Counts a message of a person. The first one above the limit gets a notice, further ones in the same window nothing. Pure.
 */
export function decideQuota(
  sender: string,
  state: ChatState,
  { messages, perMinutes, text }: Conversation['quota'],
  language: Language,
  nowMs: number,
): Decision {
  if (messages === 0) return CONTINUE;
  const windowMs = perMinutes * 60_000;
  const stored = state.quotas?.[sender];
  const isCurrent = stored !== undefined && nowMs >= stored.startMs && nowMs - stored.startMs < windowMs;
  const window = isCurrent ? stored : { startMs: nowMs, count: 0 };
  const patch = (change: object) => ({ quotas: withEntry(state.quotas, sender, { ...window, ...change }) });
  if (window.count < messages) return { kind: 'continue', patch: patch({ count: window.count + 1 }) };
  const sentence = say('quota.exceeded', { messages, minutes: perMinutes });
  const step = { step: 'quota', outcome: 'stopped', ...sentence };
  const end = { kind: 'end' as const, reason: 'quota-exceeded' as const, step };
  if (stored?.isSaid) return end;
  const minutes = Math.max(1, Math.ceil((window.startMs + windowMs - nowMs) / 60_000));
  return { ...end, say: text ?? textOf('quota', language, { minutes }), patch: patch({ isSaid: true }) };
}
