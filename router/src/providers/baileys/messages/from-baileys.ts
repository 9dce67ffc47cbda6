import { createHash } from 'node:crypto';
import { jidNormalizedUser, normalizeMessageContent, proto, type WAMessage } from '@whiskeysockets/baileys';
import { canonicalUsername, groupJid, lidJid, parseJid, phoneJid } from '../../../core/chat-id.ts';
import type { SpecialMessage } from '../../../core/delivery/special-message.ts';
import type {
  ChatAddress,
  IgnoredReason,
  InboundDetails,
  InboundMedia,
  InboundMessage,
  MentionedAddress,
  ToUs,
} from '../../../core/messages/inbound-message.ts';
import { changeReference } from '../media/media.ts';
import { decryptWithSecret } from './encrypted-edit.ts';
import { MAX_ID_CHARS, type MessageContent, readContent } from './message-content.ts';
import { MAX_NAME_CHARS, words } from './proto-values.ts';

/** The context of a message; times are epoch milliseconds, numbers and LIDs bare digits. */
export interface FromBaileysContext {
  accountId: string;
  ownPhone?: string;
  ownLid?: string;
  /** `append`: queued at WhatsApp while the account was offline; answered like `notify`. */
  upsertType: 'notify' | 'append' | 'history';
  stanzaOrder: bigint;
  nowMs: number;
  /** Older messages are stored and not answered. */
  maxMessageAgeMs: number;
  /** The number of a LID, digits or JID, when known. Must not throw. */
  pnForLid?: (lid: string) => string | undefined;
  /** What the message chooses in a poll of the account. Absent: it is not a vote, or it cannot be opened. */
  pollAnswer?: PollAnswer;
  /** The name of a group, by its JID, when known. Must not throw. */
  subjectOf?: (jid: string) => string | undefined;
}

type FromBaileysResult = { kind: 'message'; message: InboundMessage } | { kind: 'skip'; reason: string };

type Person = { phone?: string; lid?: string };
type Origin = {
  chat: ChatAddress;
  sender: Person;
  /** The writer's user name, canonical. */
  writerName?: string;
  replyTo?: string;
  isSelfChat?: boolean;
  ignoredReason?: IgnoredReason;
};

/** proto.WebMessageInfo.StubType.CIPHERTEXT: the stanza could not be decrypted, or came without its content. */
const STUB_CIPHERTEXT = 2;
const MAX_MENTIONS = 100;
const MAX_AHEAD_MS = 24 * 60 * 60 * 1000;

/**
 * Translates a message of Baileys' `messages.upsert` into what core stores. Pure and total: no proto makes it throw.
 *
 * Everything that a person wrote or did becomes a message. A message that must not be answered has an `ignoredReason`
 * (`IgnoredReason`): own messages except in the self-chat (core decides on those), status updates, history, old
 * messages, reactions, votes, deletions, pins, calls, changes of the chat's timer or of a group's members and name. Traffic between
 * machines is a `skip`: key distribution, app state, history notices, peer messages, newsletters, and addresses that are not a chat.
 *
 * An undecryptable stanza is kind `undecryptable`; its text may arrive later with the same id.
 * All addresses of the stanza are used: `remoteJid` and `remoteJidAlt`, `participant` and `participantAlt`. One of a
 * pair is a number and the other a LID, in either order; `pnForLid` gives a missing number. `sentAtMs` is WhatsApp's
 * time; without a usable one, or one more than a day ahead of `nowMs`, it is `nowMs`.
 */
