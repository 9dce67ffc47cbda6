import type { proto } from '@whiskeysockets/baileys';
import type { IgnoredReason, InboundMedia } from '../../../core/messages/inbound-message.ts';
import type { ContactCard, MessageCard } from '../../../core/messages/message-card.ts';
import type { MediaKind, MessageKind } from '../../../core/models.ts';
import { type FileType, writeReference } from '../media/media.ts';
import { MAX_NAME_CHARS, type Node, object, wholeNumber, words } from './proto-values.ts';

/** The content of a decrypted WhatsApp message, without its envelopes. */
export interface MessageContent {
  kind: MessageKind;
  text: string;
  quotedText?: string;
  media?: InboundMedia;
  /** The file can be seen once only: its kind instead of `media`. */
  viewOnce?: MediaKind;
  /** After how many seconds messages of the chat disappear, 0 for never; absent when the message does not say it. */
  timerSeconds?: number;
  card?: MessageCard;
  /** JIDs of the people whom the text mentions. */
  mentioned?: string[];
  /** JID of the writer of the quoted message. */
  quotedFrom?: string;
  /** WhatsApp id of the message that this one replaces. */
  editOf?: string;
  /** 32 bytes, with which people encrypt edits of the message. */
  secret?: Uint8Array;
  /** WhatsApp id of the message that this one deletes for everyone. */
  deletes?: string;
  /** WhatsApp id of the message that this one reacts to; its text is the emoji, empty when the reaction was taken back. */
  reactsTo?: string;
  /** Set when a person did something that is stored and never answered (see `IgnoredReason`). */
  ignoredReason?: IgnoredReason;
}

type Key = keyof proto.IMessage;

/** Index entries of PostgreSQL have at most 2,704 bytes; WhatsApp's own ids have 16 to 32 characters. */
export const MAX_ID_CHARS = 256;
const MAX_MIME_CHARS = 100;
const MAX_FILE_NAME_CHARS = 200;

const MAX_DEPTH = 12;
const SECRET_BYTES = 32;

/** A timer of WhatsApp has at most 90 days; PostgreSQL's integer takes more. */
const MAX_TIMER_SECONDS = 1_000_000_000;

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

