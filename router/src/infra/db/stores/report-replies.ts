import type { Changes } from '../../../core/live/changes.ts';
import type { QueuedReply } from '../../../core/turns/turn.ts';

/** Reports replies that were stored to be sent. */
export function reportReplies(
  changes: Pick<Changes, 'isWanted' | 'report'>,
  replies: readonly QueuedReply[],
): void {
  if (!changes.isWanted) return;
  for (const { outboxId, chatId, messageId, message } of replies) {
    const { accountId } = message;
    changes.report({ type: 'reply', accountId, chatId, id: outboxId, messageId, state: 'queued' });
  }
}