export function fromBaileys(m: WAMessage, ctx: FromBaileysContext): FromBaileysResult {
  const key = m?.key;
  const id = words(key?.id);
  if (!id || id.length > MAX_ID_CHARS) return skip('bad-id');
  if (m.category === 'peer') return skip('peer');
  const origin = originOf(m, ctx);
  if (typeof origin === 'string') return skip(origin);
  const content = ctx.pollAnswer ? answerContent(ctx.pollAnswer) : contentOf(m, ctx);
  if ('skip' in content) return skip(content.skip);

  const sentAtMs = sentAt(m.messageTimestamp, ctx.nowMs);
  const ignoredReason =
    origin.ignoredReason ??
    (ctx.nowMs - sentAtMs > ctx.maxMessageAgeMs ? 'too-old' : undefined) ??
    content.ignoredReason;
  // An old message says nothing of the chat's timer now, and a status has no chat.
  const isOfChat = origin.ignoredReason === undefined || origin.ignoredReason === 'own-message';
  const isWritten =
    ignoredReason === 'own-message' &&
    content.ignoredReason === undefined &&
    content.editOf === undefined &&
    ctx.nowMs - sentAtMs <= ctx.maxMessageAgeMs;
  const mentions = mentionsOf(content);
  const toUs = ctx.pollAnswer ? 'quote' : toUsOf(content, ctx);
  const details = detailsOf(content, origin.chat, ctx);
  const username = origin.writerName && `@${origin.writerName}`;
  const pushName = words(m.pushName, MAX_NAME_CHARS) || words(m.verifiedBizName, MAX_NAME_CHARS) || username;
  return {
    kind: 'message',
    message: {
      accountId: ctx.accountId,
      waMessageId: id,
      chat: origin.chat,
      ...(origin.replyTo !== undefined && { replyTo: origin.replyTo }),
      sender: pushName ? { ...origin.sender, pushName } : origin.sender,
      kind: content.kind,
      text: content.text,
      ...(content.quotedText !== undefined && { quotedText: content.quotedText }),
      ...(mentions.length > 0 && { mentions }),
      ...(toUs && { toUs }),
      ...(content.viewOnce && { viewOnce: content.viewOnce }),
      ...(isOfChat && content.timerSeconds !== undefined && { timerSeconds: content.timerSeconds }),
      ...(details && { details }),
      ...(isOfChat && content.secret && { secret: content.secret }),
      ...(content.media && { media: withMessage(content.media, key) }),
      sentAtMs,
      stanzaOrder: ctx.stanzaOrder,
      ...(origin.isSelfChat && { isSelfChat: true }),
      ...(isWritten && { isFromOwner: true }),
      ...(ignoredReason !== undefined && { ignoredReason }),
      ...(content.editOf !== undefined && { editOf: content.editOf }),
      ...(content.deletes !== undefined && { deletes: content.deletes }),
      ...(content.reactsTo !== undefined && { reactsTo: content.reactsTo }),
    },
  };
}

/** The chosen options are the words of the message; a vote that was taken back is stored only. */
function answerContent({ pollId, question, options }: PollAnswer): MessageContent {
  const text = options.join(', ');
  if (text === '') return { kind: 'poll', text, ignoredReason: 'poll-vote' };
  return { kind: 'poll', text, quotedText: question, card: { kind: 'choice', id: pollId, title: text } };
}

function mentionsOf({ mentioned = [] }: MessageContent): MentionedAddress[] {
  const mentions = new Map<string, MentionedAddress>();
  for (const jid of mentioned) {
    if (mentions.size === MAX_MENTIONS) break;
    const address = parse(jid);
    if (address?.kind === 'phone') {
      const { phone } = address;
      mentions.set(phone, { phone, tag: `@${phone}` });
    } else if (address?.kind === 'lid') {
      const { lid } = address;
      mentions.set(`${lid}@lid`, { lid, tag: `@${lid}` });
    }
  }
  return [...mentions.values()];
}

function toUsOf({ mentioned = [], quotedFrom }: MessageContent, ctx: FromBaileysContext): ToUs | undefined {
  const isQuote = quotedFrom !== undefined && isOwn(personOf([quotedFrom], {}), ctx);
  if (!mentioned.some((jid) => isOwn(personOf([jid], {}), ctx))) return isQuote ? 'quote' : undefined;
  return isQuote ? 'both' : 'mention';
}

