import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_MEDIA_BYTES } from '../../../../../../router/src/core/models.ts';
import type { AbiFileOutput } from '../../../../../../router/src/infra/agents/abi/abi-settings.ts';
import { parseFunction } from '../../../../../../router/src/infra/agents/abi/codec/abi-signature.ts';
import type { AbiValue } from '../../../../../../router/src/infra/agents/abi/codec/abi-type.ts';
import {
  parseFileOutput,
  renderFile,
} from '../../../../../../router/src/infra/agents/abi/output/output-template.ts';

describe('a reply that is a file', () => {
  const { outputs } = parseFunction('draw() returns (bytes chart, string title, (bytes small) more)');
  const template = (output: AbiFileOutput) => parseFileOutput(output, outputs);
  const values = (chart: string, title = 'Sales', small = '0x'): AbiValue[] => [chart, title, [small]];

  it('takes its bytes, type, name and caption from the outputs, and is logged without bytes', () => {
    const document = template({
      document: '{{chart}}',
      mimeType: 'text/{{title}}',
      fileName: '../{{title}}.txt',
      caption: 'See {{title}}.',
    });
    expect(renderFile(document, outputs, values('0x0102', 'plain'))).toEqual({
      file: {
        kind: 'document',
        mimeType: 'text/plain',
        fileName: '.._plain.txt',
        bytes: Buffer.from([1, 2]),
      },
      caption: 'See plain.',
      shown: ['<text/plain, 2 bytes>', 'plain', ['0x']],
    });
    const nested = template({ image: '{{more.small}}' });
    expect(renderFile(nested, outputs, values('0x', 'T', '0xffd8ff00'))).toEqual({
      file: { kind: 'image', mimeType: 'image/jpeg', bytes: Buffer.from('ffd8ff00', 'hex') },
      shown: ['0x', 'T', ['<image/jpeg, 4 bytes>']],
    });
  });

  it('is byte for byte the output of the agent', () => {
    const image = template({ image: '{{chart}}' });
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 300 }), (content) => {
        const { file } = renderFile(image, outputs, values(`0x${Buffer.from(content).toString('hex')}`));
        expect(Buffer.from(file.bytes)).toEqual(Buffer.from(content));
        expect(file.mimeType).toMatch(/^image\//);
      }),
    );
  });

  it.each([
    ['0x', 'image/png', 'The ABI agent answered an image with 0 bytes.'],
    [`0x${'00'.repeat(MAX_MEDIA_BYTES + 1)}`, 'image/png', 'at most 10000000 can be sent'],
    ['0x01', '{{title}}', "with a type that is not a MIME type: 'Sales'"],
  ])('is a failure when it cannot be sent: %.10s', (chart, mimeType, sentence) => {
    const image = template({ image: '{{chart}}', mimeType });
    expect(() => renderFile(image, outputs, values(chart))).toThrow(sentence);
  });

  it.each<[AbiFileOutput, string]>([
    [{}, 'must name exactly one of image, audio, document'],
    [{ image: '{{chart}}', audio: '{{chart}}' }, 'must name exactly one of image, audio, document'],
    [{ image: '{{title}}' }, 'makes an image of an output of type string; only bytes can be one'],
    [{ image: '{{nope}}' }, 'has an image that is not one output, such as {{chart}}'],
    [{ image: 'a {{chart}}' }, 'has an image that is not one output'],
    [{ audio: '{{chart}}', caption: 'x' }, 'has a caption, which WhatsApp does not show with audio'],
    [{ image: '{{chart}}', fileName: 'x' }, 'has a fileName, which WhatsApp does not show with an image'],
    [
      { image: '{{chart}}', mimeType: 'audio/mpeg' },
      "has a mimeType that is not a type of image: 'audio/mpeg'",
    ],
    [{ image: '{{chart}}', mimeType: 'png' }, "has a mimeType that is not a MIME type: 'png'"],
    [{ image: '{{chart}}', caption: '{{nope}}' }, 'uses {{nope}}, which is not among the outputs'],
  ])('is refused when the route is saved: %j', (output, sentence) => {
    expect(() => template(output)).toThrow(sentence);
  });

  it('may have as many bytes as can be sent', () => {
    const chart = `0x${'00'.repeat(MAX_MEDIA_BYTES)}`;
    const { file } = renderFile(template({ document: '{{chart}}' }), outputs, values(chart));
    expect(file.bytes).toHaveLength(MAX_MEDIA_BYTES);
  });

  it('has no caption and no name when they are blank, and the type of its bytes when its type is', () => {
    const document = template({
      document: '{{chart}}',
      mimeType: '{{title}}',
      fileName: '{{title}}',
      caption: '{{title}}',
    });
    const { file, caption } = renderFile(document, outputs, values('0x255044462d31', ' \n'));
    expect(file).toEqual({
      kind: 'document',
      mimeType: 'application/pdf',
      bytes: Buffer.from('255044462d31', 'hex'),
    });
    expect(caption).toBeUndefined();
  });

  it('has a name of at most 200 characters without path separators and control characters', () => {
    const document = template({ document: '{{chart}}', fileName: '{{title}}' });
    const title = `a/b\\c\0d${'x'.repeat(300)}`;
    const { file } = renderFile(document, outputs, values('0x01', title));
    expect(file.fileName).toBe(`a_b_c_d${'x'.repeat(193)}`);
  });

  it('accepts a type with a parameter and refuses one of another kind from the agent', () => {
    const audio = template({ audio: '{{chart}}', mimeType: '{{title}}' });
    const typed = (title: string) => renderFile(audio, outputs, values('0x01', title)).file.mimeType;
    expect(typed('audio/ogg; codecs=opus')).toBe('audio/ogg; codecs=opus');
    expect(() => typed('image/png')).toThrow(
      "The ABI agent answered audio with a type that is not a type of audio: 'image/png'.",
    );
    expect(() => typed('audio/ogg\r\nx-header: 1')).toThrow('is not a MIME type');
  });
});