const VIEW_ONCE = new Set<Key>(['viewOnceMessage', 'viewOnceMessageV2', 'viewOnceMessageV2Extension']);

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
const IGNORED: Array<[Key, MessageKind, IgnoredReason, string[]]> = [
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
const EPHEMERAL_SETTING = 3;
const MESSAGE_EDIT = 14;

/**
 * Reads the content of a message. Total: no value makes it throw.
 * Media with a caption is `text`; the other kinds have no text that a person wrote, so their text is ''. A kind that
 * wa2ai does not know is `other`, so that it is stored and not lost.
 * @param message `WAMessage.message`, of any version and depth of wrapping
 * @returns the content, or `skip` with a reason when it has nothing that a person wrote or did
 */
export function readContent(message: unknown): MessageContent | { skip: string } {
  const { node, editOf, secret, isViewOnce, isEphemeral } = unwrap(message);
  if (!node) return { skip: 'no-content' };
  const content = readNode(node, isViewOnce);
  if ('skip' in content) return content;
  const isSilent =
    content.ignoredReason !== undefined || content.kind === 'other' || isEphemeral || editOf !== undefined;
  const timerSeconds = timerIn(node) ?? (isSilent ? undefined : 0);
  const mentioned = mentionedIn(node);
  const quotedFrom = quotedFromIn(node);
  const card = content.ignoredReason === undefined ? cardOf(node) : undefined;
  return {
    ...(timerSeconds !== undefined && { timerSeconds }),
    ...content,
    ...(card && { card }),
    ...(editOf !== undefined && { editOf }),
    ...(secret && content.ignoredReason === undefined && { secret }),
    ...(mentioned.length > 0 && { mentioned }),
    ...(quotedFrom && { quotedFrom }),
  };
}

/** The timer that a message of a chat with disappearing messages names. */
function timerIn(node: Node): number | undefined {
  const contexts = Object.values(node).map((inner) => object(object(inner)?.contextInfo));
  return timer(contexts.find((context) => context?.expiration != null)?.expiration);
}

function timer(value: unknown): number | undefined {
  const seconds = wholeNumber(value);
  return seconds === undefined ? undefined : Math.min(seconds, MAX_TIMER_SECONDS);
}

function quotedFromIn(node: Node): string {
  const contexts = Object.values(node).map((inner) => object(object(inner)?.contextInfo));
  return words(contexts.find((context) => object(context?.quotedMessage))?.participant);
}

function mentionedIn(node: Node): string[] {
  const lists = Object.values(node).map((inner) => object(object(inner)?.contextInfo)?.mentionedJid);
  const jids = lists.find(Array.isArray) ?? [];
  return jids.filter((jid): jid is string => typeof jid === 'string');
}

function readNode(node: Node, isViewOnce: boolean): MessageContent | { skip: string } {
  const plain = words(node.conversation);
  if (plain) return { kind: 'text', text: plain };
  for (const [key, paths] of TEXTS) {
    const inner = object(node[key]);
    if (!inner) continue;
    const text = [firstWords(inner, paths), key === 'interactiveResponseMessage' ? formText(inner) : '']
      .filter((part) => part !== '')
      .join('\n');
    if (text || key === 'extendedTextMessage') return textContent(text, quotedTextOf(inner));
    return { kind: 'other', text: '', quotedText: quotedTextOf(inner) };
  }
  for (const [key, kind, captions] of CARDS) {
    const inner = object(node[key]);
    if (!inner) continue;
    const caption = firstWords(inner, captions);
    const quotedText = quotedTextOf(inner);
    const media = mediaOf(key, inner);
    const file = media && (isViewOnce || inner.viewOnce === true ? { viewOnce: media.kind } : { media });
    return { kind: caption ? 'text' : kind, text: caption, quotedText, ...file };
  }
  for (const [key, kind, ignoredReason, paths] of IGNORED) {
    const inner = object(node[key]);
    if (!inner) continue;
    const reactsTo = kind === 'reaction' ? words(object(inner.key)?.id, MAX_ID_CHARS) : '';
    return { kind, text: firstWords(inner, paths), ignoredReason, ...(reactsTo && { reactsTo }) };
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

function readProtocol(protocol: Node): MessageContent | { skip: string } {
  const type = protocol.type ?? REVOKE;
  const key = object(protocol.key);
  if (type === REVOKE && key) {
    const deletes = words(key.id, MAX_ID_CHARS);
    return { kind: 'other', text: '', ignoredReason: 'deleted', ...(deletes && { deletes }) };
  }
  if (type === EPHEMERAL_SETTING) {
    const timerSeconds = timer(protocol.ephemeralExpiration) ?? 0;
    return { kind: 'other', text: '', ignoredReason: 'timer-changed', timerSeconds };
  }
  return { skip: `protocol-${typeof type === 'number' ? type : 'unknown'}` };
}

function textContent(text: string, quotedText: string | undefined): MessageContent {
  if (text.trim() === '') return { kind: 'text', text, quotedText, ignoredReason: 'empty-text' };
  return { kind: 'text', text, quotedText };
}

/** Removes envelopes and edits; an edit names the message that it replaces. */
function unwrap(message: unknown): {
  node?: Node;
  editOf?: string;
  secret?: Uint8Array;
  isViewOnce: boolean;
  isEphemeral: boolean;
} {
  let node = object(message);
  let editOf: string | undefined;
  let secret: Uint8Array | undefined;
  let isViewOnce = false;
  let isEphemeral = false;
  for (let depth = 0; node && depth < MAX_DEPTH; depth++) {
    secret ??= secretIn(node);
    const protocol = object(node.protocolMessage);
    const edited = object(protocol?.editedMessage);
    if (protocol && edited && (protocol.type ?? MESSAGE_EDIT) === MESSAGE_EDIT) {
      editOf = words(object(protocol.key)?.id) || editOf;
      node = edited;
      continue;
    }
    const envelope = envelopeOf(node);
    if (!envelope) break;
    isViewOnce ||= VIEW_ONCE.has(envelope.key);
    isEphemeral ||= envelope.key === 'ephemeralMessage';
    node = envelope.inner;
  }
  return { node, editOf, secret, isViewOnce, isEphemeral };
}

function secretIn({ messageContextInfo }: Node): Uint8Array | undefined {
  const secret = object(messageContextInfo)?.messageSecret;
  return secret instanceof Uint8Array && secret.length === SECRET_BYTES ? secret : undefined;
}

function envelopeOf(node: Node): { key: Key; inner: Node } | undefined {
  for (const key of WRAPPERS) {
    const inner = object(object(node[key])?.message);
    if (inner) return { key, inner };
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

const MAX_TEXT_CHARS = 2_000;
const MAX_CONTACTS = 20;
const MAX_PHONES = 10;
/** WhatsApp allows twelve. */
const MAX_OPTIONS = 30;
const MAX_VCARD_CHARS = 100_000;
/** The last second that JavaScript's dates have. */
const MAX_SECONDS = 8_640_000_000_000;

/** What a message contains besides text and a file; undefined when it has nothing of the kind. Total, as `readContent`. */
function cardOf(node: Node): MessageCard | undefined {
  for (const [key, read] of CARD_READERS) {
    const inner = object(node[key]);
    if (inner) return read(inner);
  }
  return undefined;
}

const CARD_READERS: Array<[string, (inner: Node) => MessageCard | undefined]> = [
  ['locationMessage', (inner) => location(inner, inner.isLive === true)],
  ['liveLocationMessage', (inner) => location(inner, true)],
  ['contactMessage', (inner) => contacts([inner])],
  ['contactsArrayMessage', ({ contacts: list }) => contacts(Array.isArray(list) ? list : [])],
  ['pollCreationMessage', poll],
  ['pollCreationMessageV2', poll],
  ['pollCreationMessageV3', poll],
  ['pollCreationMessageV5', poll],
  ['eventMessage', event],
  ['extendedTextMessage', link],
  ['buttonsResponseMessage', (inner) => choice(inner.selectedButtonId, inner.selectedDisplayText)],
  ['listResponseMessage', (inner) => choice(object(inner.singleSelectReply)?.selectedRowId, inner.title)],
  ['templateButtonReplyMessage', (inner) => choice(inner.selectedId, inner.selectedDisplayText)],
  ['interactiveResponseMessage', interactiveChoice],
];

function location(inner: Node, isLive: boolean): MessageCard | undefined {
  const { degreesLatitude: latitude, degreesLongitude: longitude } = inner;
  if (!isDegrees(latitude, 90) || !isDegrees(longitude, 180)) return undefined;
  const [name, address] = [words(inner.name, MAX_NAME_CHARS), words(inner.address, MAX_TEXT_CHARS)];
  return {
    ...{ kind: 'location', latitude, longitude },
    ...(name && { name }),
    ...(address && { address }),
    ...(isLive && { isLive: true }),
  };
}

function isDegrees(value: unknown, most: number): value is number {
  return typeof value === 'number' && Number.isFinite(value) && Math.abs(value) <= most;
}

function contacts(list: unknown[]): MessageCard | undefined {
  const read = list.slice(0, MAX_CONTACTS).flatMap((entry) => {
    const inner = object(entry);
    return inner ? [contactOf(inner)] : [];
  });
  return read.length > 0 ? { kind: 'contacts', contacts: read } : undefined;
}

/** Of a vCard, as WhatsApp writes it: `TEL;type=CELL;waid=34600000001:+34 600 00 00 01`. */
function contactOf({ displayName, vcard }: Node): ContactCard {
  const lines = words(vcard, MAX_VCARD_CHARS)
    .replace(/\r?\n[ \t]/g, '')
    .split(/\r?\n/);
  const phones = lines.flatMap((line) => {
    const [, parameters = '', value = ''] = /^(?:item\d+\.)?TEL([^:]*):(.*)$/i.exec(line) ?? [];
    const phone = /;waid=(\d{5,20})/i.exec(parameters)?.[1] ?? words(value.trim(), 50);
    return phone ? [phone] : [];
  });
  const fullName = lines.map((line) => /^FN[^:]*:(.*)$/i.exec(line)?.[1]).find(Boolean);
  const name = words(displayName, MAX_NAME_CHARS) || words(fullName, MAX_NAME_CHARS);
  return { name, phones: [...new Set(phones)].slice(0, MAX_PHONES) };
}

function poll(inner: Node): MessageCard {
  const options = Array.isArray(inner.options) ? inner.options.slice(0, MAX_OPTIONS) : [];
  return {
    kind: 'poll',
    question: words(inner.name, MAX_TEXT_CHARS),
    options: options.map((option) => words(object(option)?.optionName, MAX_NAME_CHARS)).filter(Boolean),
    selectable: wholeNumber(inner.selectableOptionsCount) ?? 0,
  };
}

function event(inner: Node): MessageCard {
  const description = words(inner.description, MAX_TEXT_CHARS);
  const place = words(object(inner.location)?.name, MAX_NAME_CHARS);
  const seconds = wholeNumber(inner.startTime);
  return {
    kind: 'event',
    name: words(inner.name, MAX_NAME_CHARS),
    ...(description && { description }),
    ...(place && { place }),
    ...(seconds && seconds <= MAX_SECONDS && { startsAt: new Date(seconds * 1_000).toISOString() }),
    ...(inner.isCanceled === true && { isCanceled: true }),
  };
}

function link(inner: Node): MessageCard | undefined {
  const url = words(inner.matchedText, MAX_TEXT_CHARS);
  if (!url) return undefined;
  const [title, description] = [words(inner.title, MAX_NAME_CHARS), words(inner.description, MAX_TEXT_CHARS)];
  return { kind: 'link', url, ...(title && { title }), ...(description && { description }) };
}

function choice(id: unknown, title: unknown): MessageCard | undefined {
  const [chosen, shown] = [words(id, MAX_NAME_CHARS), words(title, MAX_NAME_CHARS)];
  if (!chosen && !shown) return undefined;
  return { kind: 'choice', id: chosen || shown, ...(shown && { title: shown }) };
}

/** The parameters are JSON with the id of the button. */
function interactiveChoice(inner: Node): MessageCard | undefined {
  return choice(parametersOf(inner)?.id, object(inner.body)?.text);
}

function parametersOf({ nativeFlowResponseMessage }: Node): Node | undefined {
  try {
    return object(JSON.parse(words(object(nativeFlowResponseMessage)?.paramsJson, MAX_VCARD_CHARS)));
  } catch {
    return undefined;
  }
}

/** Fields of an answered form that are for programs. */
const OWN_FIELDS = /^(?:id|flow_token|wa_flow_|header|description$)/;
const MAX_FIELDS = 100;

/** What a person wrote into a form: one line for each field, `name: Ann`. */
function formText(inner: Node): string {
  const fields = Object.entries(parametersOf(inner) ?? {}).filter(([name]) => !OWN_FIELDS.test(name));
  const lines = fields.slice(0, MAX_FIELDS).flatMap(([name, value]) => {
    const list = Array.isArray(value) ? value : [value];
    const shown = list.map((one) =>
      typeof one === 'object' && one !== null ? JSON.stringify(one) : String(one ?? ''),
    );
    const text = words(shown.filter((one) => one !== '').join(', '), MAX_TEXT_CHARS);
    return text === '' ? [] : [`${words(name, MAX_NAME_CHARS)}: ${text}`];
  });
  return words(lines.join('\n'), MAX_TEXT_CHARS);
}
