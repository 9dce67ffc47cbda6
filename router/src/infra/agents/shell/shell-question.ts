import { z } from 'zod';
import type { AttemptStore } from '../../../core/agent-client.ts';
import type { TextMatcher } from '../../../core/ports/text-matcher.ts';
import { DEFAULT_CONFIRM } from './shell-settings.ts';

/** A question that nobody answered is void after this. */
const MAX_AGE_MS = 10 * 60_000;
/** Longer commands are always asked about. */
const MAX_MATCHED_CHARS = 4_000;

const stateSchema = z.object({
  /** The command that waits for a yes. */
  command: z.string().optional(),
  askedAtMs: z.number().optional(),
  /** The message that said yes, and its command: a repeat of the message runs the same one. */
  confirmedBy: z.string().optional(),
  confirmed: z.string().optional(),
  /** The message that was not a yes: a repeat of it is none either. */
  declinedBy: z.string().optional(),
});
type State = z.output<typeof stateSchema>;
type Store = Pick<AttemptStore, 'session' | 'saveSession'>;

/** Whether a command runs only after a yes: a pattern matches it, or takes too long. Without a matcher every command does. */
export async function needsYes(
  matcher: TextMatcher | undefined,
  command: string,
  patterns: readonly string[] = DEFAULT_CONFIRM,
): Promise<boolean> {
  if (patterns.length === 0) return false;
  if (!matcher || command.length > MAX_MATCHED_CHARS) return true;
  for (const pattern of patterns) if ((await matcher.test(pattern, command)) !== 'no-match') return true;
  return false;
}

/** The question of a chat whether a command may run. It is stored, so it survives a restart. */
export class ShellQuestion {
  readonly #store: Store;
  readonly #nowMs: number;

  constructor(store: Store, nowMs: number) {
    this.#store = store;
    this.#nowMs = nowMs;
  }

  /** Asks about a command; an older question is void. */
  async ask(command: string): Promise<void> {
    await this.#save({ command, askedAtMs: this.#nowMs });
  }

  /**
   * Takes a message as the answer to the open question; the same message always gets the same result.
   * @returns the confirmed command, `no`, or undefined when no question is open
   */
  async answer(messageId: string, text: string): Promise<{ confirmed: string } | 'no' | undefined> {
    const state = await this.#read();
    if (state.confirmedBy === messageId && state.confirmed !== undefined)
      return { confirmed: state.confirmed };
    if (state.declinedBy === messageId) return 'no';
    if (state.command === undefined) return undefined;
    const isOpen = this.#nowMs - (state.askedAtMs ?? 0) <= MAX_AGE_MS;
    const isYes = isOpen && /^\s*yes[.!]?\s*$/i.test(text);
    const isNo = !isYes && (isOpen || /^\s*(yes|no)[.!]?\s*$/i.test(text));
    const declined = isNo ? { declinedBy: messageId } : {};
    await this.#save(isYes ? { confirmedBy: messageId, confirmed: state.command } : declined);
    if (isYes) return { confirmed: state.command };
    return isNo ? 'no' : undefined;
  }

  async #read(): Promise<State> {
    const stored = await this.#store.session();
    try {
      return stateSchema.parse(JSON.parse(stored?.contextId ?? '{}'));
    } catch {
      return {};
    }
  }

  async #save(state: State): Promise<void> {
    await this.#store.saveSession({ contextId: JSON.stringify(state) });
  }
}
