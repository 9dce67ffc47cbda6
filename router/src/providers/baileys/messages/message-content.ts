import type { proto } from '@whiskeysockets/baileys';
import { cleanText } from '../../../core/clean-text.ts';
import type { InboundMedia } from '../../../core/messages/inbound-message.ts';
import type { MediaKind, MessageKind } from '../../../core/models.ts';
import { type FileType, writeReference } from '../media/media-reference.ts';

/** The content of a decrypted WhatsApp message, without its envelopes. */
export interface MessageContent {
  kind: MessageKind;
  text: string;
  quotedText?: string;
  media?: InboundMedia;
  /** JIDs of the people whom the text mentions. */
  mentioned?: string[];
  /** WhatsApp id of the message that this one replaces. */
  editOf?: string;
  /** Set when a person did something that is stored and never answered (see `IgnoredReason`). */
  ignoredReason?: ContentIgnoredReason;
}

/** Why content is stored and never answered; `IgnoredReason` in from-baileys.ts adds the reasons of address and age. */
export type ContentIgnoredReason =
  | 'reaction'
  | 'poll-vote'
  | 'deleted'
  | 'pin'
  | 'call'
  | 'album'
  | 'status-mention'
  | 'encrypted-edit'
  | 'event-response'
  | 'empty-text'
  | 'undecryptable';

type Key = keyof proto.IMessage;
type Node = Record<string, unknown>;

/** WhatsApp's apps accept 65,536 typed characters; wa2ai stores four times that and cuts off the rest. */
export const MAX_TEXT_CHARS = 262_144;

const MAX_MIME_CHARS = 100;
const MAX_FILE_NAME_CHARS = 200;

const MAX_DEPTH = 12;

/**
 * Envelopes of the form `{ message }`; WAProto calls them FutureProofMessage, and DeviceSentMessage has the same form.
 */
const WRAPPERS: Key[] = [
  'deviceSentMessage',
  'ephemeralMessage',
  'viewOnceMessage',
  'viewOnceMessageV2',
  'viewOnceMessageV2Extension',
  'documentWithCaptionMessage',
  'editedMessage',
  'groupMentionedMessage',
  'associatedChildMessage',
  'groupStatusMessage',
  'groupStatusMessageV2',
  'botInvokeMessage',
  'botForwardedMessage',
  'lottieStickerMessage',
  'limitSharingMessage',
  'botTaskMessage',
  'questionMessage',
  'questionReplyMessage',
  'pollCreationMessageV4',
  'pollCreationOptionImageMessage',
  'commentMessage',
];

/** Kinds of text: the paths of their words, the best first. */
const TEXTS: Array<[Key, string[]]> = [
  ['extendedTextMessage', ['text']],
  ['buttonsResponseMessage', ['selectedDisplayText', 'selectedButtonId']],
  ['listResponseMessage', ['title', 'description', 'singleSelectReply.selectedRowId']],
  ['templateButtonReplyMessage', ['selectedDisplayText', 'selectedId']],
  ['interactiveResponseMessage', ['body.text']],
  ['questionResponseMessage', ['text']],
  ['buttonsMessage', ['contentText', 'text']],
  ['listMessage', ['description', 'title']],
  ['interactiveMessage', ['body.text', 'header.title']],
  [
    'templateMessage',
    [
      'hydratedTemplate.hydratedContentText',
      'hydratedFourRowTemplate.hydratedContentText',
      'interactiveMessageTemplate.body.text',
    ],
  ],
  [
    'highlyStructuredMessage',
    [
      'hydratedHsm.hydratedTemplate.hydratedContentText',
      'hydratedHsm.hydratedFourRowTemplate.hydratedContentText',
    ],
  ],
];

/**
 * Media and cards: a caption makes them `text`; the last list has the paths of the text to use when they are quoted.
 */
const CARDS: Array<[Key, MessageKind, string[], string[]]> = [
  ['imageMessage', 'image', ['caption'], []],
  ['videoMessage', 'video', ['caption'], []],
  ['ptvMessage', 'video', ['caption'], []],
  ['audioMessage', 'audio', [], []],
  ['documentMessage', 'document', ['caption'], ['fileName', 'title']],
  ['stickerMessage', 'sticker', [], []],
  ['stickerPackMessage', 'sticker', ['caption'], ['name']],
  ['locationMessage', 'location', ['comment'], ['name', 'address']],
  ['liveLocationMessage', 'location', ['caption'], []],
  ['contactMessage', 'contact', [], ['displayName']],
  ['contactsArrayMessage', 'contact', [], ['displayName']],
  ['pollCreationMessage', 'poll', [], ['name']],
  ['pollCreationMessageV2', 'poll', [], ['name']],
  ['pollCreationMessageV3', 'poll', [], ['name']],
  ['pollCreationMessageV5', 'poll', [], ['name']],
  ['eventMessage', 'other', [], ['name']],
];

