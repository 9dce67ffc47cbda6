/** WhatsApp ids that a sentence names; further ones are counted. */
const MAX_NAMED = 5;

/**
 * Problems of single rows of an account that works otherwise: one sentence per kind, ready to show, for the time of this
 * process. Bounded, however much is damaged.
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
    this.#moreJournalled += noteIn(this.#journalled, waMessageId);
    this.#onChange();
  }

  /** The inbox will never take a message; it stays in the journal. */
  messageRefused(waMessageId: string, sentence: string): void {
    this.#moreRefused += noteIn(this.#refused, waMessageId);
    this.#refusal = sentence;
    this.#onChange();
  }

  /** A stored key cannot be read and counts as absent. */
  keyUnreadable(category: string): void {
    this.#keys.set(category, (this.#keys.get(category) ?? 0) + 1);
    this.#onChange();
  }

  /** Empty when nothing is wrong. */
  sentences(): string[] {
    const sentences: string[] = [];
    if (this.#journalled.size > 0) {
      sentences.push(
        `The journal has messages of unknown chats that cannot be read: ${named(this.#journalled, this.#moreJournalled)}. They stay there; their senders have to write again.`,
      );
    }
    if (this.#refused.size > 0) {
      sentences.push(
        `Messages stay in the journal because the inbox does not take them: ${named(this.#refused, this.#moreRefused)}. ${this.#refusal}`,
      );
    }
    if (this.#keys.size > 0) {
      const counts = [...this.#keys].map(([category, count]) => `${count} ${category}`).join(', ');
      sentences.push(
        `Stored WhatsApp keys cannot be read and count as absent (${counts}); wa2ai asks phones to send the affected messages again.`,
      );
    }
    return sentences;
  }
}

/** @returns 1 when there is no room to name it */
function noteIn(names: Set<string>, name: string): number {
  if (names.has(name)) return 0;
  if (names.size >= MAX_NAMED) return 1;
  names.add(name);
  return 0;
}

function named(names: Set<string>, more: number): string {
  return `${[...names].join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
