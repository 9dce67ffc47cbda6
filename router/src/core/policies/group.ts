import { type Said, say } from '../phrases.ts';
import type { TextMatcher } from '../ports/text-matcher.ts';
import type { PendingTurn } from '../turns/turn.ts';
import { type ChatPolicy, CONTINUE, type Decision } from './policy.ts';
import type { Conversation } from './settings.ts';

/** A message in a group that neither mentions the account, nor replies to it, nor matches a pattern. */
export const NOT_ADDRESSED = 'group-not-addressed';

/** Somebody joined or left a group, or changed its admins or its name. */
export const GROUP_EVENT = 'group-event';

/** Reasons of messages that the agent did not get: they go along as context with the next one that it gets. */
export const CONTEXT_REASONS = [NOT_ADDRESSED, GROUP_EVENT] as const;

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
export function decideGroup(
  { message, toUs }: Pick<PendingTurn, 'message' | 'toUs'>,
  { answer }: Pick<Conversation['group'], 'answer'>,
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
