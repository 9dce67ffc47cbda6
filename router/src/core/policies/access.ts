import { canonicalChannelId, writtenForms } from '../chat-id.ts';
import type { OwnerEffect, TurnReason } from '../messages/inbound-message.ts';
import { type Said, say } from '../phrases.ts';
import type { TextMatcher } from '../ports/converters.ts';
import type { PendingTurn } from '../turns/turn.ts';
import { type ChatState, withEntry } from './chat-state.ts';
import { type ChatPolicy, CONTINUE, type Decision } from './policy.ts';
import type { ChatSettings } from './settings.ts';
import { type Language, textOf } from './texts.ts';

/** The reason of messages that wait for the owner. */
export const ACCESS_PENDING = 'access-pending';

/** Answers the people whom the settings or the owner allow (reasons `access-…`). */
export function accessPolicy(): ChatPolicy {
  return { name: 'access', before: async ({ turn, conversation: { access } }) => decideAccess(turn, access) };
}

/** Whether the person, or the group, gets answers. Pure. */
function decideAccess(
  { message, channelIds, access }: Pick<PendingTurn, 'message' | 'channelIds' | 'access'>,
  { people, list, askText }: ChatSettings['access'],
): Decision {
  if (people === 'everyone') return CONTINUE;
  const step = (outcome: string, sentence: Said) => ({ step: 'access', outcome, ...sentence });
  const writer = [canonicalChannelId(message.from), message.fromLid].filter((id) => id !== undefined);
  const addresses = writtenForms([...channelIds, ...writer]);
  if (list.some((listed) => addresses.includes(canonicalChannelId(listed) ?? ''))) {
    return { kind: 'continue', step: step('listed', say('access.listed')) };
  }
  const end = (reason: TurnReason, sentence: Said) => ({
    kind: 'end' as const,
    reason,
    step: step('stopped', sentence),
  });
  if (people === 'listed') {
    return end('access-not-listed', say('access.not-listed'));
  }
  if (access === 'approved') {
    return { kind: 'continue', step: step('approved', say('access.approved')) };
  }
  if (access === 'refused') return end('access-refused', say('access.refused'));
  const waiting = end(ACCESS_PENDING, say('access.waits'));
  if (access === 'pending') return waiting;
  return { ...waiting, asksOwner: true, ...(askText !== undefined && { say: askText }) };
}

/** A message in a group that neither mentions the account, nor replies to it, nor matches a pattern. */
export const NOT_ADDRESSED = 'group-not-addressed';

/** Somebody joined or left a group, or changed its admins or its name. */
export const GROUP_EVENT = 'group-event';

/** Which messages in groups are answered (reasons `group-not-addressed`, `group-never`). */
export function groupPolicy({ matcher }: { matcher: TextMatcher }): ChatPolicy {
  return {
    name: 'group',
    before: async ({ turn, conversation: { group } }) => {
      const decision = decideGroup(turn, group);
      if (decision.kind === 'continue' || group.answer === 'never') return decision;
      for (const pattern of group.patterns) {
        if ((await matcher.test(pattern, turn.message.text)) === 'match')
          return decideGroup(turn, group, pattern);
      }
      return decision;
    },
  };
}

/**
 * Whether a message is answered, by who it is addressed to. Pure.
 * @param matched the pattern that its text matches
 */
function decideGroup(
  { message, toUs }: Pick<PendingTurn, 'message' | 'toUs'>,
  { answer }: Pick<ChatSettings['group'], 'answer'>,
  matched?: string,
): Decision {
  if (!message.isGroup || answer === 'always') return CONTINUE;
  const step = (outcome: string, sentence: Said) => ({ step: 'group', outcome, ...sentence });
  if (answer === 'never') {
    return {
      kind: 'end',
      reason: 'group-never',
      step: step('stopped', say('group.never')),
    };
  }
  if (matched !== undefined) {
    return { kind: 'continue', step: step('addressed', say('group.pattern')) };
  }
  if (toUs) {
    const sentence = toUs === 'quote' ? say('group.quotes-us') : say('when.mentioned');
    return { kind: 'continue', step: step('addressed', sentence) };
  }
  const sentence = say('group.not-addressed');
  return { kind: 'end', reason: NOT_ADDRESSED, step: step('stopped', sentence) };
}

/** How many messages of one person are answered in a time (reason `quota-exceeded`). */
export function quotaPolicy(): ChatPolicy {
  return {
    name: 'quota',
    before: async ({ turn, conversation, language, nowMs }) =>
      decideQuota(turn.sender, turn.chatState ?? {}, conversation, language, nowMs),
  };
}

/**
 * Counts a message of a person. The first one above the limit gets a notice, further ones in the same window nothing. Pure.
 */
function decideQuota(
  sender: string,
  state: ChatState,
  { quota: { messages, perMinutes, text }, texts }: Pick<ChatSettings, 'quota' | 'texts'>,
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
  return {
    ...end,
    say: text ?? textOf('quota', language, texts, { minutes }),
    patch: patch({ isSaid: true }),
  };
}

/** Ends the turns of a paused chat without an answer (reason `chat-paused`). */
export function pausedChatPolicy(): ChatPolicy {
  return { name: 'pause', before: async ({ turn }) => decidePause(turn) };
}

/**
 * Whether the chat was paused when the message had its turn. The agent gets the message with a later one. Where the owner
 * approves answers the turn continues, and its answer is a draft. Pure.
 */
function decidePause({
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

/** What a message that the owner writes in a chat does to the chat; undefined: nothing. Pure. */
export function ownerEffectOf(
  text: string,
  { takeover }: Pick<ChatSettings, 'takeover'>,
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
