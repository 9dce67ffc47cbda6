import type {
  NewPlaygroundChat,
  Playground,
  PlaygroundChat,
  PlaygroundEvent,
  PlaygroundFile,
  PlaygroundInput,
  StoredPlaygroundEvent,
  WrittenMessage,
} from '../../router/src/core/ports/playground.ts';

/** The playground in memory. `received` has the messages that an inbox has, by their WhatsApp ids. */
export class MemoryPlayground implements Playground {
  readonly received = new Map<string, string>();
  #ids = 0;
  readonly #chats = new Map<string, PlaygroundChat>();
  #inputs: PlaygroundInput[] = [];
  readonly #files = new Map<string, { chatId: string; waMessageId: string; file: PlaygroundFile }>();
  #events: Array<StoredPlaygroundEvent & { chatId: string }> = [];

  async addChat(chat: NewPlaygroundChat): Promise<PlaygroundChat | undefined> {
    if (await this.chatAt(chat.channelId)) return undefined;
    const added = { ...chat, id: this.#nextId(), createdAt: new Date(0) };
    this.#chats.set(added.id, added);
    return added;
  }

  async chats(): Promise<PlaygroundChat[]> {
    return [...this.#chats.values()];
  }

  async chat(id: string): Promise<PlaygroundChat | undefined> {
    return this.#chats.get(id);
  }

  async chatAt(channelId: string): Promise<PlaygroundChat | undefined> {
    return [...this.#chats.values()].find((chat) => chat.channelId === channelId);
  }

  async deleteChat(id: string): Promise<boolean> {
    this.#inputs = this.#inputs.filter(({ chatId }) => chatId !== id);
    this.#events = this.#events.filter(({ chatId }) => chatId !== id);
    for (const [fileId, { chatId }] of this.#files) if (chatId === id) this.#files.delete(fileId);
    return this.#chats.delete(id);
  }

  async addInput(chatId: string, message: WrittenMessage): Promise<void> {
    this.#inputs.push({ id: this.#nextId(), chatId, message });
  }

  async inputs(limit: number): Promise<PlaygroundInput[]> {
    return this.#inputs.slice(0, limit);
  }

  async removeInput(id: string): Promise<void> {
    this.#inputs = this.#inputs.filter((input) => input.id !== id);
  }

  async addFile(chatId: string, waMessageId: string, file: PlaygroundFile): Promise<string> {
    const id = this.#nextId();
    this.#files.set(id, { chatId, waMessageId, file });
    return id;
  }

  async file(id: string): Promise<PlaygroundFile | undefined> {
    return this.#files.get(id)?.file;
  }

  async fileOfMessage(chatId: string, waMessageId: string): Promise<PlaygroundFile | undefined> {
    const files = [...this.#files.values()];
    return files.findLast((each) => each.chatId === chatId && each.waMessageId === waMessageId)?.file;
  }

  async addEvent(chatId: string, event: PlaygroundEvent): Promise<void> {
    const isKnown =
      event.kind === 'message' &&
      this.#events.some((each) => each.kind === 'message' && each.waMessageId === event.waMessageId);
    if (!isKnown) this.#events.push({ ...event, chatId, id: this.#nextId(), at: new Date(0) });
  }

  async events(chatId: string, after: string, limit: number): Promise<StoredPlaygroundEvent[]> {
    return this.#events
      .filter((event) => event.chatId === chatId && BigInt(event.id) > BigInt(after))
      .slice(0, limit)
      .map(({ chatId: _, ...event }) => event);
  }

  async messageId(_chatId: string, waMessageId: string): Promise<string | undefined> {
    return this.received.get(waMessageId);
  }

  #nextId(): string {
    this.#ids += 1;
    return String(this.#ids);
  }
}