/** Cards with a file: its kind, the kind of its key, and its MIME type when the sender names none. */
const FILES: Partial<Record<Key, [MediaKind, FileType, string]>> = {
  imageMessage: ['image', 'image', 'image/jpeg'],
  videoMessage: ['video', 'video', 'video/mp4'],
  ptvMessage: ['video', 'video', 'video/mp4'],
  audioMessage: ['audio', 'audio', 'audio/ogg'],
  documentMessage: ['document', 'document', 'application/octet-stream'],
  stickerMessage: ['sticker', 'sticker', 'image/webp'],
};

/** Stored and never answered: the reason, and the paths of the text if there is one. */
const IGNORED: Array<[Key, MessageKind, ContentIgnoredReason, string[]]> = [
  ['reactionMessage', 'reaction', 'reaction', ['text']],
  ['encReactionMessage', 'reaction', 'reaction', []],
  ['pollUpdateMessage', 'poll', 'poll-vote', []],
  ['pollResultSnapshotMessage', 'poll', 'poll-vote', ['name']],
  ['pollResultSnapshotMessageV3', 'poll', 'poll-vote', ['name']],
  ['encEventResponseMessage', 'other', 'event-response', []],
  ['pinInChatMessage', 'other', 'pin', []],
  ['keepInChatMessage', 'other', 'pin', []],
  ['call', 'other', 'call', []],
  ['callLogMesssage', 'other', 'call', []],
  ['bcallMessage', 'other', 'call', []],
  ['scheduledCallCreationMessage', 'other', 'call', []],
  ['scheduledCallEditMessage', 'other', 'call', []],
  // The pictures of an album follow as separate messages.
  ['albumMessage', 'other', 'album', []],
  ['statusMentionMessage', 'other', 'status-mention', []],
  ['groupStatusMentionMessage', 'other', 'status-mention', []],
  ['secretEncryptedMessage', 'other', 'encrypted-edit', []],
  ['placeholderMessage', 'undecryptable', 'undecryptable', []],
];

/** Traffic between machines: keys or bookkeeping that no person wrote. */
const BOOKKEEPING = new Set<string>([
  'senderKeyDistributionMessage',
  'fastRatchetKeySenderKeyDistributionMessage',
  'messageContextInfo',
  'chat',
  'stickerSyncRmrMessage',
  'messageHistoryNotice',
  'messageHistoryBundle',
] satisfies Key[]);

/** The values of proto.Message.ProtocolMessage.Type that are read here. */
const REVOKE = 0;
const MESSAGE_EDIT = 14;

/**
 * Reads the content of a message. Total: no value makes it throw.
 * Media with a caption is `text`; the other kinds have no text that a person wrote, so their text is ''. A kind that
 * wa2ai does not know is `other`, so that it is stored and not lost.
 * @param message `WAMessage.message`, of any version and depth of wrapping
 * @returns the content, or `skip` with a reason when it has nothing that a person wrote or did
 */
export function readContent(message: unknown): MessageContent | { skip: string } {
  const { node, editOf } = unwrap(message);
  if (!node) return { skip: 'no-content' };
  const content = readNode(node);
  if ('skip' in content) return content;
  const mentioned = mentionedIn(node);
  return { ...content, ...(editOf !== undefined && { editOf }), ...(mentioned.length > 0 && { mentioned }) };
}

function mentionedIn(node: Node): string[] {
  const lists = Object.values(node).map((inner) => object(object(inner)?.contextInfo)?.mentionedJid);
  const jids = lists.find(Array.isArray) ?? [];
  return jids.filter((jid): jid is string => typeof jid === 'string');
}

function readNode(node: Node): MessageContent | { skip: string } {
  const plain = words(node.conversation);
  if (plain) return { kind: 'text', text: plain };
  for (const [key, paths] of TEXTS) {
    const inner = object(node[key]);
    if (!inner) continue;
    const text = firstWords(inner, paths);
    if (text || key === 'extendedTextMessage') return textContent(text, quotedTextOf(inner));
    return { kind: 'other', text: '', quotedText: quotedTextOf(inner) };
  }
  for (const [key, kind, captions] of CARDS) {
    const inner = object(node[key]);
    if (!inner) continue;
    const caption = firstWords(inner, captions);
    const quotedText = quotedTextOf(inner);
    const media = mediaOf(key, inner);
    return { kind: caption ? 'text' : kind, text: caption, quotedText, ...(media && { media }) };
  }
  for (const [key, kind, ignoredReason, paths] of IGNORED) {
    const inner = object(node[key]);
    if (inner) return { kind, text: firstWords(inner, paths), ignoredReason };
  }
  const protocol = object(node.protocolMessage);
  if (protocol) return readProtocol(protocol);
  if (typeof node.conversation === 'string') return textContent('', undefined);
  const unknown = Object.keys(node).some((key) => node[key] != null && !BOOKKEEPING.has(key));
  return unknown ? { kind: 'other', text: '' } : { skip: 'no-content' };
}

