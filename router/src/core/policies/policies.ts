import { accessPolicy } from './access.ts';
import { autoReplyLoopPolicy } from './auto-reply-loop.ts';
import { groupPolicy } from './group.ts';
import { pacePolicy } from './pace.ts';
import { pausedChatPolicy } from './paused-chat.ts';
import type { ChatPolicy } from './policy.ts';
import { presencePolicy } from './presence.ts';
import { quotaPolicy } from './quota.ts';
import { slowAnswerPolicy } from './slow-answer.ts';
import { typingPolicy } from './typing.ts';

/** The policies of every turn, in the order of their evaluation. A new policy is one file and one line here. */
const POLICIES = [
  groupPolicy,
  accessPolicy,
  pausedChatPolicy,
  pacePolicy,
  quotaPolicy,
  autoReplyLoopPolicy,
  presencePolicy,
  typingPolicy,
  slowAnswerPolicy,
];

/** What the policies need together. */
type PolicyDeps = (typeof POLICIES)[number] extends (deps: infer Deps) => ChatPolicy ? Deps : never;

export function chatPolicies(deps: PolicyDeps): ChatPolicy[] {
  return POLICIES.map((policy) => policy(deps));
}
