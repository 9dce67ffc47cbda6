import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type IncomingMessage, MAX_MEDIA_BYTES } from '../../../../../router/src/core/models.ts';
import type { AbiFileOutput, AbiSettings } from '../../../../../router/src/infra/agents/abi/abi-settings.ts';
import { rulesOf } from '../../../../../router/src/infra/agents/abi/codec/abi-rules.ts';
import type { AbiValue } from '../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import { interpret } from '../../../../../router/src/infra/agents/abi/input/abi-command.ts';
import {
  type FileTemplate,
  renderFile,
} from '../../../../../router/src/infra/agents/abi/output/file-output.ts';
import { mediaTypeOf } from '../../../../../router/src/infra/agents/abi/output/media-type.ts';

const message: IncomingMessage = {
  id: '3EB0ABC',
  from: '34600111222@s.whatsapp.net',
  channelId: '34600111222',
  text: '',
  timestamp: new Date(1_700_000_000_500),
};
const media = { kind: 'image' as const, mimeType: 'image/png', fileName: 'a.png', sizeBytes: 3 };
const bytes = Buffer.from([1, 2, 3]);
const FILE = '<image/png, 3 bytes>';

type Config = Partial<AbiSettings> & { functions: string[] };

async function rules(config: Config) {
  const result = await rulesOf(config.functions, config);
  if (!result.ok)
    throw new Error(result.problems.map(({ field, message: why }) => `${field} ${why}`).join('; '));
  return result.rules;
}

/** The call for a message with a file, before and after the download; with `file` false, without one. */
async function meaning(config: Config, text: string, file = true) {
  const made = await rules(config);
  const said = { ...message, text, ...(file && { media }) };
  const [planned, fetched] = [interpret(made, said), interpret(made, said, bytes)];
  if (planned.kind === 'say' || fetched.kind === 'say')
    return planned.kind === 'say' ? planned.text : 'a mistake later';
  return { needsFile: planned.needsFile ?? false, planned: planned.values, values: fetched.values };
}

const analyze = { functions: ['function analyze(bytes data) returns (uint256 size)'] };
const resize = {
  functions: ['function resize(uint256 width, bytes picture) returns (bytes)', 'function ping()'],
};
const label = { functions: ['function label(bytes picture, string words)', 'function ping()'] };
const two = { functions: ['function join(bytes a, bytes b)', 'function ping()'] };
const asFile = (...before: AbiValue[]) => ({
  needsFile: true,
  planned: [...before, FILE],
  values: [...before, '0x010203'],
});

describe('a file of a message', () => {
  it.each<[string, Config, string, unknown]>([
    ['the argument of a command', analyze, '/analyze', asFile()],
    ['the argument of the only function, whatever the caption says', analyze, 'what is this?', asFile()],
    ['the argument of the only function without any words', analyze, '', asFile()],
    ['the one argument that is not written', resize, '/resize 200', asFile(200n)],
    ['the one argument that is not written, by name', resize, '/resize {"width": 200}', asFile(200n)],
    ['named among two of its type', two, '/join {"a": "0x12"}', asFile('0x12')],
    [
      'beside words',
      label,
      '/label two words',
      { needsFile: true, planned: [FILE, 'two words'], values: ['0x010203', 'two words'] },
    ],
  ])('is %s', async (_, config, text, expected) => {
    expect(await meaning(config, text)).toEqual(expected);
  });

  it.each<[string, Config, string, AbiValue[]]>([
    ['the argument is written', analyze, '/analyze 0x1234', ['0x1234']],
    ['all arguments are written', resize, '/resize 200 0x1234', [200n, '0x1234']],
    ['the function takes none', resize, '/ping', []],
  ])('is not used when %s', async (_, config, text, values) => {
    expect(await meaning(config, text)).toEqual({ needsFile: false, planned: values, values });
  });

  it.each<[string, Config, string, string]>([
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
    expect(await meaning(config, text, false)).toBe(sentence);
  });

  it('fills a template with its fields', async () => {
    const config = {
      functions: ['function see(bytes data, string mime, string name, (bytes again, bool group) more)'],
      args: ['{{media}}', '{{mediaType}}', '{{fileName}}', { again: '{{media}}', group: '{{isGroup}}' }],
    };
    expect(await meaning(config, '')).toEqual({
      needsFile: true,
      planned: [FILE, 'image/png', 'a.png', [FILE, false]],
      values: ['0x010203', 'image/png', 'a.png', ['0x010203', false]],
    });
  });

  it('is a user error when the agent expects bytes of another size', async () => {
    const config = { functions: ['function hash(bytes32 data)'], args: ['{{media}}'] };
    const made = await rules(config);
    expect(interpret(made, { ...message, media })).toMatchObject({ kind: 'call', needsFile: true });
    expect(interpret(made, { ...message, media }, bytes)).toMatchObject({
      kind: 'say',
      text: 'data must be 32 bytes as hex (0x…), base64 or text:…, got 3 bytes.',
    });
  });

  it.each([
    [['function f(string a)'], ['{{media}}'], "args does not fit f(string): a must be text, got 'a file'"],
    [['function f(uint256 a)'], ['{{media}}'], 'args does not fit f(uint256): a must be a whole number'],
    [['function f(string a)'], ['see {{media}}'], 'args puts {{media}} into other text; bytes stand alone'],
    [['function f(bytes[] a)'], ['{{media}}'], 'args does not fit f(bytes[]): a must be a list'],
  ])('in the template of %j is refused when the route is saved: %j', async (functions, args, sentence) => {
    await expect(rules({ functions, args })).rejects.toThrow(sentence);
  });

  it('is passed byte for byte, whatever its content', async () => {
    const made = await rules(analyze);
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 0, maxLength: 300 }), (content) => {
        const meant = interpret(made, { ...message, media }, content);
        expect(meant).toMatchObject({ values: [`0x${Buffer.from(content).toString('hex')}`] });
        expect(meant).not.toHaveProperty('needsFile');
      }),
    );
  });
});

