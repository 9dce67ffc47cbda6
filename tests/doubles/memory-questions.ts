import { type ChatId, parseJid } from '../../router/src/core/chat-id.ts';
import type {
  NewQuestion,
  Question,
  QuestionState,
  Questions,
} from '../../router/src/core/ports/pending-answers.ts';
import { chatOf } from './memory-chats.ts';
import type { MemoryQuestion, MemoryState } from './memory-state.ts';

/** Questions to people in memory, with the promises of PostgresQuestions except durability. */
export class MemoryQuestions implements Questions {
  readonly #state: MemoryState;
  readonly #onChange: (taskId: string) => void;

  constructor(state: MemoryState, onChange: (taskId: string) => void = () => undefined) {
    this.#state = state;
    this.#onChange = onChange;
  }

  async add({ id, accountId, to, remindMs, deadlineMs }: NewQuestion): Promise<void> {
    if (this.#state.questions.some((question) => question.id === id)) return;
    const address = parseJid(to);
    if (address?.kind !== 'phone' && address?.kind !== 'lid') throw new TypeError('not a person');
    const chat = chatOf(
      this.#state,
      accountId,
      address.kind === 'phone'
        ? { kind: 'person', phone: address.phone }
        : { kind: 'person', lid: address.lid },
      to,
    );
    const nowMs = this.#state.now();
    this.#state.questions.push({
      id,
      chatId: chat.id,
      state: 'waiting',
      askedAtMs: 0,
      remindAtMs: nowMs + remindMs,
      deadlineAtMs: nowMs + deadlineMs,
    });
    this.#onChange(id);
  }

  async open(id: string): Promise<QuestionState> {
    const question = this.#find(id);
    if (!question) return 'closed';
    const before = this.#state.questions.slice(0, this.#state.questions.indexOf(question));
    const isBlocked =
      this.#state.questions.some(({ chatId, state }) => chatId === question.chatId && state === 'open') ||
      before.some(({ chatId, state }) => chatId === question.chatId && state === 'waiting');
    if (question.state !== 'waiting' || isBlocked) return question.state;
    question.state = 'open';
    question.askedAtMs = this.#state.now();
    this.#onChange(id);
    return 'open';
  }

  async get(id: string): Promise<Question | undefined> {
    const question = this.#find(id);
    if (!question) return undefined;
    const { state, remindAtMs, deadlineAtMs, answer } = question;
    const nowMs = this.#state.now();
    const times = { remindMs: remindAtMs - nowMs, deadlineMs: deadlineAtMs - nowMs };
    return { state, ...times, ...(answer !== undefined && { answer }) };
  }

  async close(id: string): Promise<void> {
    const question = this.#find(id);
    if (question?.state !== 'waiting' && question?.state !== 'open') return;
    question.state = 'closed';
    this.#ended(question);
  }

  async answer(chatId: ChatId, messageId: string): Promise<string | undefined> {
    const known = this.#state.questions.find((question) => question.messageId === messageId);
    if (known) return known.id;
    const question = this.#state.questions.find(
      (candidate) => String(candidate.chatId) === chatId && candidate.state === 'open',
    );
    const message = this.#state.messages.get(Number(messageId));
    if (!question || !message || question.deadlineAtMs <= this.#state.now()) return undefined;
    const isEarlier =
      message.receivedAt.getTime() < question.askedAtMs || message.sentAtMs < question.askedAtMs - 60_000;
    if (isEarlier || message.editOf !== undefined || message.text.trim() === '') return undefined;
    Object.assign(question, { state: 'answered', messageId, answer: message.text });
    this.#ended(question);
    return question.id;
  }

  async chats(): Promise<ChatId[]> {
    const ids = this.#state.questions
      .filter(
        ({ state, messageId }) =>
          state === 'open' ||
          (state === 'answered' && this.#state.messages.get(Number(messageId))?.state === 'received'),
      )
      .map(({ chatId }) => String(chatId));
    return [...new Set(ids)];
  }

  /** Reports the end of a question, and that of the chat's next question the turn has come. */
  #ended({ id, chatId }: MemoryQuestion): void {
    this.#onChange(id);
    const next = this.#state.questions.find((each) => each.chatId === chatId && each.state === 'waiting');
    if (next) this.#onChange(next.id);
  }

  #find(id: string): MemoryQuestion | undefined {
    return this.#state.questions.find((question) => question.id === id);
  }
}
