import type { SpecialMessage } from './delivery/special-message.ts';
import type { MessageCard } from './messages/message-card.ts';
import type { ConversationSettings, MediaSettings } from './policies/conversation-fields.ts';
import type { Language } from './policies/texts.ts';

/** The kind of a received WhatsApp message. Media with a caption counts as `text`. */
export type MessageKind =
  | 'text'
  | 'image'
  | 'video'
  | 'audio'
  | 'document'
  | 'sticker'
  | 'location'
  | 'contact'
  | 'poll'
  | 'reaction'
  | 'undecryptable'
  | 'other';

/** Kinds of files in chats: `voice` is a recorded voice message, `audio` any other sound. */
export type MediaKind = 'image' | 'video' | 'audio' | 'voice' | 'document' | 'sticker';

/** The largest file that is loaded from or sent to a chat. */
export const MAX_MEDIA_BYTES = 10_000_000;

/** What a message says about its file; the bytes are loaded only when an agent needs them (ports/media.ts). */
export interface MediaInfo {
  kind: MediaKind;
  /** As the sender wrote it, at most 100 characters. */
  mimeType: string;
  /** Of documents, at most 200 characters. */
  fileName?: string;
  /** As the sender's app states it; absent when it does not. */
  sizeBytes?: number;
}

/** The file of a message to send; its bytes are stored with the row in the outbox. */
export interface ReplyMedia {
  kind: MediaKind;
  mimeType: string;
  fileName?: string;
  sizeBytes: number;
}

/** A file to send. */
export interface ReplyFile {
  kind: MediaKind;
  mimeType: string;
  fileName?: string;
  /** At least one, at most `MAX_MEDIA_BYTES`. */
  bytes: Uint8Array;
}

/**
 * A message as agents and the route table see it (names of the agent contract).
 * `from` is the person as a JID (`<digits>@s.whatsapp.net`, or `<digits>@lid` while the number is unknown).
 * `channelId` is the chat in stored canonical form: digits for a person's number, `<digits>@lid`, or `<id>@g.us`.
 */
export interface IncomingMessage {
  /** WhatsApp's message id. */
  id: string;
  from: string;
  channelId: string;
  text: string;
  /** When the person sent it, by WhatsApp's clock (whole seconds). */
  timestamp: Date;
  /** WhatsApp account that received it; absent only in direct uses of an AgentClient. */
  accountId?: string;
  isGroup?: boolean;
  /** The sender's LID (`<digits>@lid`), when it is known in addition to the number. */
  fromLid?: string;
  pushName?: string;
  kind?: MessageKind;
  quotedText?: string;
  /** Who wrote the quoted message. */
  quotedFrom?: QuotedPerson;
  /** The name of the group, once wa2ai knows it. */
  subject?: string;
  /** A location, a contact and the like. */
  card?: MessageCard;
  /** The text is the transcript of a voice message. */
  isTranscript?: true;
  /** Why its voice message has no transcript; absent: none was asked for, or it has one. */
  noTranscript?: NoTranscript;
  /** WhatsApp's id of the message that this one edits. */
  editOf?: string;
  /** People whom the text mentions. */
  mentions?: Mention[];
  /** Its file; a caption is the text. */
  media?: MediaInfo;
  /** It came with a file that can be seen once only, of this kind, which wa2ai neither stores nor passes on. */
  viewOnce?: MediaKind;
  /** In which people of the chat wrote last. Absent: their words did not say it. */
  chatLanguage?: Language;
  /** Absent: the first session, that of the agent contract. */
  session?: Session;
  /** Messages of the chat since the last answer that the agent did not get, oldest first. */
  context?: ContextMessage[];
}

/** Why a voice message stays a file: nobody speaks in it, or the transcription failed. */
export interface NoTranscript {
  outcome: 'empty' | 'failed';
  /** Ready to show to an admin. */
  sentence: string;
}

/** A conversation with an agent, as the agent knows it. */
export interface Session {
  userId: string;
  id: string;
  /** From 1. */
  number: number;
  /** When it began, epoch milliseconds; 0 for the first. */
  startMs: number;
  /** The chats in which its person wrote last, where one session is that of a person in all chats. Absent: the chat of the message. */
  chatIds?: string[];
}

/** A message that goes along with another one. */
export interface ContextMessage {
  /** The owner wrote it by hand on the account's phone. Names are chosen by their people, so only this says who is the owner. */
  by: 'owner' | 'person';
  /** The name that the writer gave themselves on WhatsApp, else the end of their number (`nameOfPerson`). */
  name: string;
  /** `[image]` and the like for a file without a caption. */
  text: string;
}

/** A person whose message is quoted. */
interface QuotedPerson {
  /** A JID, in the form of `IncomingMessage.from`. */
  id: string;
  /** The name that the person gave themselves on WhatsApp, when a message of this chat said it. */
  name?: string;
}

/** A person whom a message mentions. */
export interface Mention {
  /** A JID, in the form of `IncomingMessage.from`. */
  id: string;
  /** How the text names the person: `@` and digits. */
  tag: string;
  /** The name that the person gave themselves on WhatsApp, when a message of this chat said it. */
  name?: string;
}

