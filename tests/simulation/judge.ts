import { MediaError } from '../../router/src/core/errors.ts';
import { textAnsweredBy } from './sim-agent.ts';
import type { SimDatabase } from './sim-database.ts';
import type { SimMediaServer } from './sim-media-server.ts';
import { type Poison, TURN_ATTEMPTS } from './sim-node.ts';
import type { Bubble, SimWhatsApp, Written } from './sim-whatsapp.ts';

/** Which promise is broken, and how. */
export type ViolationKind =
  /** WhatsApp has the receipt of the message, and the message is not in the inbox. */
  | 'lost'
  | 'never-received'
  /** The message is in the inbox, and neither answered nor ended with a reason. */
  | 'unanswered'
  | 'reply-not-delivered'
  | 'answered-twice'
  | 'out-of-order'
  | 'unexpected-reply'
  /** A reply to the text before an edit that replaced it, or an encrypted edit that was not read. */
  | 'edit-lost'
  /** A reply with another picture than the one sent, or without it. */
  | 'wrong-file'
  /** A message is a dead letter because processes ended, although not it ended them, and fewer ended than it may survive. */
  | 'wrongly-suspected'
  /** A reply is dead although WhatsApp did not refuse it. */
  | 'given-up'
  /** A reply that its reader cannot decrypt. */
  | 'unreadable'
  /** An undamaged message that the sender had to send again. */
  | 'retry-requested'
  /** A receipt left before the message was stored. */
  | 'receipt-before-commit'
  /** A reply left before its row or its ratchet step was stored. */
  | 'sent-before-commit';

export interface Violation {
  kind: ViolationKind;
  chat: string;
  text: string;
  /** Ids that the message's way is printed for. */
  ids: Set<string>;
}

/** What a person reads when the file of a message cannot be loaded. */
const FILE_NOTICE = new MediaError('MEDIA_UNAVAILABLE', { sentence: '' }).forPerson;

/** A message or a reply during which so many processes ended may be a dead letter, whatever ended them (core/suspects.ts). */
const MAX_ENDS = 3;

/**
 * Checks the promises after everything has settled.
 * @param endsOf the processes that ended while a message or a reply was open, by `message#1` and `outbox#1`
 */
export function judge(
  whatsapp: Pick<SimWhatsApp, 'written' | 'seen' | 'refused' | 'members'>,
  database: Pick<SimDatabase, 'state'>,
  mediaServer: Pick<SimMediaServer, 'failedDownloads'>,
  poison: Poison | undefined,
  endsOf: ReadonlyMap<string, ReadonlySet<string>> = new Map(),
): Violation[] {
  const violations: Violation[] = [];
  const notices = noticesOf(whatsapp, database, mediaServer);
  for (const message of whatsapp.written) {
    judgeMessage(message, whatsapp, database, { notices, poison, endsOf }, violations);
  }
  for (const [reader, bubbles] of whatsapp.seen) {
    for (const chat of new Set(bubbles.map((bubble) => bubble.chat))) {
      judgeReader(
        reader,
        chat,
        bubbles.filter((bubble) => bubble.chat === chat),
        whatsapp,
        database,
        notices,
        violations,
      );
    }
  }
  return violations;
}

/**
 * Replies that rightly say that the file of a message could not be loaded, by their WhatsApp id, with the message's text:
 * each download of the turn failed, and the message is a dead letter.
 */
function noticesOf(
  { written }: Pick<SimWhatsApp, 'written'>,
  { state }: Pick<SimDatabase, 'state'>,
  mediaServer: Pick<SimMediaServer, 'failedDownloads'>,
): Map<string, string> {
  const notices = new Map<string, string>();
  for (const { waMessageId, messageId, text } of state.outbox.values()) {
    const row = state.messages.get(Number(messageId));
    const path = written.find(({ id }) => id === row?.waMessageId)?.file;
    if (!row || path === undefined || text !== FILE_NOTICE) continue;
    const isDead = row.state === 'dead' && state.deadLetters.some((dead) => dead.messageId === messageId);
    if (isDead && mediaServer.failedDownloads(path) >= TURN_ATTEMPTS) notices.set(waMessageId, row.text);
  }
  return notices;
}

/** The ids of a message in the log: its own, its row's and those of its replies. */
export function idsOf(waMessageId: string, { state }: Pick<SimDatabase, 'state'>): Set<string> {
  const ids = new Set([waMessageId]);
  for (const row of state.messages.values()) {
    if (row.waMessageId !== waMessageId) continue;
    ids.add(`message#${row.id}`);
    for (const reply of state.outbox.values()) {
      if (reply.messageId !== String(row.id)) continue;
      ids.add(`outbox#${reply.id}`);
      ids.add(reply.waMessageId);
    }
  }
  return ids;
}

