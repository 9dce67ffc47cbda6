import { z } from 'zod';
import type { Clock } from '../clock.ts';
import { type NodeBus, nodeMessage } from '../cluster/node-bus.ts';
import type { Logger } from '../logger.ts';
import type { MessageKey } from '../models.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { PendingTurn } from '../turns/turn.ts';
import type { Reactions } from './conversation-fields.ts';
import type { ChatPolicy } from './policy.ts';
import { textOf } from './texts.ts';

/** After a restart, a turn may end before its account is connected again: the last reaction is then sent later. */
const REACT_AGAIN_AFTER_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

/** The node that runs the account marks a message as read, or reacts to it. */
export const presenceWanted = nodeMessage('presence', {
  accountId: z.string(),
  key: z.object({
    chat: z.string(),
    waMessageId: z.string(),
    from: z.string(),
    fromLid: z.string().optional(),
  }),
  emoji: z.string().optional(),
});

/** The node that runs the account shows or hides "typing...". */
export const typingWanted = nodeMessage('typing', {
  accountId: z.string(),
  to: z.string(),
  isTyping: z.boolean(),
});

interface PresenceDeps {
  clock: Pick<Clock, 'sleep'>;
  /** The accounts of this node. */
  accounts: { provider(accountId: string): Pick<ChatProvider, 'markRead' | 'react'> | undefined };
  /** For accounts of other nodes. */
  bus: Pick<NodeBus, 'publish'>;
}

/**
 * Blue ticks when a turn begins, and reactions on its message while its agent works and afterwards. Best effort: nothing
 * of it is awaited, and no failure reaches the turn.
 */
export function presencePolicy({ clock, accounts, bus }: PresenceDeps): ChatPolicy {
  const markRead = async (turn: PendingTurn) => {
    const { accountId } = turn;
    const provider = accounts.provider(accountId);
    for (const key of keysOf(turn)) {
      if (provider) await provider.markRead(key);
      else bus.publish(presenceWanted({ accountId, key }));
    }
  };
  /** Sends a reaction, or again while the account is not connected and `isLast` says so. */
  const react = async (turn: PendingTurn, emoji: string, isLast: () => boolean) => {
    const { accountId } = turn;
    const key = keyOf(turn);
    if (!accounts.provider(accountId)) bus.publish(presenceWanted({ accountId, key, emoji }));
    for (const waitMs of REACT_AGAIN_AFTER_MS) {
      if (await accounts.provider(accountId)?.react(key, emoji)) return;
      await clock.sleep(waitMs);
      if (!isLast()) return;
    }
  };
  return {
    name: 'presence',
    started: ({ turn, conversation }) => {
      if (conversation.presence.readReceipts === 'on-turn') void markRead(turn).catch(() => undefined);
    },
    during: async ({ turn, conversation: { presence } }, work) => {
      const { reactions } = presence;
      let shown = Promise.resolve();
      let last = 0;
      const show = (emoji: string | undefined) => {
        if (emoji === undefined) return;
        last += 1;
        const number = last;
        // One after the other: the last one stays.
        shown = shown.then(() => react(turn, emoji, () => number === last)).catch(() => undefined);
      };
      show(reactions.working);
      try {
        const end = await work();
        show(reactionAfter(reactions, end.kind === 'answer' ? 'done' : 'failed'));
        return end;
      } catch (error) {
        show(reactionAfter(reactions, 'interrupted'));
        throw error;
      }
    },
  };
}

/** The reaction that replaces that of the work, `` to remove it; undefined: nothing changes. Pure. */
function reactionAfter(reactions: Reactions, end: 'done' | 'failed' | 'interrupted'): string | undefined {
  const { working, done, failed } = reactions;
  const after = { done, failed, interrupted: undefined }[end];
  return after ?? (working === undefined ? undefined : '');
}

function keyOf({ message, bubbleId, replyTo }: PendingTurn): MessageKey {
  const { id, from, fromLid } = message;
  return { chat: replyTo, waMessageId: bubbleId ?? id, from, ...(fromLid !== undefined && { fromLid }) };
}

/** Of all messages of a turn, which are of one person. */
function keysOf(turn: PendingTurn): MessageKey[] {
  const last = keyOf(turn);
  return [...(turn.merged ?? []).map(({ bubbleId }) => ({ ...last, waMessageId: bubbleId })), last];
}

/** Agents that answer faster than this show no "typing...": it would only flicker, and cost a stanza each way. */
const APPEARS_AFTER_MS = 400;
/** WhatsApp drops the indicator after about 25 s without a repeat. */
const REPEAT_EVERY_MS = 15_000;

interface TypingDeps {
  clock: Clock;
  /** The accounts of this node. */
  accounts: { provider(accountId: string): Pick<ChatProvider, 'setTyping'> | undefined };
  /** For accounts of other nodes. */
  bus: Pick<NodeBus, 'publish'>;
}

/** Shows "typing..." in the chat while its agent works, also when another node has the account. */
export function typingPolicy({ clock, accounts, bus }: TypingDeps): ChatPolicy {
  return {
    name: 'typing',
    during: ({ turn: { accountId, replyTo: to }, conversation: { presence } }, work) => {
      if (!presence.typing) return work();
      const setTyping = async (isTyping: boolean) => {
        const provider = accounts.provider(accountId);
        if (provider) await provider.setTyping(to, isTyping);
        else bus.publish(typingWanted({ accountId, to, isTyping }));
      };
      return whileTyping(clock, setTyping, work);
    },
  };
}

/**
 * Shows "typing..." while `work` runs. Best effort: a failure never reaches the caller. The indicator is hidden when the
 * work ends; hiding it is not awaited.
 */
async function whileTyping<T>(
  clock: Clock,
  setTyping: (isTyping: boolean) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  const ended = new AbortController();
  const shown = showUntilEnded(clock, setTyping, ended.signal);
  try {
    return await work();
  } finally {
    ended.abort();
    void shown;
  }
}

async function showUntilEnded(
  clock: Clock,
  setTyping: (isTyping: boolean) => Promise<void>,
  ended: AbortSignal,
): Promise<void> {
  let isShown = false;
  try {
    await clock.sleep(APPEARS_AFTER_MS, ended);
    for (;;) {
      isShown = true;
      await setTyping(true);
      await clock.sleep(REPEAT_EVERY_MS, ended);
    }
  } catch {
    // The sleep was ended with the work, or WhatsApp did not take the indicator: both mean "no longer typing".
    if (isShown) await setTyping(false).catch(() => undefined);
  }
}

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
      const { notices, texts } = conversation;
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
        const own = typeof notices.slow === 'string' ? notices.slow : textOf('slow', language, texts);
        const text = isUnreachable?.() ? textOf('unreachable', language, texts) : own;
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
