import type { ConversationSettings } from '../../router/src/core/policies/conversation-fields.ts';
import type { Phone } from '../whatsapp-emulator/phone.ts';
import type { Chat } from './chats.ts';

/** How often the owner looks at the phone. */
const OWNER_LOOKS_EVERY_MS = 100;

/**
 * Settings with which every policy decides about every message, and each message still has exactly one answer. The first chat of
 * each kind is a stranger's, which waits until the owner approves it.
 */
export function allPolicies(chats: readonly Chat[], stream: 'off' | 'edit'): ConversationSettings {
  const strangers = new Set(
    ['number', 'lid', 'group'].map((kind) => chats.find((chat) => chat.kind === kind)),
  );
  const known = chats.filter((chat) => !strangers.has(chat));
  const list = known.flatMap(({ kind, key, people }) =>
    kind === 'group' ? [key] : people.flatMap(({ lid, phone }) => [lid, phone]),
  );
  return {
    access: { people: 'approved', list },
    group: { answer: 'mention', patterns: ['says \\d+(, mistaken)?$'] },
    pace: { debounceMs: 300, maxWaitMs: 2_000, busy: 'merge' },
    session: { idleMinutes: 60, dailyAt: '04:00' },
    quota: { messages: 1_000_000, perMinutes: 60 },
    reply: { quote: 'always', stream },
    presence: { reactions: { working: '👀', done: '✅', failed: '❌' } },
    // A kill may make any answer slow: then no sentence comes first.
    notices: { unsupported: true, failed: true, slow: true, slowAfterMs: 3_600_000 },
  };
}

/**
 * The owner answers each question about a stranger with an approval, on the phone.
 * @returns ends it
 */
export function approveStrangers(owner: Phone): () => void {
  const approved = new Set<string>();
  const timer = setInterval(() => {
    for (const { text = '' } of owner.copies) {
      const [command] = /#approve \d+/.exec(text) ?? [];
      if (command === undefined || approved.has(command)) continue;
      approved.add(command);
      void owner.say(command, { to: owner });
    }
  }, OWNER_LOOKS_EVERY_MS);
  return () => clearInterval(timer);
}
