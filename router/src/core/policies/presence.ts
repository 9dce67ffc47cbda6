import type { NodeBus } from '../cluster/node-bus.ts';
import type { MessageKey } from '../models.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Clock } from '../ports/clock.ts';
import type { PendingTurn } from '../turns/turn.ts';
import type { ChatPolicy } from './policy.ts';
import type { Reactions } from './presence-fields.ts';

/** After a restart, a turn may end before its account is connected again: the last reaction is then sent later. */
const REACT_AGAIN_AFTER_MS = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000];

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
      else bus.publish({ kind: 'presence', accountId, key });
    }
  };
  /** Sends a reaction, or again while the account is not connected and `isLast` says so. */
  const react = async (turn: PendingTurn, emoji: string, isLast: () => boolean) => {
    const { accountId } = turn;
    const key = keyOf(turn);
    if (!accounts.provider(accountId)) bus.publish({ kind: 'presence', accountId, key, emoji });
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
export function reactionAfter(
  reactions: Reactions,
  end: 'done' | 'failed' | 'interrupted',
): string | undefined {
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