function detailsOf(
  { card, quotedFrom }: MessageContent,
  chat: ChatAddress,
  ctx: FromBaileysContext,
): InboundDetails | undefined {
  const { phone, lid } = personOf([quotedFrom], {});
  const name = chat.kind === 'group' ? ctx.subjectOf?.(groupJid(chat.groupId)) : undefined;
  const subject = words(name, MAX_NAME_CHARS);
  if (!card && !phone && !lid && !subject) return undefined;
  return {
    ...(card && { card }),
    ...((phone || lid) && { quoted: { ...(phone && { phone }), ...(lid && { lid }) } }),
    ...(subject && { subject }),
  };
}

/** The media, with a reference that names its message. */
function withMessage(media: InboundMedia, key: WAMessage['key']): InboundMedia {
  const { id, remoteJid, participant } = key;
  if (!id || !remoteJid) return media;
  const message = { id, remoteJid, ...(typeof participant === 'string' && { participant }) };
  return { ...media, reference: changeReference(media.reference, { message }) };
}

function contentOf(m: WAMessage, ctx: FromBaileysContext): MessageContent | { skip: string } {
  const content = readContent(m.message);
  const stub = m.messageStubType ?? 0;
  if (!('skip' in content) || stub === 0) {
    // WhatsApp does not send view-once media to linked devices: the message has no content.
    if ('skip' in content && !m.message && m.key?.isViewOnce) return { kind: 'other', text: '' };
    return content;
  }
  if (stub === STUB_CIPHERTEXT) return { kind: 'undecryptable', text: '', ignoredReason: 'undecryptable' };
  const text = groupEventText(stub, m.messageStubParameters, (jids) => nameOf(personOf(jids, ctx), ctx));
  return text === undefined ? { skip: 'chat-event' } : { kind: 'other', text, ignoredReason: 'group-event' };
}

function nameOf(person: Person, ctx: FromBaileysContext): string {
  if (isOwn(person, ctx)) return 'this account';
  return person.phone ? `+${person.phone}` : `member ${person.lid?.slice(-4) ?? '?'}`;
}

/** The chat and the sender of a message, or the reason why there is no chat. */
function originOf(m: WAMessage, ctx: FromBaileysContext): Origin | string {
  const { key } = m;
  const remote = parse(key.remoteJid);
  if (!remote) return 'unknown-address';
  if (remote.kind === 'newsletter') return 'newsletter';
  const history = ctx.upsertType === 'history' ? ('history' as const) : undefined;

  if (remote.kind === 'phone' || remote.kind === 'lid') {
    const person = chatPartner(m, ctx);
    const isSelfChat = isOwn(person, ctx);
    const fromMe = key.fromMe === true || isSelfChat;
    const username = usernameOf(key.remoteJidUsername);
    const chat: ChatAddress = { kind: 'person', ...person, ...(username && { username }) };
    const sender = fromMe ? own(ctx, person) : person;
    // The phone shows the chat under the address that the person used last.
    const replyTo = remote.kind === 'lid' ? lidJid(remote.lid) : phoneJid(remote.phone);
    const ownReason = fromMe && !isSelfChat ? ('own-message' as const) : undefined;
    const writerName = fromMe ? undefined : username;
    return { chat, sender, writerName, replyTo, isSelfChat, ignoredReason: history ?? ownReason };
  }

  const alt = remote.kind === 'group' ? key.participantAlt : (key.participantAlt ?? key.remoteJidAlt);
  const writer = personOf([key.participant ?? m.participant, alt], ctx);
  const fromMe = key.fromMe === true || isOwn(writer, ctx);
  const sender = fromMe ? own(ctx, writer) : writer;
  if (!sender.phone && !sender.lid) return 'no-sender';
  const ownReason = fromMe ? ('own-message' as const) : undefined;
  if (remote.kind === 'group') {
    const chat: ChatAddress = { kind: 'group', groupId: remote.groupId };
    const writerName = fromMe ? undefined : usernameOf(key.participantUsername);
    return { chat, sender, writerName, ignoredReason: history ?? ownReason };
  }
  const broadcast = remote.kind === 'status' ? 'status-broadcast' : 'broadcast-list';
  return {
    chat: { kind: 'person', phone: sender.phone, lid: sender.lid },
    sender,
    ignoredReason: history ?? ownReason ?? broadcast,
  };
}

