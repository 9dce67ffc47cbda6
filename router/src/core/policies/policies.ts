import { autoReplyLoopPolicy } from './auto-reply-loop.ts';
import { pausedChatPolicy } from './paused-chat.ts';
import type { ChatPolicy } from './policy.ts';
import { typingPolicy } from './typing.ts';

/** The policies of every turn, in the order of their evaluation. A new policy is one file and one line here. */
const POLICIES = [pausedChatPolicy, autoReplyLoopPolicy, typingPolicy];

/** What the policies need together. */
type PolicyDeps = (typeof POLICIES)[number] extends (deps: infer Deps) => ChatPolicy ? Deps : never;

export function chatPolicies(deps: PolicyDeps): ChatPolicy[] {
  return POLICIES.map((policy) => policy(deps));
}
