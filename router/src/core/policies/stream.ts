import type { FormatReply } from '../ports/converters.ts';
import { filterEgress } from './egress-filter.ts';
import { shapeReply } from './reply.ts';
import type { ChatSettings } from './settings.ts';

/** Messages that an answer becomes before it is complete; the rest is one more. */
const MAX_PARTS = 20;

const FENCE_LINE = /^ {0,3}(`{3,}|~{3,})(.*)/;
const HEADING = /^ {0,3}#{1,6}(?:\s|$)/;
/** The start of a line that belongs to the paragraph before it, or that may do so when it is complete. */
const CONTINUES = /^(?:\s|[-*+](?:\s|$)|\d{1,9}(?:[.)](?:\s|$)|$)|$)/;

/**
 * The paragraphs of a text that is still being written, in order: each with the blank lines after it, and only those that are
 * complete. Concatenated they are the start of the text, and a longer text has them too. A list, a heading with the
 * paragraph below it and a code block stay whole.
 */
export function completeParagraphs(text: string): string[] {
  const paragraphs: string[] = [];
  let fence: string | undefined;
  let start = 0;
  let isAfterBlank = false;
  let lastLine = '';
  let at = 0;
  for (const line of text.split(/(?<=\n)/)) {
    // a line break may have arrived in part
    const shown = withoutLineEnd(line);
    const isBlank = shown.trim() === '';
    const isCut = isAfterBlank && !fence && !isBlank && !CONTINUES.test(shown) && !HEADING.test(lastLine);
    if (isCut && text.slice(start, at).trim() !== '') {
      paragraphs.push(text.slice(start, at));
      if (paragraphs.length >= MAX_PARTS) return paragraphs;
      start = at;
    }
    const [, mark = '', after = ''] = FENCE_LINE.exec(shown) ?? [];
    if (mark && !fence) fence = mark;
    else if (fence && mark.startsWith(fence) && after.trim() === '') fence = undefined;
    isAfterBlank = isBlank;
    if (!isBlank) lastLine = shown;
    at += line.length;
  }
  return paragraphs;
}

function withoutLineEnd(line: string): string {
  const text = line.endsWith('\n') ? line.slice(0, -1) : line;
  return text.endsWith('\r') ? text.slice(0, -1) : text;
}

/** How texts of the running answer are shown. */
export interface StreamShaping {
  conversation: Pick<ChatSettings, 'reply' | 'egressFilter'>;
  formatReply: FormatReply;
}

/**
 * The messages that the complete paragraphs of a text become. None once something of the text must not leave: what that
 * is may only be seen in the whole text.
 */
export function paragraphMessages(text: string, { conversation, formatReply }: StreamShaping): string[] {
  if (conversation.egressFilter === 'on' && filterEgress(text).removed.length > 0) return [];
  return completeParagraphs(text).flatMap((paragraph) =>
    messagesOf(paragraph, { conversation, formatReply }),
  );
}

/**
 * What of a complete answer was not sent as paragraphs. The whole answer when it does not begin with them: another run of
 * the agent gave it.
 * @param sent the messages that were sent, as `paragraphMessages` makes them
 */
export function unsentText(text: string, sent: readonly string[], shaping: StreamShaping): string {
  let count = 0;
  let length = 0;
  const complete = completeParagraphs(text);
  const rest = text.slice(complete.join('').length);
  for (const paragraph of [...complete, rest]) {
    if (count === sent.length) return text.slice(length);
    const messages = messagesOf(paragraph, shaping);
    if (messages.some((message, index) => message !== sent[count + index])) return text;
    count += messages.length;
    length += paragraph.length;
  }
  return count === sent.length ? '' : text;
}

/**
 * The messages that show a text as far as it is written: without its last word, which may be the start of a secret, and
 * without what must not leave.
 */
export function growingMessages(text: string, shaping: StreamShaping): string[] {
  return messagesOf(withoutLastWord(text), shaping);
}

/** Of a script without spaces, without its last characters: the last one may be incomplete. */
function withoutLastWord(text: string): string {
  const isInWord = (at: number) => at >= 0 && text.charCodeAt(at) > 0x20 && text.charCodeAt(at) < 0x7f;
  let end = text.length;
  while (isInWord(end - 1)) end -= 1;
  if (end === text.length) while (end > text.length - 8 && text.charCodeAt(end - 1) > 0x7f) end -= 1;
  if (/[\ud800-\udbff]/.test(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end).trimEnd();
}

function messagesOf(text: string, { conversation, formatReply }: StreamShaping): string[] {
  const { replies } = shapeReply({ success: true, response: text.trimEnd() }, conversation, formatReply);
  return replies.map((reply) => reply.text);
}