describe('a reply that is a file', () => {
  const drawing = 'function draw() returns (bytes chart, string title, (bytes small) more)';
  const template = async (output: AbiFileOutput): Promise<FileTemplate> => {
    const { file } = await rules({ functions: [drawing], output });
    if (!file) throw new Error('there is no file template');
    return file;
  };
  const outputs = async () => (await rules({ functions: [drawing] })).abi.functions[0]?.outputs ?? [];
  const values = (chart: string, title = 'Sales', small = '0x'): AbiValue[] => [chart, title, [small]];

  it('takes its bytes, type, name and caption from the outputs, and is logged without bytes', async () => {
    const document = await template({
      document: '{{chart}}',
      mimeType: 'text/{{title}}',
      fileName: '../{{title}}.txt',
      caption: 'See {{title}}.',
    });
    expect(renderFile(document, await outputs(), values('0x0102', 'plain'))).toEqual({
      file: {
        kind: 'document',
        mimeType: 'text/plain',
        fileName: '.._plain.txt',
        bytes: Buffer.from([1, 2]),
      },
      caption: 'See plain.',
      shown: ['<text/plain, 2 bytes>', 'plain', ['0x']],
    });
    const nested = await template({ image: '{{more.small}}' });
    expect(renderFile(nested, await outputs(), values('0x', 'T', '0xffd8ff00'))).toEqual({
      file: { kind: 'image', mimeType: 'image/jpeg', bytes: Buffer.from('ffd8ff00', 'hex') },
      shown: ['0x', 'T', ['<image/jpeg, 4 bytes>']],
    });
  });

  it('is byte for byte the output of the agent', async () => {
    const image = await template({ image: '{{chart}}' });
    const params = await outputs();
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (content) => {
        const { file } = renderFile(image, params, values(`0x${Buffer.from(content).toString('hex')}`));
        expect(Buffer.from(file.bytes)).toEqual(Buffer.from(content));
        expect(file.mimeType).toMatch(/^image\//);
      }),
    );
  });

  it.each([
    ['0x', 'image/png', 'The ABI agent answered an image of no bytes.'],
    [`0x${'00'.repeat(MAX_MEDIA_BYTES + 1)}`, 'image/png', 'at most 10000000 can be sent'],
    ['0x01', '{{title}}', "with a type that is no MIME type: 'Sales'"],
  ])('is a failure when it cannot be sent: %.10s', async (chart, mimeType, sentence) => {
    const image = await template({ image: '{{chart}}', mimeType });
    const params = await outputs();
    expect(() => renderFile(image, params, values(chart))).toThrow(sentence);
  });

  it.each<[AbiFileOutput, string]>([
    [{}, 'must name exactly one of image, audio, document'],
    [{ image: '{{chart}}', audio: '{{chart}}' }, 'must name exactly one of image, audio, document'],
    [{ image: '{{title}}' }, 'makes an image of an output of type string; only bytes can be one'],
    [{ image: '{{nope}}' }, 'has an image that is not one output, such as {{chart}}'],
    [{ image: 'a {{chart}}' }, 'has an image that is not one output'],
    [{ audio: '{{chart}}', caption: 'x' }, 'has a caption, which WhatsApp does not show with audio'],
    [{ image: '{{chart}}', fileName: 'x' }, 'has a fileName, which WhatsApp does not show with an image'],
    [{ image: '{{chart}}', mimeType: 'audio/mpeg' }, "has a mimeType that is no type of image: 'audio/mpeg'"],
    [{ image: '{{chart}}', mimeType: 'png' }, "has a mimeType that is no MIME type: 'png'"],
    [{ image: '{{chart}}', caption: '{{nope}}' }, 'uses {{nope}}, which is not among the outputs'],
  ])('is refused when the route is saved: %j', async (output, sentence) => {
    await expect(template(output)).rejects.toThrow(`output ${sentence}`);
  });

  it.each([
    ['89504e470d0a1a0a00', 'image', 'image/png'],
    ['47494638396100', 'image', 'image/gif'],
    ['524946460000000057454250', 'image', 'image/webp'],
    ['4f67675300', 'audio', 'audio/ogg; codecs=opus'],
    ['49443304', 'audio', 'audio/mpeg'],
    ['255044462d312e37', 'document', 'application/pdf'],
    ['89504e470d0a1a0a00', 'audio', 'audio/mpeg'],
    ['00', 'document', 'application/octet-stream'],
  ] as const)('%s as %s is %s when the agent names no type', (hex, kind, mimeType) => {
    expect(mediaTypeOf(Buffer.from(hex, 'hex'), kind)).toBe(mimeType);
  });
});
