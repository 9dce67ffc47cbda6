import type { NodeBus } from '../cluster/node-bus.ts';
import type { ChatProvider } from '../ports/chat-provider.ts';
import type { Clock } from '../ports/clock.ts';
import type { ChatPolicy } from './policy.ts';

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
        else bus.publish({ kind: 'typing', accountId, to, isTyping });
      };
      return whileTyping(clock, setTyping, work);
    },
  };
}

/**
 * Shows "typing..." while `work` runs. Best effort: a failure never reaches the caller. The indicator is hidden when the
 * work ends; hiding it is not awaited.
 */
export async function whileTyping<T>(
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
