import { channelIdsOf } from '../messages/chat-identity.ts';
import type { InboundMessage, ToUs } from '../messages/inbound-message.ts';
import type { IncomingMessage } from '../models.ts';
import type { ConversationSettings } from '../policies/conversation-fields.ts';
import type { ChatStore, RouteFacts } from '../ports/chat-store.ts';
import type { LanguageDetector } from '../ports/language-detector.ts';
import { type WhenFacts, whenKindOf } from './when.ts';
import { WHEN, type When } from './when-fields.ts';

/** A message as far as the choice of its route depends on it. */
export interface MessageToRoute {
  accountId: string;
  /** All canonical addresses of its chat. */
  channelIds: string[];
  message: Pick<IncomingMessage, 'text'> &
    Partial<Pick<IncomingMessage, 'kind' | 'media' | 'viewOnce' | 'card'>>;
  /** How it is addressed to the account. */
  toUs?: ToUs;
  /** Epoch milliseconds. */
  receivedAtMs: number;
  /** Absent, as is `messageId`: it is not stored. */
  chatId?: string;
  messageId?: string;
  /** Instead of what is stored of the chat. */
  given?: Partial<Pick<WhenFacts, 'tags' | 'isFirstContact'>>;
}

/** A message of the inbox. */
export type StoredMessageToRoute = MessageToRoute & { chatId: string; messageId: string };

/** The message as far as the choice of its route depends on it, before it is stored. */
export function messageToRoute(message: InboundMessage): MessageToRoute {
  const { accountId, chat, text, kind, media, viewOnce, details, toUs, sentAtMs } = message;
  return {
    accountId,
    channelIds: channelIdsOf(chat.kind === 'group' ? { groupId: chat.groupId } : chat),
    message: {
      ...{ text, kind },
      ...(media && { media }),
      ...(viewOnce && { viewOnce }),
      ...(details?.card && { card: details.card }),
    },
    ...(toUs && { toUs }),
    receivedAtMs: sentAtMs,
  };
}

export interface WhenFactsDeps {
  chatStore: Pick<ChatStore, 'routeFacts'>;
  languages: LanguageDetector;
}

/** The conditions of a route: its own, else those of all routes, field by field. Undefined: there are none. */
export function whenOf(
  own: Pick<ConversationSettings, 'when'>,
  defaults: Pick<ConversationSettings, 'when'>,
): When | undefined {
  return own.when || defaults.when ? { ...WHEN, ...defaults.when, ...own.when } : undefined;
}

/** What conditions ask of one message. A thing is read once, when the first condition asks for it. */
export class WhenFactsOf {
  readonly #deps: WhenFactsDeps;
  readonly #message: MessageToRoute;
  #language: Promise<string | undefined> | undefined;
  #stored: Promise<RouteFacts | undefined> | undefined;

  constructor(deps: WhenFactsDeps, message: MessageToRoute) {
    this.#deps = deps;
    this.#message = message;
  }

  /** @throws {StorageUnavailableError} the chat could not be read */
  async for(when: When): Promise<WhenFacts> {
    const { channelIds, message, toUs, receivedAtMs, given = {} } = this.#message;
    const stored = this.#asksStore(when) ? await this.#readChat() : undefined;
    const chatId = this.#message.chatId ?? stored?.chatId;
    const language = when.languages && (await this.#readLanguage());
    return {
      atMs: receivedAtMs,
      kind: whenKindOf(message),
      isGroup: channelIds.some((channelId) => channelId.endsWith('@g.us')),
      isFirstContact: given.isFirstContact ?? stored?.isFirstContact ?? true,
      tags: given.tags ?? stored?.tags ?? [],
      ...(toUs && { toUs }),
      ...(language !== undefined && { language }),
      ...(chatId !== undefined && { chatId }),
    };
  }

  #asksStore({ tags, isFirstContact, percent }: When): boolean {
    const { given = {}, chatId } = this.#message;
    return (
      (tags !== undefined && given.tags === undefined) ||
      (isFirstContact !== undefined && given.isFirstContact === undefined) ||
      (percent !== undefined && chatId === undefined)
    );
  }

  #readChat(): Promise<RouteFacts | undefined> {
    const { accountId, channelIds, messageId } = this.#message;
    this.#stored ??= this.#deps.chatStore.routeFacts(accountId, channelIds, messageId);
    return this.#stored;
  }

  #readLanguage(): Promise<string | undefined> {
    this.#language ??= this.#deps.languages.languageOf(this.#message.message.text);
    return this.#language;
  }
}
