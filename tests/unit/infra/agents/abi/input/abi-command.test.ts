import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { IncomingMessage } from '../../../../../../router/src/core/models.ts';
import type { AbiSettings } from '../../../../../../router/src/infra/agents/abi/abi-settings.ts';
import { rulesOf } from '../../../../../../router/src/infra/agents/abi/codec/abi-rules.ts';
import {
  type Interpretation,
  interpret,
} from '../../../../../../router/src/infra/agents/abi/input/abi-command.ts';
import { echoFunctions, specificationFunctions } from '../../../../../fixtures/abi-echo-types.js';
import { runs } from '../../../../../support/property-runs.ts';

const message: IncomingMessage = {
  id: '3EB0ABC',
  from: '34600111222@s.whatsapp.net',
  channelId: '34600111222',
  text: '',
  timestamp: new Date(1_700_000_000_500),
  pushName: 'Ann',
  quotedText: 'before',
};

async function meaning(
  text: string,
  config: Partial<AbiSettings> & { functions?: string[] } = {},
): Promise<Interpretation> {
  const result = await rulesOf(config.functions ?? specificationFunctions, config);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return interpret(result.rules, { ...message, text });
}

/** `add(2,40)` for a call, the text for a reply. */
async function brief(...args: Parameters<typeof meaning>): Promise<string> {
  const meant = await meaning(...args);
  if (meant.kind === 'say') return meant.text;
  const values = JSON.stringify(meant.values, (_, value) =>
    typeof value === 'bigint' ? Number(value) : value,
  );
  return `${meant.target.signature} ${values}`;
}

const list = `You can write:
/greet name: string
/add a: uint256, b: uint256
/sumArray numbers: uint256[]
/processUser user: (string name, uint256 age)
/analyze data: bytes
/help greet shows more.`;

describe('commands', () => {
  it.each([
    ['/greet Alice', 'greet(string) ["Alice"]'],
    ['/greet Alice and "Bob"', 'greet(string) ["Alice and \\"Bob\\""]'],
    ['/greet “Alice”', 'greet(string) ["Alice"]'],
    ["/greet O'Brien", 'greet(string) ["O\'Brien"]'],
    ['/Greet Alice', 'greet(string) ["Alice"]'],
    ['/add 2 40', 'add(uint256,uint256) [2,40]'],
    ['/add 0x2   "40"', 'add(uint256,uint256) [2,40]'],
    ['/add [2, 40]', 'add(uint256,uint256) [2,40]'],
    ['/add {"b": 40, "a": 2}', 'add(uint256,uint256) [2,40]'],
    ['/add(uint,uint) 2 40', 'add(uint256,uint256) [2,40]'],
    ['/add 2, 40', 'add(uint256,uint256) [2,40]'],
    ['/add 2,40', 'add(uint256,uint256) [2,40]'],
    ['/add(2, 40)', 'add(uint256,uint256) [2,40]'],
    ['/add (2,40)', 'add(uint256,uint256) [2,40]'],
    ['/add()', '/add needs 2 arguments, got 0; write /add 1 2.'],
    ['/greet(Alice)', 'greet(string) ["Alice"]'],
    ['/greet(string)', '/greet needs 1 argument, got 0; write /greet some words.'],
    ['/greet (Alice)', 'greet(string) ["(Alice)"]'],
    ['/greet', '/greet needs 1 argument, got 0; write /greet some words.'],
    ['/greet ""', 'greet(string) [""]'],
    ['/greet Hello, Alice', 'greet(string) ["Hello, Alice"]'],
    ['/sumArray 1 2 3', 'sumArray(uint256[]) [[1,2,3]]'],
    ['/sumArray [1,2,3]', 'sumArray(uint256[]) [[1,2,3]]'],
    ['/sumArray 1, 2, 3', 'sumArray(uint256[]) [[1,2,3]]'],
    ['/processUser {"name":"Ann","age":30}', 'processUser((string,uint256)) [["Ann",30]]'],
    ['/processUser {"user":{"name":"Ann","age":30}}', 'processUser((string,uint256)) [["Ann",30]]'],
    ['/processUser\n{"name":"Ann",\n"age":30}', 'processUser((string,uint256)) [["Ann",30]]'],
    ['/analyze 0x1234', 'analyze(bytes) ["0x1234"]'],
    ['/help', list],
    ['hello', list],
    [
      '/help add',
      '/add\n• a: a whole number from 0 to 2^256-1\n• b: a whole number from 0 to 2^256-1\nAnswers sum: uint256.\nExample: /add 1 2',
    ],
    [
      '/help processUser',
      '/processUser\n• user, with\n  name: text\n  age: a whole number from 0 to 2^256-1\n' +
        'Answers greeting: string.\nExample: /processUser {"name": "some words", "age": 2}',
    ],
    ['/add(uint8)', '/add needs 2 arguments, got 1; write /add 1 2.'],
    ['/nope', `There is no command /nope.\n\n${list}`],
    [
      '/processUser Ann 30',
      'the input must be of the form {"name": "some words", "age": 2}, got \'Ann 30\'.',
    ],
    ['/processUser {"name":"Ann","age":"ten"}', "age must be a whole number from 0 to 2^256-1, got 'ten'."],
    ['/add 2', '/add needs 2 arguments, got 1; write /add 1 2.'],
    ['/add 1 2 3', '/add needs 2 arguments, got more than 2; write /add 1 2.'],
    ['/sumArray', '/sumArray needs 1 argument, got 0; write /sumArray [1, 2].'],
    ['/add "2 40', 'the input has an opening quote without a closing one.'],
  ])('%j', async (text, expected) => {
    expect(await brief(text)).toBe(expected);
  });

  it('select an overload by the arguments, then by the route', async () => {
    const functions = ['function f(uint256 a)', 'function f(string a)', 'function f(bool a, string b)'];
    expect(await brief('/f word', { functions })).toBe('f(string) ["word"]');
    expect(await brief('/f "a" "b"', { functions: functions.slice(1) })).toBe(
      'f(string) ["\\"a\\" \\"b\\""]',
    );
    expect(await brief('/f(bool,string) yes so it is', { functions })).toBe(
      'f(bool,string) [true,"so it is"]',
    );
    expect(await brief('/f 5', { functions })).toBe(
      'that fits several forms of the command; write /f(uint256) or /f(string) before the values.',
    );
    expect(await brief('/f(string) 5', { functions })).toBe('f(string) ["5"]');
    expect(await brief('/f(yes, so it is)', { functions: [functions[0], functions[2]] as string[] })).toBe(
      'f(bool,string) [true,"so it is"]',
    );
    expect(await brief('/f 5', { functions, function: 'f(uint)' })).toBe('f(uint256) [5]');
  });
});

