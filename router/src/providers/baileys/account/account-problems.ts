import { cleanText } from '../../../core/clean-text.ts';
import { type Said, say } from '../../../core/phrases.ts';

/** Number of WhatsApp ids in a sentence; further ones are counted. */
const MAX_NAMED = 5;
/** Senders choose ids; WhatsApp's own have 16 to 32 characters. */
const MAX_ID_CHARS = 64;

/**
 * Problems with single stored rows while the account works: one sentence per kind, ready to show. They are kept until
 * the process ends, and their length is limited.
 */
export class AccountProblems {
  readonly #onChange: () => void;
  readonly #journalled = new Set<string>();
  readonly #refused = new Set<string>();
  readonly #keys = new Map<string, number>();
  #moreJournalled = 0;
  #moreRefused = 0;
  #refusal = '';

  constructor(onChange: () => void) {
    this.#onChange = onChange;
  }

  /** A journal row cannot be read, and its chat is unknown. */
  journalUnreadable(waMessageId: string): void {
    this.#moreJournalled += addTo(this.#journalled, waMessageId);
    this.#onChange();
  }

  /** The inbox rejects a message permanently; it stays in the journal. */
  messageRefused(waMessageId: string, sentence: string): void {
    this.#moreRefused += addTo(this.#refused, waMessageId);
    this.#refusal = sentence;
    this.#onChange();
  }

  /** A stored key cannot be read and is treated as absent. */
  keyUnreadable(category: string): void {
    this.#keys.set(category, (this.#keys.get(category) ?? 0) + 1);
    this.#onChange();
  }

  /** Empty when nothing is wrong. */
  list(): Said[] {
    const sentences: Said[] = [];
    if (this.#journalled.size > 0) {
      sentences.push(
        say('account.journal-unreadable', { chats: named(this.#journalled, this.#moreJournalled) }),
      );
    }
    if (this.#refused.size > 0) {
      sentences.push(
        say('account.messages-refused', {
          messages: named(this.#refused, this.#moreRefused),
          why: this.#refusal,
        }),
      );
    }
    if (this.#keys.size > 0) {
      const counts = [...this.#keys].map(([category, count]) => `${count} ${category}`).join(', ');
      sentences.push(say('account.keys-unreadable', { keys: counts }));
    }
    return sentences;
  }
}

/** @returns 1 when the sentence has enough names and only counts it */
function addTo(names: Set<string>, waMessageId: string): number {
  const name = cleanText(waMessageId.slice(0, MAX_ID_CHARS));
  if (names.has(name)) return 0;
  if (names.size >= MAX_NAMED) return 1;
  names.add(name);
  return 0;
}

function named(names: Set<string>, more: number): string {
  return `${[...names].join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
