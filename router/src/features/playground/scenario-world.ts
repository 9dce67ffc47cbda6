import { errorOf } from '../../core/errors.ts';
import type { ChatId } from '../../core/ids.ts';
import type { PlaygroundEvent } from '../../core/ports/playground.ts';
import type { ScenarioFile } from './scenario.ts';

/** A step cannot be done: there is no such route, the file is refused. The scenario fails there. */
export class StepFailedError extends errorOf('STEP_FAILED', 'dead') {}

/** A chat of a scenario: a person, or a group with its people. Without a number, a person gets an invented one. */
export interface ScenarioChat {
  kind: 'person' | 'group';
  name: string;
  people: Array<{ name: string; phone?: string }>;
}

/** What a person of a scenario does. `quote`, `reaction.to`, `edit` and `delete` are ids of messages. */
export interface ScenarioWriting {
  as: string;
  text?: string;
  file?: ScenarioFile;
  reaction?: { to: string; emoji: string };
  quote?: string;
  mention?: boolean;
  edit?: string;
  delete?: string;
}

/** A message of a chat, as quotes and reactions name it. */
export interface ScenarioMessage {
  id: string;
  direction: 'incoming' | 'outgoing';
  text: string;
}

/** What a phone of a scenario shows; ids grow. */
export type ShownEvent = PlaygroundEvent & { id: string };

/**
 * The playground as scenarios use it.
 * @throws {StepFailedError} from every method: what the scenario asks for is refused
 */
export interface ScenarioWorld {
  /** Opens the chat. That of a person whose number the playground knows continues. */
  open(chat: ScenarioChat): Promise<ChatId>;
  /** Resolves when the message is stored. @returns its id */
  write(chatId: ChatId, writing: ScenarioWriting): Promise<string>;
  /** The last messages of the chat, newest first. */
  messages(chatId: ChatId): Promise<ScenarioMessage[]>;
  /** What the phones of the chat show after an event; waits so long for the first. */
  events(chatId: ChatId, after: string, waitMs: number): Promise<ShownEvent[]>;
  /** Deletes what the scenario made. */
  close(): Promise<void>;
}