function mediaOf(key: Key, inner: Node): InboundMedia | undefined {
  const file = FILES[key];
  if (!file) return undefined;
  const [kind, type, defaultMimeType] = file;
  const sizeBytes = wholeNumber(inner.fileLength);
  const fileName = words(inner.fileName, MAX_FILE_NAME_CHARS);
  return {
    kind: kind === 'audio' && inner.ptt === true ? 'voice' : kind,
    mimeType: words(inner.mimetype, MAX_MIME_CHARS) || defaultMimeType,
    ...(fileName && { fileName }),
    ...(sizeBytes !== undefined && { sizeBytes }),
    reference: writeReference(type, inner, sizeBytes),
  };
}

/** A 64-bit number of a protobuf in any of its forms; undefined when there is none. */
function wholeNumber(value: unknown): number | undefined {
  const { low, high } = object(value) ?? {};
  const halves = typeof low === 'number' ? (low >>> 0) + Number(high ?? 0) * 2 ** 32 : undefined;
  const size = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : (halves ?? value);
  return typeof size === 'number' && Number.isSafeInteger(size) && size >= 0 ? size : undefined;
}

function readProtocol(protocol: Node): MessageContent | { skip: string } {
  const type = protocol.type ?? REVOKE;
  if (type === REVOKE && object(protocol.key)) return { kind: 'other', text: '', ignoredReason: 'deleted' };
  return { skip: `protocol-${typeof type === 'number' ? type : 'unknown'}` };
}

function textContent(text: string, quotedText: string | undefined): MessageContent {
  if (text.trim() === '') return { kind: 'text', text, quotedText, ignoredReason: 'empty-text' };
  return { kind: 'text', text, quotedText };
}

/** Removes envelopes and edits; an edit names the message that it replaces. */
function unwrap(message: unknown): { node?: Node; editOf?: string } {
  let node = object(message);
  let editOf: string | undefined;
  for (let depth = 0; node && depth < MAX_DEPTH; depth++) {
    const protocol = object(node.protocolMessage);
    const edited = object(protocol?.editedMessage);
    if (protocol && edited && (protocol.type ?? MESSAGE_EDIT) === MESSAGE_EDIT) {
      editOf = words(object(protocol.key)?.id) || editOf;
      node = edited;
      continue;
    }
    const inner = innerOf(node);
    if (!inner) break;
    node = inner;
  }
  return { node, editOf };
}

function innerOf(node: Node): Node | undefined {
  for (const key of WRAPPERS) {
    const inner = object(object(node[key])?.message);
    if (inner) return inner;
  }
  return undefined;
}

function quotedTextOf(inner: Node): string | undefined {
  const quoted = object(object(inner.contextInfo)?.quotedMessage);
  if (!quoted) return undefined;
  const node = unwrap(quoted).node;
  if (!node) return undefined;
  const text = words(node.conversation) || firstOf(node, TEXTS) || firstCardText(node);
  return text || undefined;
}

function firstOf(node: Node, table: Array<[Key, string[]]>): string {
  for (const [key, paths] of table) {
    const inner = object(node[key]);
    if (inner) return firstWords(inner, paths);
  }
  return '';
}

function firstCardText(node: Node): string {
  for (const [key, , captions, names] of CARDS) {
    const inner = object(node[key]);
    if (inner) return firstWords(inner, [...captions, ...names]);
  }
  return '';
}

function firstWords(node: Node, paths: string[]): string {
  for (const path of paths) {
    let value: unknown = node;
    for (const step of path.split('.')) value = object(value)?.[step];
    const text = words(value);
    if (text) return text;
  }
  return '';
}

/**
 * A string that every store accepts: no NUL (PostgreSQL rejects it), no half of a surrogate pair, not longer than
 * `maxChars`; '' for anything but a string.
 */
export function words(value: unknown, maxChars = MAX_TEXT_CHARS): string {
  if (typeof value !== 'string') return '';
  const cut = value.length > maxChars ? value.slice(0, maxChars) : value;
  return cleanText(cut);
}

function object(value: unknown): Node | undefined {
  return typeof value === 'object' && value !== null ? (value as Node) : undefined;
}