function judgeMessage(
  message: Written,
  whatsapp: Pick<SimWhatsApp, 'seen' | 'refused' | 'members'>,
  database: Pick<SimDatabase, 'state'>,
  {
    notices,
    poison,
    endsOf,
  }: {
    notices: ReadonlyMap<string, string>;
    poison: Poison | undefined;
    endsOf: ReadonlyMap<string, ReadonlySet<string>>;
  },
  violations: Violation[],
): void {
  const { id, chat, text } = message;
  const { state } = database;
  const report = (kind: ViolationKind) => violations.push({ kind, chat, text, ids: idsOf(id, database) });
  if (message.retries > 0 && !message.wasDamaged) report('retry-requested');
  const survives = (work: string) => (endsOf.get(work)?.size ?? 0) < MAX_ENDS;
  const isPoison = (at: Poison['at']) => poison?.at === at && poison.text === text;
  const isOf = (waMessageId: string) =>
    waMessageId === id || (isPoison('stanza') && waMessageId === `${id}:undecryptable`);
  const rows = [...state.messages.values()].filter((row) => isOf(row.waMessageId));
  const [row] = rows;
  if (!row) return void report(message.isReceipted ? 'lost' : 'never-received');
  if (rows.length > 1) report('answered-twice');
  if (row.state === 'received') return void report('unanswered');
  if (row.kind === 'undecryptable' && !message.wasDamaged && !isPoison('stanza')) report('retry-requested');
  if (row.reason === 'encrypted-edit') {
    const original = [...state.messages.values()].find((each) => each.waMessageId === message.editOf);
    if (original && original.id < row.id && original.kind !== 'undecryptable') report('edit-lost');
  }
  if (row.reason === 'PROCESS_ENDED' && !isPoison('answer') && survives(`message#${row.id}`)) {
    report('wrongly-suspected');
  }
  const replies = [...state.outbox.values()].filter((reply) => reply.messageId === String(row.id));
  if (replies.length === 0) {
    const letter = state.deadLetters.some((dead) => dead.messageId === String(row.id));
    if (!row.reason || (row.state === 'dead' && !letter)) report('unanswered');
    return;
  }
  const readers = whatsapp.members(chat);
  for (const reply of replies) {
    const answered = notices.get(reply.waMessageId) ?? textAnsweredBy(reply.text);
    if (answered !== row.text) report('edit-lost');
    if (reply.state === 'dead') {
      if (!state.deadLetters.some((dead) => dead.outboxId === reply.id)) report('reply-not-delivered');
      const isSuspected = state.deadLetters.some(
        (dead) => dead.outboxId === reply.id && dead.reason === 'process-ended',
      );
      if (isSuspected && !isPoison('reply') && survives(`outbox#${reply.id}`)) report('wrongly-suspected');
      if (!isSuspected && !whatsapp.refused.has(reply.waMessageId) && !reply.media) report('given-up');
      continue;
    }
    const isSeen = readers.every((reader) =>
      whatsapp.seen
        .get(reader)
        ?.some((bubble) => bubble.chat === chat && bubble.content?.text === reply.text),
    );
    if (!isSeen) report('reply-not-delivered');
  }
}

function judgeReader(
  reader: string,
  chat: string,
  bubbles: readonly Bubble[],
  whatsapp: Pick<SimWhatsApp, 'written' | 'refused'>,
  database: Pick<SimDatabase, 'state'>,
  notices: ReadonlyMap<string, string>,
  violations: Violation[],
): void {
  const written = whatsapp.written.filter((message) => message.chat === chat);
  const positions = positionsOf(written, database);
  const answered = new Map<number, string>();
  let furthest = -1;
  for (const bubble of bubbles) {
    const notice = bubble.content?.text === FILE_NOTICE ? notices.get(bubble.id) : undefined;
    const text = notice ?? (bubble.content && textAnsweredBy(bubble.content.text));
    const position = text === undefined ? undefined : positions.get(text);
    const message = position === undefined ? undefined : written[position];
    const ids = message ? idsOf(message.id, database) : new Set<string>();
    ids.add(bubble.id);
    const report = (kind: ViolationKind) =>
      violations.push({ kind, chat, text: `${bubble.content?.text ?? bubble.id}, seen by ${reader}`, ids });
    if (text === undefined) report('unreadable');
    else if (position === undefined || !message) report('unexpected-reply');
    else if (bubble.content?.file !== (notice === undefined ? message.file : undefined)) report('wrong-file');
    else if (answered.has(position)) {
      ids.add(answered.get(position) ?? '');
      report('answered-twice');
    } else {
      answered.set(position, bubble.id);
      // An error ack may come after the next reply was sent: a reply that WhatsApp refused for a time is late.
      if (position < furthest && !message.wasDamaged && !whatsapp.refused.has(bubble.id)) {
        for (const id of idsOf(written[furthest]?.id ?? '', database)) ids.add(id);
        report('out-of-order');
      }
      // A message that was requested again may come late; it delays no other.
      if (!message.wasDamaged) furthest = Math.max(furthest, position);
    }
  }
}

/** The position of each text in its chat. The text of an applied edit has the position of the message that it replaced. */
function positionsOf(
  written: readonly Written[],
  { state }: Pick<SimDatabase, 'state'>,
): Map<string, number> {
  const positions = new Map(written.map(({ text }, position) => [text, position]));
  const numbers = new Map(written.map(({ id }, position) => [id, position]));
  for (const { waMessageId, text, reason } of state.messages.values()) {
    const position = numbers.get(waMessageId);
    if (position !== undefined && reason !== 'edit-applied') positions.set(text, position);
  }
  return positions;
}
