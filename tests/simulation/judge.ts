import type { SimDatabase } from './sim-database.ts';
import type { Bubble, SimWhatsApp, Written } from './sim-whatsapp.ts';

/** A promise that was broken. */
export type Broken =
  /** WhatsApp was told that the message is here, and it is not in the inbox. */
  | 'lost'
  | 'never-received'
  /** It is in the inbox, and neither answered nor ended with a reason. */
  | 'unanswered'
  | 'reply-not-delivered'
  | 'answered-twice'
  | 'out-of-order'
  | 'unexpected-reply'
  /** A reply to the text before an edit that replaced it. */
  | 'edit-lost'
  /** A reply with another picture than the one sent, or without it. */
  | 'wrong-file'
  /** A reply is dead although WhatsApp did not refuse it. */
  | 'given-up'
  /** A reply that its reader can never read. */
  | 'unreadable'
  /** An undamaged message that the sender had to send again. */
  | 'asked-again'
  /** A receipt left before the message was stored. */
  | 'receipt-before-commit'
  /** A reply left before its row or its ratchet step was stored. */
  | 'sent-before-commit';

export interface Complaint {
  broken: Broken;
  chat: string;
  text: string;
  /** To follow the message by. */
  ids: Set<string>;
}

/** What every simulation is judged by, after everything has settled. */
export function judge(whatsapp: SimWhatsApp, database: SimDatabase): Complaint[] {
  const complaints: Complaint[] = [];
  for (const message of whatsapp.written) judgeMessage(message, whatsapp, database, complaints);
  for (const [reader, bubbles] of whatsapp.seen) {
    for (const chat of new Set(bubbles.map((bubble) => bubble.chat))) {
      judgeReader(
        reader,
        chat,
        bubbles.filter((bubble) => bubble.chat === chat),
        whatsapp,
        database,
        complaints,
      );
    }
  }
  return complaints;
}

/** Every id by which the log knows a message: its own, its row's, its replies'. */
export function idsOf(waMessageId: string, { state }: SimDatabase): Set<string> {
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
  whatsapp: SimWhatsApp,
  database: SimDatabase,
  complaints: Complaint[],
): void {
  const { id, chat, text } = message;
  const { state } = database;
  const complain = (broken: Broken) => complaints.push({ broken, chat, text, ids: idsOf(id, database) });
  if (message.retries > 0 && !message.wasDamaged) complain('asked-again');
  const rows = [...state.messages.values()].filter((row) => row.waMessageId === id);
  const [row] = rows;
  if (!row) return void complain(message.isReceipted ? 'lost' : 'never-received');
  if (rows.length > 1) complain('answered-twice');
  if (row.state === 'received') return void complain('unanswered');
  if (row.kind === 'undecryptable' && !message.wasDamaged) complain('asked-again');
  const replies = [...state.outbox.values()].filter((reply) => reply.messageId === String(row.id));
  if (replies.length === 0) {
    const letter = state.deadLetters.some((dead) => dead.messageId === String(row.id));
    if (!row.reason || (row.state === 'dead' && !letter)) complain('unanswered');
    return;
  }
  const readers = whatsapp.members(chat);
  for (const reply of replies) {
    if (textAnsweredBy(reply.text) !== row.text) complain('edit-lost');
    if (reply.state === 'dead') {
      if (!state.deadLetters.some((dead) => dead.outboxId === reply.id)) complain('reply-not-delivered');
      if (!whatsapp.refused.has(reply.waMessageId) && !reply.media) complain('given-up');
      continue;
    }
    const isSeen = readers.every((reader) =>
      whatsapp.seen
        .get(reader)
        ?.some((bubble) => bubble.chat === chat && bubble.content?.text === reply.text),
    );
    if (!isSeen) complain('reply-not-delivered');
  }
}

function judgeReader(
  reader: string,
  chat: string,
  bubbles: readonly Bubble[],
  whatsapp: SimWhatsApp,
  database: SimDatabase,
  complaints: Complaint[],
): void {
  const written = whatsapp.written.filter((message) => message.chat === chat);
  const places = placesOf(written, database);
  const answered = new Map<number, string>();
  let furthest = -1;
  for (const bubble of bubbles) {
    const text = bubble.content && textAnsweredBy(bubble.content.text);
    const place = text === undefined ? undefined : places.get(text);
    const message = place === undefined ? undefined : written[place];
    const ids = message ? idsOf(message.id, database) : new Set<string>();
    ids.add(bubble.id);
    const complain = (broken: Broken) =>
      complaints.push({ broken, chat, text: `${bubble.content?.text ?? bubble.id}, seen by ${reader}`, ids });
    if (text === undefined) complain('unreadable');
    else if (place === undefined || !message) complain('unexpected-reply');
    else if (bubble.content?.file !== message.file) complain('wrong-file');
    else if (answered.has(place)) {
      ids.add(answered.get(place) ?? '');
      complain('answered-twice');
    } else {
      answered.set(place, bubble.id);
      if (place < furthest && !message.wasDamaged) {
        for (const id of idsOf(written[furthest]?.id ?? '', database)) ids.add(id);
        complain('out-of-order');
      }
      // One that had to be asked for may come late; it holds up nobody.
      if (!message.wasDamaged) furthest = Math.max(furthest, place);
    }
  }
}

/** The text that the agent answered with this one. */
function textAnsweredBy(reply: string): string {
  return reply.replace(/^Echo: /, '').replace(/ \(run \d+\)$/, '');
}

/** The position of each text in its chat. The text of an applied edit has the position of the message that it replaced. */
function placesOf(written: readonly Written[], { state }: SimDatabase): Map<string, number> {
  const places = new Map(written.map(({ text }, place) => [text, place]));
  const numbers = new Map(written.map(({ id }, place) => [id, place]));
  for (const { waMessageId, text, reason } of state.messages.values()) {
    const place = numbers.get(waMessageId);
    if (place !== undefined && reason !== 'edit-applied') places.set(text, place);
  }
  return places;
}
