/** Sequences that colour text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the escape character begins them
const COLOUR = /\u001b\[\d+m/g;

/** Characters that fill two columns of a terminal: East Asian wide ones and emoji. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

const segments = () => new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Columns that a text fills in a terminal, without colours. */
export function widthOf(text: string): number {
  const plain = text.replaceAll(COLOUR, '');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the range is that of ASCII
  if (/^[\u0000-\u007f]*$/.test(plain)) return plain.length;
  let width = 0;
  for (const { segment } of segments().segment(plain)) width += WIDE.test(segment) ? 2 : 1;
  return width;
}

/** The text in at most so many columns, with `…` where it is cut. A text that is cut loses its colours. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let [cut, width] = ['', 0];
  for (const { segment } of segments().segment(text.replaceAll(COLOUR, ''))) {
    const next = WIDE.test(segment) ? 2 : 1;
    if (width + next > columns - 1) break;
    cut += segment;
    width += next;
  }
  return `${cut}…`;
}

/**
 * A text of a person for one line of a terminal. Control characters, with which a message could move the cursor or change
 * the title, and characters that change the direction of writing become `�`; line ends become a space.
 */
export function oneLine(text: string): string {
  return visible(text.replaceAll(/\s+/g, (run) => (/[\r\n\t]/.test(run) ? ' ' : run))).trim();
}

/** A line in which no character moves the cursor or changes the direction of writing. */
export function visible(line: string): string {
  return line.replaceAll(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu, '\ufffd');
}
