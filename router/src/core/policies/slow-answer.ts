import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import { noticeOf } from './notices.ts';
import type { ChatPolicy } from './policy.ts';

interface SlowAnswerDeps {
  clock: Clock;
  /** Stores a message to the chat and starts its delivery; the same key stores it once. */
  say(chat: { accountId: string; to: string }, text: string, key: string): Promise<void>;
  noticeLog: Logger;
}

/** Says that the answer is on its way when the agent takes long. A failure to say it never reaches the turn. */
export function slowAnswerPolicy({ clock, say, noticeLog }: SlowAnswerDeps): ChatPolicy {
  return {
    name: 'slow-answer',
    during: async ({ turn, conversation, language, state, hasSpoken }, work, patch) => {
      const { notices } = conversation;
      if (notices.slow === false) return work();
      const ended = new AbortController();
      const sayIt = async () => {
        try {
          await clock.sleep(notices.slowAfterMs, ended.signal);
        } catch {
          return; // the work has ended
        }
        if (hasSpoken?.()) return;
        const notice = noticeOf('slow', state, conversation, language, clock.now());
        if (!notice) return;
        try {
          const { accountId, replyTo: to, messageId } = turn;
          await say({ accountId, to }, notice.text, `slow-${messageId}`);
          patch(notice.patch);
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
