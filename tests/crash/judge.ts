import type { WhatsAppEmulator } from '../whatsapp-emulator/emulator.ts';
import type { TranscriptEntry } from '../whatsapp-emulator/transcript.ts';
import type { Chat } from './chats.ts';

/** A message or reply that is not as promised, with the ids to follow it by. */
export interface Complaint {
  chat: string;
  text: string;
  reader?: string;
  ids: string[];
}

/** What people saw, compared with what they may expect. */
export interface Verdict {
  messages: number;
  /** Messages without an answer in front of some reader. */
  unanswered: Complaint[];
  /** Answers that stand there more than once, as several bubbles. */
  twice: Complaint[];
  /** Answers that came after the answer to a later message of the chat; the ids name that one too. */
  outOfOrder: Complaint[];
  /** Bubbles that answer no message. */
  unexpected: Complaint[];
  /** Replies that a person could never read. */
  unreadable: Complaint[];
  /** Replies that a person could read only after asking again. */
  healed: number;
  /** Messages that the service could not decrypt, and had to ask for again. */
  askedAgain: Complaint[];
  /** The same bubble sent more than once: WhatsApp shows it once. */
  repeats: number;
  isGood: boolean;
}

/** Judges from the emulator's side alone: what was said, and what each person saw. */
export function judge(emulator: Pick<WhatsAppEmulator, 'transcript'>, chats: readonly Chat[]): Verdict {
  const entries = emulator.transcript();
  const verdict: Verdict = {
    messages: 0,
    unanswered: [],
    twice: [],
    outOfOrder: [],
    unexpected: [],
    unreadable: [],
    healed: 0,
    askedAgain: [],
    repeats: 0,
    isGood: false,
  };
  for (const chat of chats) {
    const people = new Set(chat.people.map(({ pn }) => pn));
    const isHere = (entry: TranscriptEntry) =>
      chat.kind === 'group' ? entry.chat === chat.key : people.has(entry.person) && !isGroup(entry.chat);
    const asked = questions(entries.filter((entry) => entry.kind === 'in' && isHere(entry)));
    verdict.messages += asked.length;
    const read = entries.filter((entry) => entry.kind === 'read' && isHere(entry));
    for (const person of people) {
      judgeReader(
        chat,
        person,
        asked,
        read.filter((entry) => entry.person === person),
        verdict,
      );
    }
    const retried = new Set(
      entries
        .filter((entry) => entry.kind === 'receipt' && entry.detail === 'retry' && isHere(entry))
        .map(({ id }) => id),
    );
    for (const { id, text } of asked) {
      if (retried.has(id)) verdict.askedAgain.push({ chat: chat.name, text, ids: [id] });
    }
  }
  const { unanswered, twice, outOfOrder, unexpected, unreadable, askedAgain } = verdict;
  verdict.isGood = [unanswered, twice, outOfOrder, unexpected, unreadable, askedAgain].every(
    (list) => list.length === 0,
  );
  return verdict;
}

function questions(entries: readonly TranscriptEntry[]): Array<{ id: string; text: string }> {
  const known = new Map<string, { id: string; text: string }>();
  for (const { id, text = '' } of entries) if (!known.has(id)) known.set(id, { id, text });
  return [...known.values()];
}

/** The place of a bubble is where it was first delivered, readable or not, as WhatsApp's own order is the server's. */
function judgeReader(
  chat: Chat,
  reader: string,
  asked: ReadonlyArray<{ id: string; text: string }>,
  read: readonly TranscriptEntry[],
  verdict: Verdict,
): void {
  const bubbles = new Map<string, { text: string | undefined; failures: number }>();
  for (const { id, text, detail = '' } of read) {
    const bubble = bubbles.get(id) ?? { text: undefined, failures: 0 };
    if (detail.startsWith('unreadable')) bubble.failures += 1;
    else if (bubble.text === undefined) bubble.text = text;
    else verdict.repeats += 1;
    bubbles.set(id, bubble);
  }
  const places = new Map(asked.map(({ text }, place) => [`Echo: ${text}`, place]));
  const ids = new Map<string, string[]>();
  let furthest = -1;
  let furthestIds: string[] = [];
  for (const [id, { text, failures }] of bubbles) {
    if (text === undefined) {
      verdict.unreadable.push({ chat: chat.name, text: '', reader, ids: [id] });
      continue;
    }
    if (failures > 0) verdict.healed += 1;
    const place = places.get(text);
    if (place === undefined) verdict.unexpected.push({ chat: chat.name, text, reader, ids: [id] });
    else if (place < furthest) {
      verdict.outOfOrder.push({ chat: chat.name, text, reader, ids: [id, ...furthestIds] });
    } else {
      furthest = place;
      furthestIds = [id, asked[place]?.id ?? ''];
    }
    ids.set(text, [...(ids.get(text) ?? []), id]);
  }
  for (const { id, text } of asked) {
    const answers = ids.get(`Echo: ${text}`) ?? [];
    const complaint = { chat: chat.name, text, reader, ids: [id, ...answers] };
    if (answers.length === 0) verdict.unanswered.push(complaint);
    if (answers.length > 1) verdict.twice.push(complaint);
  }
}

function isGroup(jid: string): boolean {
  return jid.endsWith('@g.us');
}