/**
 * The other person of a 1:1 chat. In an own message from another device, Baileys sets `remoteJidAlt` from the sender's
 * attributes, so it may be the account's second address: merged with the partner, two people would become one.
 */
function chatPartner(m: WAMessage, ctx: FromBaileysContext): Person {
  const { key } = m;
  if (key.fromMe !== true) return personOf([key.remoteJid, key.remoteJidAlt], ctx);
  const partner = personOf([key.remoteJid], ctx);
  const alt = personOf([key.remoteJidAlt], {});
  const ownIsKnown = alt.phone ? ctx.ownPhone !== undefined : ctx.ownLid !== undefined;
  if (!ownIsKnown || isOwn(alt, ctx) || isOwn(partner, ctx)) return partner;
  return { phone: partner.phone ?? alt.phone, lid: partner.lid ?? alt.lid };
}

function usernameOf(name: unknown): string | undefined {
  return typeof name === 'string' ? canonicalUsername(name) : undefined;
}

function personOf(jids: unknown[], ctx: Pick<FromBaileysContext, 'pnForLid'>): Person {
  const person: Person = {};
  for (const jid of jids) {
    const address = parse(jid);
    if (address?.kind === 'phone') person.phone ??= address.phone;
    if (address?.kind === 'lid') person.lid ??= address.lid;
  }
  if (person.lid && !person.phone) {
    const known = ctx.pnForLid?.(person.lid);
    const address = known?.includes('@') ? parse(known) : known && parseJid(phoneJid(known));
    if (address && address.kind === 'phone') person.phone = address.phone;
  }
  return person;
}

function own(ctx: FromBaileysContext, otherwise: Person): Person {
  if (!ctx.ownPhone && !ctx.ownLid) return otherwise;
  return { ...(ctx.ownPhone && { phone: ctx.ownPhone }), ...(ctx.ownLid && { lid: ctx.ownLid }) };
}

function isOwn(person: Person, ctx: FromBaileysContext): boolean {
  return (
    (person.phone !== undefined && person.phone === ctx.ownPhone) ||
    (person.lid !== undefined && person.lid === ctx.ownLid)
  );
}

function parse(jid: unknown) {
  return typeof jid === 'string' ? parseJid(jid) : undefined;
}

/** WhatsApp's whole seconds (number, Long, a stored Long's halves, or decimal string) in milliseconds. */
function sentAt(timestamp: unknown, nowMs: number): number {
  const sentAtMs = Math.trunc(secondsOf(timestamp)) * 1000;
  return sentAtMs > 0 && sentAtMs <= nowMs + MAX_AHEAD_MS ? sentAtMs : nowMs;
}

function secondsOf(timestamp: unknown): number {
  if (typeof timestamp === 'number') return timestamp;
  if (typeof timestamp === 'bigint') return Number(timestamp);
  if (typeof timestamp === 'string') return /^\d{1,15}$/.test(timestamp) ? Number(timestamp) : 0;
  if (typeof timestamp !== 'object' || timestamp === null) return 0;
  const { low, high } = timestamp as { low?: unknown; high?: unknown };
  if (typeof low !== 'number') return 0;
  return (low >>> 0) + (typeof high === 'number' ? high * 2 ** 32 : 0);
}

function skip(reason: string): FromBaileysResult {
  return { kind: 'skip', reason };
}

type Poll = Extract<SpecialMessage, { kind: 'poll' }>;

/** What a person chose in a poll of the account. */
export interface PollAnswer {
  pollId: string;
  question: string;
  /** Of the poll, in its order; none when the person took the vote back. */
  options: string[];
}

/** WhatsApp's id of the poll that a message votes in; undefined for any other message. */
export function pollIdOf({ message }: WAMessage): string | undefined {
  const vote = normalizeMessageContent(message ?? undefined)?.pollUpdateMessage;
  return (vote?.vote && vote.pollCreationMessageKey?.id) || undefined;
}

/**
 * Opens a vote in a poll that the account sent.
 * @returns undefined when it cannot be opened
 */
