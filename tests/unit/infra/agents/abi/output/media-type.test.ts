import { describe, expect, it } from 'vitest';
import { mediaTypeOf } from '../../../../../../router/src/infra/agents/abi/output/output-template.ts';

const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
const webp = Buffer.from('RIFF\0\0\0\0WEBP', 'latin1');

describe('mediaTypeOf', () => {
  it('recognizes a format by its first bytes', () => {
    expect(mediaTypeOf(png, 'image')).toBe('image/png');
    expect(mediaTypeOf(webp, 'image')).toBe('image/webp');
    expect(mediaTypeOf(Buffer.from('%PDF-1.7'), 'document')).toBe('application/pdf');
  });

  it('uses the default type of the kind when the format belongs to another kind or is unknown', () => {
    expect(mediaTypeOf(png, 'audio')).toBe('audio/mpeg');
    expect(mediaTypeOf(Buffer.from('?'), 'image')).toBe('image/jpeg');
    expect(mediaTypeOf(new Uint8Array(), 'document')).toBe('application/octet-stream');
  });

  it('accepts any known format for a document', () => {
    expect(mediaTypeOf(png, 'document')).toBe('image/png');
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