describe('the list of functions', () => {
  it('of a large contract is cut off with the number of omitted functions', async () => {
    const functions = Array.from(
      { length: 1_000 },
      (_, index) => `f${index}(uint256 a, ${'string b, '.repeat(20)}bool c)`,
    );
    const text = await brief('/help', { functions });
    expect(text.length).toBeLessThan(10_000);
    expect(text).toMatch(
      /^You can write:\n\/f0 a: uint256, [\s\S]*\n… and \d+ more\n\/help f0 shows more\.$/,
    );
    const [, more] = /and (\d+) more/.exec(text) ?? [];
    expect((text.match(/^\/f\d+ /gm)?.length ?? 0) + Number(more)).toBe(1_000);
    expect(await brief('/nope', { functions })).toMatch(/^There is no command \/nope\.\n\nYou can write:/);
  });
});

describe('the help of a function', () => {
  it('describes each part of a nested type, with an example in valid JSON', async () => {
    const functions = [
      'function deep(string title, (string name, (uint8 level, bytes[] parts, int8[2] pair)[] items) value, bool)',
    ];
    const text = await brief('/help deep', { functions });
    expect(text).toBe(
      [
        '/deep',
        '• title: text',
        '• value, with',
        '  name: text',
        '  items: a list, each with',
        '    level: a whole number from 0 to 255',
        '    parts: a list, each bytes as hex (0x…), base64 or text:…',
        '    pair: a list of 2, each a whole number from -128 to 127',
        '• argument 3: true or false',
        'Answers nothing.',
        'Example: /deep "some words" {"name": "some words", "items": [{"level": 1, "parts": ["0x1234", "0x1234"], "pair": [1, 2]}]} true',
      ].join('\n'),
    );
    const example = /Example: (.*)$/.exec(text)?.[1] ?? '';
    expect(await meaning(example, { functions })).toMatchObject({ kind: 'call' });
    expect(JSON.parse(/\{.*\}/.exec(example)?.[0] ?? '')).toMatchObject({ name: 'some words' });
  });

  it('contains a working example for each kind of type', async () => {
    for (const signature of [...specificationFunctions, ...echoFunctions]) {
      const functions = [signature];
      const name = /function (\w+)/.exec(signature)?.[1];
      const text = await brief(`/help ${name}`, { functions });
      const example = /Example: (.*)$/.exec(text)?.[1] ?? '';
      expect(await meaning(example, { functions }), example).toMatchObject({ kind: 'call' });
    }
  });

  it('does not hide a function named help when it is called with its types', async () => {
    const functions = ['function help(string topic)', 'function add(uint256 a, uint256 b)'];
    expect(await brief('/help(string) routes', { functions })).toBe('help(string) ["routes"]');
    expect(await brief('/help', { functions })).toMatch(/^You can write:\n\/help topic: string\n/);
  });
});

