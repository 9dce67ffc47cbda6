import { accessPolicy, groupPolicy, pausedChatPolicy, quotaPolicy } from './access.ts';
import { autoReplyLoopPolicy } from './auto-reply-loop.ts';
import { pacePolicy } from './pace.ts';
import type { ChatPolicy } from './policy.ts';
import { presencePolicy, slowAnswerPolicy, typingPolicy } from './presence.ts';

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
