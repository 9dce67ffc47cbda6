import type { ConversationSettings } from '../../router/src/core/policies/conversation-fields.ts';
import type { ChatPolicy, Decision, TurnView } from '../../router/src/core/policies/policy.ts';
import { chatSettingsOf } from '../../router/src/core/policies/settings.ts';
import type { PendingTurn } from '../../router/src/core/turns/turn.ts';
import { quietLog } from './quiet-log.ts';

/** A turn at time 0, with the parts that a policy reads, and the settings of its route. */
export function turnView(turn: Partial<PendingTurn>, settings: ConversationSettings = {}): TurnView {
  return {
    turn: turn as PendingTurn,
    route: { id: 'r', channelId: '*' },
    conversation: chatSettingsOf(undefined, settings),
    language: 'en',
    nowMs: 0,
  };
}

/** What a policy decides before the agent is called. */
export async function decisionOf(policy: ChatPolicy, view: TurnView): Promise<Decision> {
  if (!policy.before) throw new Error(`the policy ${policy.name} decides nothing`);
  return policy.before(view, quietLog);
}