export function openVote(
  { message, key }: WAMessage,
  pollId: string,
  poll: Poll,
  own: ReadonlyArray<string | undefined>,
): PollAnswer | undefined {
  const vote = normalizeMessageContent(message ?? undefined)?.pollUpdateMessage?.vote;
  if (!vote) return undefined;
  const voters = key.participant ? [key.participant, key.participantAlt] : [key.remoteJid, key.remoteJidAlt];
  const plaintext = decryptWithSecret(vote, {
    use: 'Poll Vote',
    secret: Buffer.from(poll.secret, 'base64'),
    messageId: pollId,
    authors: jids(own),
    writers: jids(voters),
  });
  const selected = plaintext && selectedIn(plaintext);
  if (!selected) return undefined;
  const options = poll.options.filter((option) => selected.has(hashOf(option)));
  return { pollId, question: poll.question, options };
}

/** Hashes of the chosen options. */
function selectedIn(plaintext: Uint8Array): Set<string> | undefined {
  try {
    const { selectedOptions } = proto.Message.PollVoteMessage.decode(plaintext);
    return new Set((selectedOptions ?? []).map((hash) => Buffer.from(hash).toString('hex')));
  } catch {
    return undefined;
  }
}

function jids(given: ReadonlyArray<string | null | undefined>): string[] {
  return [...new Set(given.flatMap((jid) => (jid ? [jidNormalizedUser(jid)] : [])))];
}

function hashOf(option: string): string {
  return createHash('sha256').update(option).digest('hex');
}

/** Values of proto.WebMessageInfo.StubType: what Baileys makes of WhatsApp's notifications about a group. */
const CHANGE_SUBJECT = 21;
const PARTICIPANT_INVITE = 31;
const PARTICIPANT_LEAVE = 32;
const VERBS: Readonly<Record<number, string>> = {
  27: 'added',
  28: 'removed',
  29: 'gave the rights of an admin to',
  30: 'took the rights of an admin from',
};
const EVENTS: ReadonlySet<number> = new Set([CHANGE_SUBJECT, PARTICIPANT_INVITE, PARTICIPANT_LEAVE]);
/** Of an event that concerns more, the others are counted. */
const MAX_PEOPLE = 10;
const MAX_SUBJECT_CHARS = 200;

/** Whether it is an event that has a text. */
export function isGroupEvent(stub: unknown): boolean {
  return typeof stub === 'number' && (stub in VERBS || EVENTS.has(stub));
}

/**
 * What a member did with a group, as an agent can read it behind the member's name: `added +5493777239922`, `left the group`.
 * Pure; undefined for other events.
 * @param stub `messageStubType`
 * @param parameters `messageStubParameters`: people as JSON of `{id, phoneNumber?, lid?}`, or the new name of the group
 * @param nameOf a person as text, by all JIDs that the event has
 */
export function groupEventText(
  stub: unknown,
  parameters: unknown,
  nameOf: (jids: unknown[]) => string,
): string | undefined {
  const given = Array.isArray(parameters) ? parameters : [];
  if (stub === CHANGE_SUBJECT) return `named the group "${words(given[0], MAX_SUBJECT_CHARS)}"`;
  if (stub === PARTICIPANT_INVITE) return 'joined the group by its link';
  if (stub === PARTICIPANT_LEAVE) return 'left the group';
  const verb = typeof stub === 'number' ? VERBS[stub] : undefined;
  if (verb === undefined || given.length === 0) return undefined;
  const people = given.slice(0, MAX_PEOPLE).map((parameter) => nameOf(jidsOf(parameter)));
  const more = given.length > MAX_PEOPLE ? [`${given.length - MAX_PEOPLE} more`] : [];
  return `${verb} ${[...people, ...more].join(', ')}`;
}

function jidsOf(parameter: unknown): unknown[] {
  if (typeof parameter !== 'string') return [];
  try {
    const { id, phoneNumber, lid } = JSON.parse(parameter) as Record<string, unknown>;
    return [id, phoneNumber, lid];
  } catch {
    return [parameter];
  }
}