/** A reply or a message to send: text or a file to one chat, under a WhatsApp id minted before any attempt. */
export interface OutgoingMessage {
  accountId: string;
  /** Where it goes: a JID, `<digits>@s.whatsapp.net`, `<digits>@lid` or `<id>@g.us`. */
  to: string;
  /** Used by every attempt of every node, so that a repeat is one bubble. */
  waMessageId: string;
  /** With a file, its caption: `` for none. */
  text: string;
  media?: ReplyMedia;
  /** The message that it quotes; of texts and files. */
  quote?: Quote;
  /** JIDs of people who are notified; the text names each as `@` and the digits of the JID. */
  mentions?: string[];
  /** Set: it is a location, a poll and the like. */
  special?: SpecialMessage;
  /**
   * The timer of the chat when the message was stored: its recipients' apps delete it so many seconds later. Set by the
   * store. Absent: it stays.
   */
  timerSeconds?: number;
}

/** A message of another person, as WhatsApp names it. */
export interface MessageKey {
  /** The JID of its chat. */
  chat: string;
  waMessageId: string;
  /** Who wrote it: a JID, and the LID when it is known in addition. */
  from: string;
  fromLid?: string;
}

/** A message of the chat that a reply shows above its text; in a group, its writer is notified. */
export interface Quote {
  /** WhatsApp's id of the message. */
  waMessageId: string;
  /** Who wrote it: a JID. */
  from: string;
  /** Its beginning. */
  text: string;
}

export type Environment = 'lab' | 'prod';

/** What happens when a route's agent does not answer. Absent fields: the service's own settings. */
export interface FailurePolicy {
  /**
   * How long to try an agent that is not available, in milliseconds: no connection, 429, 502, 503. Also the limit of all waits
   * that the agent asks for with `Retry-After`. Other failures that a repeat may end get three attempts. 0: one attempt.
   * Default: the service's own; beside a fallback at most five seconds.
   */
  tryForMs?: number;
  /**
   * What to do when a run may have happened and the agent's session cannot be read. Default: `retry` after a crash of wa2ai
   * or a lost connection, `dead-letter` after a time-out.
   */
  uncertain?: 'retry' | 'dead-letter';
  /** Stops calling an endpoint after this many failures in a row. Default: every message is an attempt. */
  circuit?: { failures: number; openMs: number };
  /** Gets one attempt, with the same message, when this route's agent has failed. Its own fallback is not used. */
  fallbackRouteId?: string;
  /** Sent as the reply when the agent has failed; the message then counts as answered. */
  fallbackText?: string;
}

/** Which agent a route calls: the name of an agent kind, and settings that only that kind reads. */
interface RouteAgent {
  kind: string;
  settings: unknown;
}

/** Settings of a route: its agent, how it converses, and what all kinds share. */
export interface RouteConfig extends ConversationSettings {
  /** Absent: the stored config names no agent kind of this version. */
  agent?: RouteAgent;
  failure?: FailurePolicy;
  /** What happens to files of people before the agent gets them. */
  media?: MediaSettings;
  /** Programs may talk to the agent through wa2ai as an agent. Default: false. */
  shared?: boolean;
}

/** One rule of the route table. `channelId` is canonical (see IncomingMessage) or `*`. */
export interface Route {
  id: string;
  accountId: string;
  channelId: string;
  /** Empty when wa2ai runs the agent. */
  agentEndpoint: string;
  environment: Environment;
  /** An ECMAScript pattern that the text must contain a match of. */
  regexFilter?: string;
  /** Higher first within one channelId. Default 0. */
  priority: number;
  enabled: boolean;
  name?: string;
  config: RouteConfig;
  /** Why its stored config cannot be used, as part of a sentence; `config` is empty then. */
  damage?: string;
  createdAt: Date;
  updatedAt: Date;
}

/** A file that an agent names by URL. */
export interface FileLink {
  /** As the agent wrote it. */
  url: string;
  mimeType?: string;
  fileName?: string;
}

/** What an agent answered. `response` absent: the agent chose to say nothing. */
export interface AgentResponse {
  success: boolean;
  response?: string;
  /** The response is not Markdown: it goes to the chat in the form that it has. */
  isPlain?: true;
  /** The agent answers later, by the reply token that it received. */
  isLater?: true;
  /** Sent one after the other; the response is the caption of the first one that can have one. */
  files?: ReplyFile[];
  /** Files that the agent names by URL, with the response in the order of the answer. */
  fileLinks?: FileLink[];
  metadata?: Record<string, unknown>;
  /** The agent continues to work: wa2ai follows the task with this id, and reports its end in the chat. */
  task?: { remoteId: string };
  /** What the message log shows of the exchange, bounded in size; may contain message text. */
  detail?: Record<string, unknown>;
}

/** Named states of a WhatsApp account; each has a next action for its admin (core/account-state.ts). */
export type AccountState =
  | 'starting'
  | 'pairing'
  | 'passkey-required'
  | 'connecting'
  | 'open'
  | 'waiting'
  | 'proxy-failed'
  | 'logged-out'
  | 'replaced'
  | 'outdated'
  | 'restricted'
  | 'stopped';
