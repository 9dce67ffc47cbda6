import { describe, expect, it } from 'vitest';
import { Wa2aiError } from '../../router/src/core/errors.ts';
import { BUILT_IN } from '../../router/src/core/policies/conversation-fields.ts';
import { filterEgress } from '../../router/src/core/policies/egress-filter.ts';
import { shapeReply } from '../../router/src/core/policies/reply.ts';
import { growingMessages, paragraphMessages } from '../../router/src/core/policies/stream.ts';
import { readModelAnswer } from '../../router/src/infra/agents/openai/openai-answer.ts';
import { spokenText } from '../../router/src/infra/agents/openai/spoken-text.ts';
import { resultResponse } from '../../router/src/infra/agents/shell/shell-text.ts';
import { errorText } from '../../router/src/infra/agents/transport/error-text.ts';
import { maskedText } from '../../router/src/infra/agents/transport/exchange-mask.ts';
import { HttpProblem } from '../../router/src/infra/faces/rest/problem.ts';
import { readYaml } from '../../router/src/infra/faces/rest/yaml.ts';
import { markdownPictures } from '../../router/src/infra/formatting/markdown-pictures.ts';
import { markdownToWhatsApp } from '../../router/src/infra/formatting/markdown-to-whatsapp.ts';
import { TinyldLanguageDetector } from '../../router/src/infra/matching/tinyld-language-detector.ts';

const CHARS = 100_000;
/** The longest time that one text may keep the event loop busy. */
const BUDGET_MS = 200;

/** What a text repeats: marks of Markdown, YAML and JSON, addresses, secrets, traces, escape sequences, blanks, signs of every script. */
const PIECES = [
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

/** Each piece alone, after a text with Markdown, and in lines and paragraphs of several lengths. */
function* textsOf(piece: string): Generator<string> {
  yield repeated(piece);
  yield `*a* [a](b) \`c\` ${repeated(piece)} x`;
  for (const gap of ['a\n', '\n\n', `${'a b c '.repeat(30)}\n`]) yield repeated(piece.repeat(10) + gap);
  for (const gap of ['\n\n', `${'ab '.repeat(700)}\n\n`]) yield repeated(piece.repeat(150) + gap);
  for (const other of ['(', ' ', '*']) yield repeated(piece + other);
}

function repeated(piece: string): string {
  return piece.repeat(Math.ceil(CHARS / piece.length)).slice(0, CHARS);
}

const settings = { ...BUILT_IN, egressFilter: 'on' as const };
const shaping = { conversation: settings, formatReply: markdownToWhatsApp };
const languages = new TinyldLanguageDetector();

const READERS: ReadonlyArray<[string, (text: string) => unknown]> = [
  [
    'an answer as a reply',
    (text) => shapeReply({ success: true, response: text }, settings, markdownToWhatsApp),
  ],
  ['an answer in plain text', (text) => markdownToWhatsApp(text, 'plain')],
  ['an answer with pictures', (text) => markdownPictures(`![a](b)${text}`)],
  ['the egress filter', (text) => filterEgress(text)],
  ['an answer that is being written', (text) => paragraphMessages(text, shaping)],
  ['an answer that grows', (text) => growingMessages(text, shaping)],
  ['a recorded exchange', (text) => maskedText(JSON.stringify({ text }).slice(0, 65_536), [])],
  ['the answer of a model', (text) => spokenText(text)],
  ['the body of a model server', (text) => readModelAnswer('chat', text)],
  ['the output of a shell', (text) => resultResponse(text, undefined, 3_000)],
  ['the error page of an agent', (text) => errorText(text)],
  ['the language of a message', (text) => languages.languageOf(text)],
  ['a file of routes', (text) => readYaml(text)],
];

describe(`a text of ${CHARS} characters is read within ${BUDGET_MS} ms`, () => {
  it.each(READERS)(
    'as %s',
    async (_, read) => {
      await busyMsOf(read, '**a** b');
      const slow: string[] = [];
      for (const piece of PIECES) {
        for (const text of textsOf(piece)) {
          let ms = await busyMsOf(read, text);
          // What else runs on the machine takes time once, not three times.
          for (let again = 0; again < 2 && ms > BUDGET_MS; again++)
            ms = Math.min(ms, await busyMsOf(read, text));
          if (ms > BUDGET_MS) slow.push(`${Math.round(ms)} ms: ${JSON.stringify(text.slice(0, 60))}`);
        }
      }
      expect(slow).toEqual([]);
    },
    600_000,
  );
});

/** The time of this process for a text, in milliseconds. */
async function busyMsOf(read: (text: string) => unknown, text: string): Promise<number> {
  const began = process.cpuUsage();
  try {
    await read(text);
  } catch (error) {
    // A text may be refused; the program may not fail.
    if (!(error instanceof Wa2aiError || error instanceof HttpProblem)) throw error;
  }
  return process.cpuUsage(began).user / 1_000;
}
