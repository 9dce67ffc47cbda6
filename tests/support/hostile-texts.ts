/** The length of a hostile text, in UTF-16 units. */
export const HOSTILE_CHARS = 100_000;

/** What a text repeats: marks of Markdown, YAML and JSON, addresses, secrets, traces, escape sequences, blanks, signs of every script. */
export const HOSTILE_PIECES = [
  ...[
    '*',
    '_',
    '**',
    '*a_',
    '*a',
    '_a',
    '**a ',
    '***a*',
    '*a**',
    '_*',
    '__a_',
    '~',
    '~~a',
    '`',
    '``a`',
    '`a',
  ],
  ...['[', ']', '![', '[a](', '[a]', '[a]: ', '[a]: <', '[a][', '[a]:b\n', '[^1]', '[a](b "', '(', ')', '!'],
  ...[
    '<',
    '<a ',
    '<!--',
    '<think>',
    '</think>',
    '`<think>',
    '◁think▷',
    '<|channel|>analysis<|message|>',
    '<tool_call>',
    '<p><b>',
    '<p><b>a</b><i>',
    '&amp;',
    '<!-- -->',
    '<a@b',
    '<b>',
    '</b>',
    '<br>',
    '<pre>',
    '<script>',
    '<?',
    '<!A',
    '<![CDATA[',
  ],
  ...[
    '>',
    '> ',
    '- ',
    '-',
    '- a\n',
    '1. ',
    '1. a\n',
    '# ',
    '#\n',
    'a\n=\n',
    'a\n-\n',
    '> - ',
    '>> ',
    '- [x] a\n',
  ],
  ...[
    '  - a\n',
    '* * ',
    '+ a\n',
    '|',
    '|a',
    '|-|\n',
    'a|b\n-|-\n',
    '```\n',
    '~~~\n',
    '    a\n',
    '\\',
    '\\*',
    '\\\n',
  ],
  ...[
    'a@',
    'a@b.c',
    'a.b-',
    'http://',
    'http://a',
    'http://a:b@',
    'www.a',
    '://a:',
    '&',
    '&amp;',
    '&a;',
    ':',
    '::',
  ],
  ...['\n', '\n\n', ' ', ' \n', '  \n', '\t', '\r\n', '\r', '\v', '\f', '\u00a0', '\u3000', '\0', '\u2028'],
  ...[
    '"',
    "'",
    '$',
    '{',
    '{{',
    '{{!',
    '}',
    '%',
    '^',
    '=',
    ',',
    ';',
    '/',
    '-/home/a',
    'C:\\Users\\a\\',
    '"token":"',
  ],
  ...[
    'a',
    'a ',
    'word. ',
    'ñ',
    '\ud800',
    '\udc00',
    '\u202e',
    '\u200b',
    '\u001b[31m',
    '😀',
    '👨‍👩‍👧',
    'e\u0301',
    '\u0600',
    '漢',
  ],
  ...[
    'TOKEN=',
    'sk-',
    'eyJa.',
    'Bearer ',
    'BASIC\t0+',
    '10.0.0.1',
    '10.0.0.1.',
    'localhost:',
    '-----BEGIN A PRIVATE KEY-----',
  ],
  ...[
    '<think>',
    '</think>',
    '[THINK]',
    'Error ',
    ' at a:1\n',
    '\tat a(b:1)\n',
    'panic: \n',
    'Traceback (most recent call last):\n',
  ],
  ...['goroutine 1 [a]:\n', 'a: b\n', 'a:\n', '- a: &b\n', '*b\n', '? ', '{"a":', '["', 'data: {}\n\n'],
];

/** Each piece alone, after a text with Markdown, in lines and paragraphs of several lengths, and in the lines of an item. */
export function* hostileTexts(piece: string): Generator<string> {
  yield repeated(piece);
  yield `*a* [a](b) \`c\` ${repeated(piece)} x`;
  for (const gap of ['a\n', '\n\n', `${'a b c '.repeat(30)}\n`]) yield repeated(piece.repeat(10) + gap);
  for (const gap of ['\n\n', `${'ab '.repeat(700)}\n\n`]) yield repeated(piece.repeat(150) + gap);
  for (const other of ['(', ' ', '*']) yield repeated(piece + other);
  // the lines of one item
  yield `- a\n${repeated(`\u00a0${piece}\n`)}`;
}

function repeated(piece: string): string {
  return piece.repeat(Math.ceil(HOSTILE_CHARS / piece.length)).slice(0, HOSTILE_CHARS);
}

/**
 * Hostile texts without an end, of every piece and of random pieces.
 * @param random numbers from 0 to 1, such as `Math.random`
 */
export function* anyHostileText(random: () => number): Generator<string> {
  const some = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
  for (;;) {
    for (const piece of HOSTILE_PIECES.toSorted(() => random() - 0.5)) {
      yield some([...hostileTexts(piece)]);
      yield repeated(
        Array.from({ length: 2 + Math.floor(random() * 3) }, () => some(HOSTILE_PIECES)).join(''),
      );
    }
  }
}