describe('text and JSON without a command', () => {
  it('is passed unchanged to a single function with one string parameter', async () => {
    const functions = ['function ask(string question) returns (string)'];
    for (const text of ['hello', ' /unknown thing', '{"a":1}', '"quoted"', '[1']) {
      expect(await meaning(text, { functions })).toMatchObject({ kind: 'call', values: [text] });
    }
    expect(await brief('/ask hello', { functions })).toBe('ask(string) ["hello"]');
  });

  it('is passed to the function of the route as its arguments', async () => {
    expect(await brief('2 40', { function: 'add' })).toBe('add(uint256,uint256) [2,40]');
    expect(await brief('[2, 40]', { function: 'add' })).toBe('add(uint256,uint256) [2,40]');
    expect(await brief('{"a":2,"b":40}', { function: 'add' })).toBe('add(uint256,uint256) [2,40]');
    expect(await brief('/greet Bo', { function: 'add' })).toBe('greet(string) ["Bo"]');
    expect(await brief('/sub 2 1', { function: 'add' })).toBe(`There is no command /sub.\n\n${list}`);
    expect(await brief('/usr 5', { functions: ['f(string path, uint8 depth)'], function: 'f' })).toBe(
      'f(string,uint8) ["/usr",5]',
    );
    expect(await brief('Bo', { function: '0xead710c4' })).toBe('greet(string) ["Bo"]');
    expect(await brief('', { functions: ['function now() returns (uint256)'], function: 'now' })).toBe(
      'now() []',
    );
  });
});

