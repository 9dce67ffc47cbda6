import type { TextMatcher } from '../../core/ports/text-matcher.ts';
import type { Expectation } from './scenario.ts';
import type { ShownEvent } from './scenario-world.ts';

/** `other`: the expectation is about something else, or not met yet. `forbidden`: what must not be said was said. */
export type Verdict = 'fits' | 'forbidden' | 'other';

/** Whether an event meets an expectation. */
export async function judgeEvent(
  expected: Expectation,
  event: ShownEvent,
  matcher: TextMatcher,
): Promise<Verdict> {
  const { reaction, file, not, withinMs: _, ...ofText } = expected;
  if (reaction !== undefined) {
    return event.kind === 'reaction' && event.emoji === reaction ? 'fits' : 'other';
  }
  if (!isSaid(event)) return 'other';
  if (not && (await anyHolds(not, event, matcher))) return 'forbidden';
  if (file !== undefined && event.file?.kind !== file) return 'other';
  return (await allHold(ofText, event, matcher)) ? 'fits' : 'other';
}

/** Whether an event is something that the account says: a message, or its new text. */
export function isSaid(event: ShownEvent): event is ShownEvent & { kind: 'message' } {
  return event.kind === 'message' && event.special !== 'deletion';
}

/** Whether it breaks a silence. A new text of a message that was shown before does not. */
export function breaksSilence(event: ShownEvent): boolean {
  return isSaid(event) && event.special !== 'edit';
}

/** What an event says, in one line. */
export function wordsOf(event: ShownEvent): string {
  if (event.kind === 'reaction') return `reaction ${event.emoji}`;
  if (event.kind !== 'message') return event.kind;
  const file = event.file && `[${event.file.kind}${event.file.fileName ? ` ${event.file.fileName}` : ''}]`;
  const special = event.special && event.special !== 'edit' ? `[${event.special}]` : undefined;
  return [file, special, event.text].filter(Boolean).join(' ');
}

type OfText = NonNullable<Expectation['not']>;

type Said = ShownEvent & { kind: 'message' };

async function allHold(wanted: OfText, said: Said, matcher: TextMatcher): Promise<boolean> {
  return (await holding(wanted, said, matcher)).every(Boolean);
}

async function anyHolds(wanted: OfText, said: Said, matcher: TextMatcher): Promise<boolean> {
  return (await holding(wanted, said, matcher)).some(Boolean);
}

/** Of each assertion, whether it holds. A pattern that takes too long does not. */
async function holding(
  { contains, equals, matches, quotes }: OfText,
  { text, quotedText }: Said,
  matcher: TextMatcher,
): Promise<boolean[]> {
  return [
    ...(contains === undefined ? [] : [has(text, contains)]),
    ...(equals === undefined ? [] : [text === equals]),
    ...(quotes === undefined ? [] : [quotedText !== undefined && has(quotedText, quotes)]),
    ...(matches === undefined ? [] : [(await matcher.test(matches, text)) === 'match']),
  ];
}

function has(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase());
}
