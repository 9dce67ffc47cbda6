import type { ChatId } from '../chat-id.ts';
import type { InboundMessage } from '../messages/inbound-message.ts';

/** A person of the playground; the number is bare digits. */
export interface InventedPerson {
  name: string;
  phone: string;
}

/** A chat of the playground. */
export interface PlaygroundChat {
  /** Id of the stored chat, as in the calls of chats. */
  id: ChatId;
  kind: 'person' | 'group';
  /** The person or the group. */
  name: string;
  /** Address of the chat, as in routes and filters. */
  channelId: string;
  /** Of a person's chat exactly one. */
  people: InventedPerson[];
  /** The route that answers every message of the chat; absent: the route table decides. */
  routeId?: string;
  createdAt: Date;
}

/** A chat to add; its address is that of its only person, or of its group. */
export type NewPlaygroundChat = Omit<PlaygroundChat, 'id' | 'createdAt'>;

/** A message that an invented person wrote. The account and the order are those of its row. */
export type WrittenMessage = Omit<InboundMessage, 'accountId' | 'stanzaOrder'>;

/** A written message that is not in the inbox yet; ids grow in the order of writing. */
export interface PlaygroundInput {
  id: string;
  chatId: ChatId;
  message: WrittenMessage;
}

/** A file of an invented person, or one that arrived. */
export interface PlaygroundFile {
  mimeType: string;
  fileName?: string;
  bytes: Uint8Array;
}

/** What an invented phone shows. `about` is the WhatsApp id of the message that was read or reacted to. */
export type PlaygroundEvent =
  | {
      kind: 'message';
      waMessageId: string;
      text: string;
      /** Its file, and what kind it is. */
      file?: { id: string; kind: string; mimeType: string; fileName?: string };
      /** Text of the message that it quotes. */
      quotedText?: string;
      /** What it is when it is neither text nor file: location, poll, edit, deletion ... */
      special?: string;
    }
  | { kind: 'typing'; isTyping: boolean }
  | { kind: 'read'; about: string }
  | { kind: 'reaction'; about: string; emoji: string };

/** An event with its number, which grows within the playground. */
export type StoredPlaygroundEvent = PlaygroundEvent & { id: string; at: Date };

/**
 * The chats of one account with invented people.
 * @throws {StorageUnavailableError} from every method; nothing was changed
 */
export interface Playground {
  /** @returns undefined when the account has a chat with this address already */
  addChat(chat: NewPlaygroundChat): Promise<PlaygroundChat | undefined>;
  /** Oldest first. */
  chats(): Promise<PlaygroundChat[]>;
  chat(id: ChatId): Promise<PlaygroundChat | undefined>;
  chatAt(channelId: string): Promise<PlaygroundChat | undefined>;
  /** Deletes the chat with its messages, replies, files and events. @returns false when there is none */
  deleteChat(id: ChatId): Promise<boolean>;
  /** Stores a message that a person wrote: from now on it is not lost. */
  addInput(chatId: ChatId, message: WrittenMessage): Promise<void>;
  /** The first messages that are not in the inbox, in the order of writing. */
  inputs(limit: number): Promise<PlaygroundInput[]>;
  removeInput(id: string): Promise<void>;
  /** @returns its id */
  addFile(chatId: ChatId, waMessageId: string, file: PlaygroundFile): Promise<string>;
  file(id: string): Promise<PlaygroundFile | undefined>;
  /** The file of a message, also of one whose turn has ended. */
  fileOfMessage(chatId: ChatId, waMessageId: string): Promise<PlaygroundFile | undefined>;
  /** Records what a phone shows. A message with an id that arrived before is not recorded again. */
  addEvent(chatId: ChatId, event: PlaygroundEvent): Promise<void>;
  /** The events of a chat after an id, oldest first. */
  events(chatId: ChatId, after: string, limit: number): Promise<StoredPlaygroundEvent[]>;
  /** The id under which the inbox has a message of the chat; undefined: it has not. */
  messageId(chatId: ChatId, waMessageId: string): Promise<string | undefined>;
}