describe('any text of a person', { timeout: 60_000 }, () => {
  const pieces = fc.constantFrom(
    '/add',
    '/help',
    '/processUser',
    ' ',
    '[',
    ']',
    '{',
    '}',
    ',',
    ':',
    '"',
    "'",
    '“',
    '”',
    '0',
    '9',
    '0x',
    'a',
    '-',
    '\\',
    '\n',
    '(',
    ')',
    '\ud83d',
  );

  it('results in a call or a reply, never in an exception', async () => {
    const configs: Array<Partial<AbiSettings>> = [
      {},
      { function: 'add' },
      { function: 'processUser' },
      { function: 'sumArray', args: ['{{text}}'] },
    ];
    const results = await Promise.all(configs.map((config) => rulesOf(specificationFunctions, config)));
    const rules = results.flatMap((result) => (result.ok ? [result.rules] : []));
    expect(rules).toHaveLength(configs.length);
    const texts = fc.oneof(
      fc.string(),
      fc.array(pieces, { maxLength: 25 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom(...rules), (text, chosen) => {
        const meant = interpret(chosen, { ...message, text });
        expect(meant.kind === 'call' || meant.text.length > 0).toBe(true);
      }),
      runs(2_000),
    );
  });

  it.each([
    ['zeros', `${'0'.repeat(65_000)}x`],
    ['brackets', '['.repeat(65_000)],
    ['quotes', '"'.repeat(65_000)],
    ['half-open objects', '{a:'.repeat(20_000)],
    ['spaces', `1${' '.repeat(65_000)}x`],
    ['equals signs', '='.repeat(65_000)],
    ['backslashes', `"${'\\'.repeat(65_000)}`],
    ['commas', ','.repeat(65_000)],
  ])('is parsed in linear time when it is 65,000 %s', async (_name, text) => {
    for (const command of ['/add ', '/sumArray ', '/processUser ', '/analyze ', '/help ', '/add(', '']) {
      const meant = await meaning(command + text);
      expect(meant.kind === 'call' || meant.text.length < 3_000).toBe(true);
    }
  });
});

describe('argument templates', () => {
  const functions = [
    'function tell(string text, string who, (string id, uint64 at, string quoted) meta, bool group)',
  ];

  it('take their values from the message, and each text is a call', async () => {
    const args = [
      'say: {{text}}',
      '{{from}}',
      { id: '{{messageId}}', at: '{{timestamp}}', quoted: '{{ quotedText }}' },
      '{{isGroup}}',
    ];
    expect(await brief('/help {{from}}', { functions, args })).toBe(
      'tell(string,string,(string,uint64,string),bool) ' +
        '["say: /help {{from}}","34600111222@s.whatsapp.net",["3EB0ABC",1700000000,"before"],false]',
    );
  });

  it('report a user error in one sentence', async () => {
    expect(await brief('ten', { function: 'add', args: { a: '{{text}}', b: 1 } })).toBe(
      "a must be a whole number from 0 to 2^256-1, got 'ten'.",
    );
  });
});

const media = { kind: 'image' as const, mimeType: 'image/png', fileName: 'a.png', sizeBytes: 3 };
const fileBytes = Buffer.from([1, 2, 3]);
const FILE = '<image/png, 3 bytes>';
const analyze = { functions: ['function analyze(bytes data) returns (uint256 size)'] };
const afterFile = { needsFile: true, planned: [FILE], values: ['0x010203'] };

async function rulesFor(config: Partial<AbiSettings> & { functions: string[] }) {
  const result = await rulesOf(config.functions, config);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.rules;
}

/** The call for a message with a file, before and after the download; with `hasFile` false, without one. */
async function fileCall(config: Parameters<typeof rulesFor>[0], text: string, hasFile = true) {
  const rules = await rulesFor(config);
  const said = { ...message, text, ...(hasFile && { media }) };
  const [planned, fetched] = [interpret(rules, said), interpret(rules, said, fileBytes)];
  if (planned.kind === 'say' || fetched.kind === 'say')
    return planned.kind === 'say' ? planned.text : 'a mistake later';
  return { needsFile: planned.needsFile ?? false, planned: planned.values, values: fetched.values };
}

describe('a file of a message', () => {
  it.each([
    ['the argument of a command', '/analyze'],
    ['the argument of the only function, whatever the caption says', 'what is this?'],
    ['the argument of the only function without any words', ''],
  ])('is %s', async (_, text) => {
    expect(await fileCall(analyze, text)).toEqual(afterFile);
  });

  it('is not the argument of a function that needs more than a file and a text', async () => {
    const functions = ['function resize(uint256 width, bytes picture)'];
    expect(await fileCall({ functions }, '')).toMatch(/^You can write:/);
    expect(await fileCall({ functions, function: 'resize' }, '7')).toEqual({
      needsFile: true,
      planned: [7n, FILE],
      values: [7n, '0x010203'],
    });
  });

  it('is not used when the argument is written', async () => {
    const values = ['0x1234'];
    expect(await fileCall(analyze, '/analyze 0x1234')).toEqual({ needsFile: false, planned: values, values });
  });

  it.each<[string, Parameters<typeof rulesFor>[0], string, string]>([
    [
      'a command needs one',
      analyze,
      '/analyze',
      '/analyze needs 1 argument, got 0; write /analyze 0x1234, or send a file with it.',
    ],
    [
      'a template needs one',
      { ...analyze, args: ['{{media}}'] },
      'hi',
      'Please send a picture, a voice message or another file with your message.',
    ],
  ])('is requested in one sentence when %s and the message has none', async (_, config, text, sentence) => {
    expect(await fileCall(config, text, false)).toBe(sentence);
  });

  it('fills an argument template with its fields', async () => {
    const config = {
      functions: ['function see(bytes data, string mime, string name, (bytes again, bool group) more)'],
      args: ['{{media}}', '{{mediaType}}', '{{fileName}}', { again: '{{media}}', group: '{{isGroup}}' }],
    };
    expect(await fileCall(config, '')).toEqual({
      needsFile: true,
      planned: [FILE, 'image/png', 'a.png', [FILE, false]],
      values: ['0x010203', 'image/png', 'a.png', ['0x010203', false]],
    });
  });

  it('is a user error when the agent expects bytes of another size', async () => {
    const config = { functions: ['function hash(bytes32 data)'], args: ['{{media}}'] };
    const rules = await rulesFor(config);
    expect(interpret(rules, { ...message, media })).toMatchObject({ kind: 'call', needsFile: true });
    expect(interpret(rules, { ...message, media }, fileBytes)).toMatchObject({
      kind: 'say',
      text: 'data must be 32 bytes as hex (0x…), base64 or text:…, got 3 bytes.',
    });
  });

  it('is passed byte for byte, whatever its content', async () => {
    const rules = await rulesFor(analyze);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 300 }), (content) => {
        const meant = interpret(rules, { ...message, media }, content);
        expect(meant).toMatchObject({ values: [`0x${Buffer.from(content).toString('hex')}`] });
        expect(meant).not.toHaveProperty('needsFile');
      }),
    );
  });
});
