import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { ChatPolicy } from './policy.ts';
import { textOf } from './texts.ts';

interface SlowAnswerDeps {
  clock: Clock;
  /** Stores a message to the chat and starts its delivery; the same key stores it once. */
  say(chat: { accountId: string; to: string }, text: string, key: string): Promise<void>;
  noticeLog: Logger;
}

/**
 * Says once for each question that the answer is on its way when the agent takes long, or that the agent cannot be reached.
 * Where the owner approves answers nothing is promised. A failure to say it never reaches the turn.
 */
export function slowAnswerPolicy({ clock, say, noticeLog }: SlowAnswerDeps): ChatPolicy {
  return {
    name: 'slow-answer',
    during: async ({ turn, conversation, language, hasSentParts, isUnreachable, onPromise }, work) => {
      const { notices } = conversation;
      if (notices.slow === false || turn.isApproving) return work();
      const ended = new AbortController();
      const sayIt = async () => {
        try {
          await clock.sleep(notices.slowAfterMs, ended.signal);
        } catch {
          return; // the work has ended
        }
        if (hasSentParts?.()) return;
        // The text of the settings speaks of an answer that comes.
        const own = typeof notices.slow === 'string' ? notices.slow : textOf('slow', language);
        const text = isUnreachable?.() ? textOf('unreachable', language) : own;
        try {
          const { accountId, replyTo: to, messageId } = turn;
          await say({ accountId, to }, text, `slow-${messageId}`);
          onPromise?.();
        } catch (error) {
          noticeLog.warn({ err: error, messageId: turn.messageId }, 'notice of a slow answer not sent');
        }
      };
      const said = sayIt();
      try {
        return await work();
      } finally {
        ended.abort();
        await said;
      }
    },
  };
}
