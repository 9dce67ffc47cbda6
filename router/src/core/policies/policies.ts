import { type AutoReplyLoopDeps, autoReplyLoopPolicy } from './auto-reply-loop.ts';
import type { ChatPolicy } from './policy.ts';
import { type TypingDeps, typingPolicy } from './typing.ts';

/** The policies of every turn, in the order of their evaluation. A new policy is one file and one line here. */
export function chatPolicies(deps: AutoReplyLoopDeps & TypingDeps): ChatPolicy[] {
  return [autoReplyLoopPolicy(deps), typingPolicy(deps)];
}
