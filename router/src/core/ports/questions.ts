import type { ChatId } from '../ids.ts';

/** The reply to an answer. */
export const ANSWER_TAKEN = 'Thank you, your answer was passed on.';

/** `waiting`: another question of the chat is open · `open`: the person's next message answers it. */
export type QuestionState = 'waiting' | 'open' | 'answered' | 'closed';

export interface NewQuestion {
  /** That of its task. */
  id: string;
  accountId: string;
  /** The person, a JID. */
  to: string;
  /** When to remind the person, and until when an answer counts; from now. */
  remindMs: number;
  deadlineMs: number;
}

/** A stored question. Times are from now, by the store's clock; negative when they are over. */
export interface Question {
  state: QuestionState;
  remindMs: number;
  deadlineMs: number;
  answer?: string;
}

/**
 * Questions to people. At most one is open per chat; the others of the chat wait, in the order in which they were added.
 * @throws {StorageUnavailableError} from every method: nothing was changed
 */
export interface Questions {
  /** Idempotent: a question that is known stays as it is. */
  add(question: NewQuestion): Promise<void>;
  /** Opens a waiting question if it is its turn. @returns its state; `closed` when there is none */
  open(id: string): Promise<QuestionState>;
  get(id: string): Promise<Question | undefined>;
  /** Closes a question that has no answer. Idempotent. */
  close(id: string): Promise<void>;
  /**
   * Gives a message to the open question of its chat; the same message always gets the same question. A message that came
   * before the question was asked, an edit, and a message without text are no answer.
   * @returns the id of the question; undefined: the message answers none
   */
  answer(chatId: ChatId, messageId: string): Promise<string | undefined>;
  /** The chats in which `answer` may find a question. */
  chats(): Promise<ChatId[]>;
}
