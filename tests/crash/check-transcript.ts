import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { TranscriptEntry } from '../whatsapp-emulator/transcript.ts';
import type { Chat } from './chats.ts';

/** A message or reply that breaks a promise, with the ids to trace it by. */
export interface Violation {
  chat: string;
  text: string;
  reader?: string;
  ids: string[];
}

/** What people saw, compared with the promises. */
export interface TranscriptCheck {
  messages: number;
  /** Messages for which some reader saw no reply. */
  unanswered: Violation[];
  /** Replies shown more than once, as several bubbles. */
  twice: Violation[];
  /** Replies after the reply to a later message of the chat; the ids include that message. */
  outOfOrder: Violation[];
  /** Bubbles that answer no message. */
  unexpected: Violation[];
  /** Replies that a person could never read. */
  unreadable: Violation[];
  /** Replies that a person could read only after a retry receipt. */
  readAfterRetry: number;
  /** Messages that the service could not decrypt and requested again. */
  requestedAgain: Violation[];
  /** The same bubble sent more than once: WhatsApp shows it once. */
  repeats: number;
  isPassed: boolean;
}

interface Question {
  id: string;
  text: string;
  /** Before its author edited it. */
  formerTexts: string[];
}

/** Checks only the emulator's record: what people wrote and what each person saw. */
export function checkTranscript(
  emulator: Pick<WhatsAppEmulator, 'transcript'>,
  chats: readonly Chat[],
): TranscriptCheck {
  const entries = emulator.transcript();
  const check: TranscriptCheck = {
    messages: 0,
    unanswered: [],
    twice: [],
    outOfOrder: [],
    unexpected: [],
    unreadable: [],
    readAfterRetry: 0,
    requestedAgain: [],
    repeats: 0,
    isPassed: false,
  };
  for (const chat of chats) {
    const people = new Set(chat.people.map(({ pn }) => pn));
    const isHere = (entry: TranscriptEntry) =>
      chat.kind === 'group' ? entry.chat === chat.key : people.has(entry.person) && !isGroup(entry.chat);
    const asked = questions(entries.filter((entry) => entry.kind === 'in' && isHere(entry)));
    check.messages += asked.length;
    const read = entries.filter((entry) => entry.kind === 'read' && isHere(entry));
    for (const person of people) {
      checkReader(
        chat,
        person,
        asked,
        read.filter((entry) => entry.person === person),
        check,
      );
    }
    const retried = new Set(
      entries
        .filter((entry) => entry.kind === 'receipt' && entry.detail === 'retry' && isHere(entry))
        .map(({ id }) => id),
    );
    for (const { id, text } of asked) {
      if (retried.has(id)) check.requestedAgain.push({ chat: chat.name, text, ids: [id] });
    }
  }
  const { unanswered, twice, outOfOrder, unexpected, unreadable, requestedAgain } = check;
  check.isPassed = [unanswered, twice, outOfOrder, unexpected, unreadable, requestedAgain].every(
    (list) => list.length === 0,
  );
  return check;
}

/** What people asked, in order. A question that its author edited has its last text; an answer to a former one may be there too. */
function questions(entries: readonly TranscriptEntry[]): Question[] {
  const known = new Map<string, Question>();
  for (const { id, text = '', changes } of entries) {
    const changed = known.get(changes ?? '');
    if (changed && changed.text !== text) {
      changed.formerTexts.push(changed.text);
      changed.text = text;
    }
    if (!changes && !known.has(id)) known.set(id, { id, text, formerTexts: [] });
  }
  return [...known.values()];
}

/** The messages that a reply answers: several lines when they were one question. A text that is no echo answers none. */
export function questionsIn(reply: string): string[] {
  return reply.startsWith('Echo: ') ? reply.slice('Echo: '.length).split('\n') : [reply];
}

/**
 * A bubble's position is where it was first delivered, readable or not: WhatsApp shows messages in the server's order. Its text
 * is that of its last edit; an edit that a reader could never read matters only when the text is wrong at the end.
 */
function checkReader(
  chat: Chat,
  reader: string,
  asked: readonly Question[],
  read: readonly TranscriptEntry[],
  check: TranscriptCheck,
): void {
  const bubbles = new Map<string, { text: string | undefined; failures: number }>();
  for (const { id, text, detail = '', isChange, changes } of read) {
    if (detail === 'reaction') continue;
    const changed = bubbles.get(changes ?? '');
    if (changed && text === undefined) bubbles.delete(changes ?? '');
    else if (changed) changed.text = text;
    if (isChange) continue;
    const bubble = bubbles.get(id) ?? { text: undefined, failures: 0 };
    if (detail.startsWith('unreadable')) bubble.failures += 1;
    else if (bubble.text === undefined) bubble.text = text;
    else check.repeats += 1;
    bubbles.set(id, bubble);
  }
  const positions = new Map(
    asked.flatMap(({ text, formerTexts }, position) =>
      [text, ...formerTexts].map((each) => [each, position]),
    ),
  );
  const ids = new Map<string, string[]>();
  let furthest = -1;
  let furthestIds: string[] = [];
  for (const [id, { text, failures }] of bubbles) {
    if (text === undefined) {
      check.unreadable.push({ chat: chat.name, text: '', reader, ids: [id] });
      continue;
    }
    if (failures > 0) check.readAfterRetry += 1;
    for (const question of questionsIn(text)) {
      const position = positions.get(question);
      if (position === undefined) check.unexpected.push({ chat: chat.name, text, reader, ids: [id] });
      else if (position < furthest) {
        check.outOfOrder.push({ chat: chat.name, text, reader, ids: [id, ...furthestIds] });
      } else {
        furthest = position;
        furthestIds = [id, asked[position]?.id ?? ''];
      }
      ids.set(question, [...(ids.get(question) ?? []), id]);
    }
  }
  for (const { id, text, formerTexts } of asked) {
    const answers = ids.get(text) ?? [];
    const violation = { chat: chat.name, text, reader, ids: [id, ...answers] };
    if (answers.length === 0) check.unanswered.push(violation);
    const isTwice = [text, ...formerTexts].some((each) => (ids.get(each)?.length ?? 0) > 1);
    if (isTwice) check.twice.push(violation);
  }
}

function isGroup(jid: string): boolean {
  return jid.endsWith('@g.us');
}
